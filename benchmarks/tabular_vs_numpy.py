"""How fast the tabular policies are in ``simulate``, each compared with its plain NumPy form in the same run.

    python benchmarks/tabular_vs_numpy.py
    python benchmarks/tabular_vs_numpy.py --items 16 --positions 4 --steps 20000 --repeats 3

The general loop of ``simulate`` is used, so the numbers include the time of the user. The plain forms are written as
one would without a compiler: arrays over items, bounds by bisection, ``argsort``. Policy and plain form show the same
lists, which is checked. Times are processor times, so other programs hardly change them; the fastest of the repeats
counts, and the repeats of all policies are interleaved.
"""

import math
import time
from collections import deque

import click
import numpy as np
from rich.console import Console
from rich.table import Table as Lines

from rankfall.catalog import Catalog
from rankfall.experiments.simulation import simulate
from rankfall.policies import Ranking, make_policy
from rankfall.users import Cascade, DependentClick, PerItem, User


class Plain:
    """A tabular policy in plain NumPy: counts, an array of scores, `argsort`."""

    def __init__(self, n_items, steps):
        self.n_items, self.N, self.X, self.t = n_items, np.zeros(n_items), np.zeros(n_items), 0
        self.gamma, self.total = 1 - 1 / (4 * math.sqrt(steps)), 0.0
        self.tau, self.window = round(2 * math.sqrt(steps * math.log(steps))), deque()

    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        """The k highest scores."""
        del candidates, exclude
        with np.errstate(all="ignore"):
            scores = self.scores(rng)
        return Ranking(np.argsort(-np.where(self.N > 0, scores, self.unseen), kind="stable")[:k])

    unseen = np.inf

    def update(self, ranking, click):
        """Count what was observed."""
        self.learn(ranking.items if click is None else ranking.items[: click + 1], click)
        self.t += 1

    def learn(self, seen, click):
        """Add to the counts."""
        self.N[seen] += 1
        if click is not None:
            self.X[seen[-1]] += 1


class PlainUCB1(Plain):
    """CascadeUCB1."""

    def scores(self, rng):
        """UCB1 bounds."""
        del rng
        return self.X / self.N + np.sqrt(1.5 * math.log(max(self.t, 1)) / self.N)


class PlainKLUCB(Plain):
    """CascadeKLUCB."""

    def scores(self, rng):
        """KL-UCB bounds by halving, all items at once."""
        del rng
        log = math.log(self.t + 1)
        w, level = self.X / self.N, (log + 3 * math.log(max(log, 1.0))) / self.N
        low, high = w.copy(), np.ones(self.n_items)
        for _ in range(53):
            q = (low + high) / 2
            divergence = np.where(w > 0, w * np.log(w / q), 0) + np.where(w < 1, (1 - w) * np.log((1 - w) / (1 - q)), 0)
            above = divergence > level
            low, high = np.where(above, low, q), np.where(above, q, high)
        return low


class PlainTS(Plain):
    """CascadeTS."""

    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        """The k highest samples, seen or not."""
        del candidates, exclude
        g, h = rng.standard_gamma(np.stack([1 + self.X, 1 + self.N - self.X]))
        return Ranking(np.argsort(-g / (g + h), kind="stable")[:k])


class PlainDUCB(Plain):
    """CascadeDUCB."""

    def scores(self, rng):
        """Discounted bounds."""
        del rng
        return self.X / self.N + 2 * np.sqrt(0.5 * math.log(max(self.total, 1)) / self.N)

    def learn(self, seen, click):
        """Fade, then add."""
        self.N *= self.gamma
        self.X *= self.gamma
        self.total = self.gamma * self.total + 1
        super().learn(seen, click)


class PlainSWUCB(Plain):
    """CascadeSWUCB."""

    def scores(self, rng):
        """Bounds over the window."""
        del rng
        return self.X / self.N + np.sqrt(0.5 * math.log(max(len(self.window), 1)) / self.N)

    def learn(self, seen, click):
        """Drop the oldest, then add."""
        if len(self.window) == self.tau:
            old, clicked = self.window.popleft()
            self.N[old] -= 1
            if clicked:
                self.X[old[-1]] -= 1
        self.window.append((seen, click is not None))
        super().learn(seen, click)


class PlainDCM(PlainKLUCB):
    """DCMKLUCB."""

    def update(self, ranking, click):
        """Observed is all down to the last click."""
        self.N[ranking.items[: click[-1] + 1] if click else ranking.items] += 1
        self.X[ranking.items[list(click or ())]] += 1
        self.t += 1


PLAIN = {
    "CascadeUCB1": PlainUCB1,
    "CascadeKLUCB": PlainKLUCB,
    "CascadeTS": PlainTS,
    "CascadeDUCB": PlainDUCB,
    "CascadeSWUCB": PlainSWUCB,
    "DCMKLUCB": PlainDCM,
}


@click.command()
@click.option("--items", default=16, show_default=True, help="Items to choose from.")
@click.option("--positions", default=4, show_default=True, help="Length of lists.")
@click.option("--steps", default=20_000, show_default=True, help="Lists shown in each run.")
@click.option("--repeats", default=3, show_default=True, help="Runs of each; the fastest counts.")
def main(items: int, positions: int, steps: int, repeats: int) -> None:
    """Measure each policy and print a table."""
    attraction = [0.2] * positions + [0.05] * (items - positions)
    catalog = Catalog(relevance=np.ones((items, 1)))
    fastest: dict[tuple[str, str], float] = {}
    same = {}
    for _ in range(repeats):
        for name, kind in PLAIN.items():
            clicks = DependentClick([0.8] * positions) if name == "DCMKLUCB" else Cascade()
            user = User(PerItem(attraction), clicks)
            regrets = []
            for form in ("ours", "plain"):
                warm, policy = (
                    make_policy(name, catalog, k=positions, steps=steps) if form == "ours" else kind(items, steps)
                    for _ in range(2)
                )
                simulate(warm, user, 50, positions)  # compiled before the clock runs
                began = time.process_time()
                regrets.append(simulate(policy, user, steps, positions).regret)
                took = time.process_time() - began
                fastest[name, form] = min(took, fastest.get((name, form), np.inf))
            same[name] = np.array_equal(*regrets)
    table = Lines("policy", "steps/s", "plain NumPy", "times", "same lists")
    for name in PLAIN:
        ours, plain = (steps / fastest[name, form] for form in ("ours", "plain"))
        table.add_row(name, f"{ours:,.0f}", f"{plain:,.0f}", f"{ours / plain:.1f}", "yes" if same[name] else "no")
    Console().print(f"L={items}, K={positions}, {steps:,} steps, fastest of {repeats}", table)


if __name__ == "__main__":
    main()
