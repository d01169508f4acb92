"""How close estimates from logs come to the truth, in simulation: the tables and the figure of docs/estimates.md.

    python benchmarks/estimates.py --out out/estimates
    python benchmarks/estimates.py --likeliest --length 5 --lists 10000 --repeats 20

Ten items. A service shows one list, and a fifth of its lists at random (``randomize``); or draws every list, from the
top down, by scores (Plackett-Luce), as policies that draw do. Another list, fixed, is judged by the log with every
estimator. People click by one of three models, so the truth is known. The model of rewards is always a cascade, fitted
to another log of the same size: right for the first kind of people, and wrong for the others; or, with ``--likeliest``,
the one that ``rankfall evaluate`` takes.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl
from matplotlib.figure import Figure

from rankfall.arrays import FloatArray, IntArray
from rankfall.estimates import ESTIMATORS, ListChances, estimate_all, predicted
from rankfall.experiments.figures.look import markers, styles
from rankfall.experiments.figures.saving import save
from rankfall.users import Cascade, DependentClick, PerItem, PositionBased, User
from rankfall.users.fitting import draw_log, fit_cascade, read_log
from rankfall.users.fitting.reward_model import best_fit, reward_model

ITEMS, RANDOM = 10, 0.2
LENGTHS, SIZES = (1, 3, 5, 10), (1_000, 10_000, 100_000)
RESAMPLED, LARGEST = 1_000, 100_000
"""Of logs up to the first size, intervals by the bootstrap are made too; of the largest a quarter of the repeats."""
ALPHA = np.linspace(0.35, 0.05, ITEMS)
SHOWN = np.array([2, 0, 4, 1, 3, 6, 5, 8, 7, 9])
"""What the service shows, and what it draws items by: each is twice as likely as the one after the next."""
WANTED = np.array([0, 2, 1, 4, 3, 5, 6, 7, 8, 9])
"""The list that is judged."""
LOGGING = ("a fifth at random", "every list drawn")


def people(k: int) -> dict[str, User]:
    """Three kinds of people; what a list earns is always the number of clicks."""
    return {
        "cascade": User(PerItem(ALPHA), Cascade(), "clicks"),
        "dependent clicks": User(PerItem(ALPHA), DependentClick(np.full(k, 0.5)), "clicks"),
        "position-based": User(PerItem(ALPHA), PositionBased(0.9 / (1 + 0.4 * np.arange(k))), "clicks"),
    }


class FifthAtRandom:
    """Shows one list, and a share of lists at random."""

    def __init__(self, k: int) -> None:
        self._shown = SHOWN[:k]

    def log(self, n: int, rng: np.random.Generator) -> tuple[IntArray, ListChances]:
        """So many lists, and their chances."""
        k = len(self._shown)
        lists = np.argsort(rng.random((n, ITEMS)), axis=1)[:, :k]
        lists[rng.random(n) >= RANDOM] = self._shown
        drawn = ListChances.uniform([ITEMS] * n, np.ones((n, k)))
        other = ListChances.of_drawn(lists, np.broadcast_to(self._shown, (n, 1, k)))
        return lists, ListChances.mixture([(RANDOM, drawn), (1.0 - RANDOM, other)])


class EveryListDrawn:
    """Draws items from the top down, each with a probability in proportion to its score."""

    def __init__(self, k: int) -> None:
        self._k, self._score = k, np.empty(ITEMS)
        self._score[SHOWN] = 2.0 ** (-0.5 * np.arange(ITEMS))
        self._alone = self._at_positions()

    def log(self, n: int, rng: np.random.Generator) -> tuple[IntArray, ListChances]:
        """So many lists, and their chances."""
        lists = np.argsort(-(np.log(self._score) + rng.gumbel(size=(n, ITEMS))), axis=1)[:, : self._k]
        score = self._score[lists]
        given = score / (self._score.sum() - np.cumsum(score, axis=1) + score)
        return lists, ListChances.given_above(given, self._alone[lists, np.arange(self._k)])

    def _at_positions(self) -> FloatArray:
        """(items, k) chance of each item at each position, by adding up the sets that may stand above."""
        alone = np.zeros((ITEMS, self._k))
        above = {frozenset[int](): 1.0}
        for place in range(self._k):
            longer: dict[frozenset[int], float] = {}
            for items, chance in above.items():
                left = [item for item in range(ITEMS) if item not in items]
                total = self._score[left].sum()
                for item in left:
                    here = chance * self._score[item] / total
                    alone[item, place] += here
                    longer[items | {item}] = longer.get(items | {item}, 0.0) + here
            above = longer
        return alone


def one_log(
    service: FifthAtRandom | EveryListDrawn, user: User, k: int, n: int, seed: int, likeliest: bool = False
) -> list[dict[str, object]]:
    """Every estimate from one log."""
    rng, wanted = np.random.default_rng([seed, k, n]), WANTED[:k]
    truth = user.reward(wanted)
    lists, chances = service.log(n, rng)
    clicks = draw_log(user, lists, seed)["click"].to_numpy().reshape(lists.shape).astype(float)
    other = draw_log(user, service.log(n, rng)[0], seed + 10_000)
    fitted = best_fit(read_log(other), "clicks").fitted if likeliest else fit_cascade(other, prior=1.0)
    drawn = np.broadcast_to(wanted, (n, 1, k))
    model = predicted(lists, drawn, reward_model(fitted, range(ITEMS), "clicks"))
    again = 200 if n <= RESAMPLED else 0
    found = estimate_all(chances, ListChances.of_drawn(lists, drawn), clicks, model, resamples=again, seed=seed)
    rows: list[dict[str, object]] = []
    for name, one in found.items():
        inside = None if one.resampled is None else one.resampled[0] <= truth <= one.resampled[1]
        rows.append(
            {
                "estimator": name,
                "truth": truth,
                "value": one.value,
                "covered": one.interval.low <= truth <= one.interval.high,
                "covered_bootstrap": inside,
                "effective": float(one.effective.min()),
                "warned": bool(one.warnings),
            }
        )
    return rows


def study(repeats: int, lengths: tuple[int, ...], sizes: tuple[int, ...], likeliest: bool = False) -> pl.DataFrame:
    """A row for each way to log, kind of people, length of lists, size of the log and estimator."""
    frames = []
    for k, n in itertools.product(lengths, sizes):
        times = repeats if n < LARGEST else max(2, repeats // 4)
        for name, service in zip(LOGGING, (FifthAtRandom(k), EveryListDrawn(k)), strict=True):
            for who, user in people(k).items():
                rows = [row for seed in range(times) for row in one_log(service, user, k, n, seed, likeliest)]
                frames.append(pl.DataFrame(rows).with_columns(logging=pl.lit(name), people=pl.lit(who), k=k, lists=n))
        click.echo(f"k {k}, {n} lists: done", err=True)
    error = pl.col("value") - pl.col("truth")
    return (
        pl.concat(frames)
        .with_columns(pl.col("value").fill_nan(None))
        .group_by("logging", "people", "k", "lists", "estimator", maintain_order=True)
        .agg(
            truth=pl.col("truth").first(),
            logs=pl.len(),
            none=pl.col("value").null_count(),
            bias=error.mean(),
            bias_error=error.std() / pl.len().sqrt(),
            spread=pl.col("value").std(),
            rmse=(error**2).mean().sqrt(),
            covered=pl.col("covered").mean(),
            covered_bootstrap=pl.col("covered_bootstrap").mean(),
            effective=pl.col("effective").median(),
            warned=pl.col("warned").mean(),
        )
    )


def markdown(table: pl.DataFrame) -> str:
    """Bias, spread and coverage: a row for each way to log, kind of people and length."""
    names = [name for name in ESTIMATORS if name in set(table["estimator"])]
    lines = ["| logging | people | k | truth | " + " | ".join(names) + " |", "|---|---|--:|--:|" + "--:|" * len(names)]
    for (how, who, k), part in table.group_by("logging", "people", "k", maintain_order=True):
        cells = [_cell(part.row(by_predicate=pl.col("estimator") == name, named=True)) for name in names]
        lines.append(f"| {how} | {who} | {k} | {part['truth'][0]:.3f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(one: dict[str, Any]) -> str:
    if one["none"] > one["logs"] / 2:
        return "-"
    covered = "" if one["estimator"] == "direct" else f" {one['covered']:.0%}"
    return f"{one['bias']:+.3f} ± {one['spread']:.3f}{covered}"


def figure(table: pl.DataFrame) -> Figure:
    """Root mean squared error over the size of the log: a panel for each kind of people and way to log; lists of 5."""
    kinds, names = list(dict.fromkeys(table["people"])), ["ips", "iips", "rips", "sn_rips", "cascade_dr", "direct"]
    colours, shapes = styles(names), markers(names)
    drawing = Figure(figsize=(10.5, 5.4), layout="constrained")
    axes = drawing.subplots(len(LOGGING), len(kinds), sharex=True, sharey=True)
    for (row, how), (column, who) in itertools.product(enumerate(LOGGING), enumerate(kinds)):
        panel, part = axes[row, column], table.filter(people=who, logging=how, k=5)
        for name in names:
            line = part.filter(pl.col("estimator") == name, pl.col("none") < 0.5 * pl.col("logs"))
            colour, dashes = colours[name]
            panel.plot(line["lists"], line["rmse"], color=colour, linestyle=dashes, marker=shapes[name], label=name)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(f"{who}; {how}", fontsize=9, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("lists in the log")
    for panel in axes[:, 0]:
        panel.set_ylabel("root mean squared error")
    drawing.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, fontsize=9, loc="outside right upper")
    return drawing


@click.command(help=__doc__)
@click.option("--repeats", type=click.IntRange(2), default=60, show_default=True, help="Logs of each kind.")
@click.option("--length", "lengths", type=int, multiple=True, default=LENGTHS, show_default=True)
@click.option("--lists", "sizes", type=int, multiple=True, default=SIZES, show_default=True)
@click.option("--likeliest", is_flag=True, help="The likeliest click model as model of rewards.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Where to write table and figure.")
def main(repeats: int, lengths: tuple[int, ...], sizes: tuple[int, ...], likeliest: bool, out: Path | None) -> None:
    """Run the study and write what came of it."""
    table = study(repeats, lengths, sizes, likeliest)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        table.write_parquet(out / "estimates.parquet")
        save(figure(table), out / "estimates")
    for lists in sizes:
        click.echo(f"\n{lists:,} lists: bias ± spread, and coverage of the 95 % interval\n")
        click.echo(markdown(table.filter(pl.col("lists") == lists)))


if __name__ == "__main__":
    main()
