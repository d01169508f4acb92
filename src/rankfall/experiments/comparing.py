"""Comparisons of rankers on simulated users: how much is lost until the best one is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray, rows, whole
from rankfall.compare import Comparison, Interleaving, TeamDraft
from rankfall.errors import ProblemError
from rankfall.experiments.simulation import Seed, default_checkpoints, streams
from rankfall.users.environment import Environment


@dataclass(frozen=True)
class Gaps:
    """How far the best of several rankers is preferred to each of them.

    Attributes
    ----------
    best : the ranker whose list has the highest expected reward.
    gap : by ranker, the probability that the best one is preferred to it, ties left out, less 1/2; 0 for itself.
    reward : by ranker, the expected reward of its list.
    """

    best: str
    gap: Mapping[str, float]
    reward: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonRun:
    """One comparison on one user.

    Attributes
    ----------
    steps : (n,) the checkpoints, in lists shown.
    regret : (n,) sum over lists of the mean gap of the rankers that were compared: half of ``gap_1 + gap_2`` for two.
    lost : (n,) expected reward of the best ranker's own list less that of the list shown, summed over lists.
    best : the leader at each checkpoint.
    left : (n,) how many rankers could still be the best at each checkpoint.
    """

    steps: IntArray
    regret: FloatArray
    lost: FloatArray
    best: tuple[str, ...]
    left: IntArray

    def __repr__(self) -> str:
        return f"ComparisonRun({self.steps[-1]:,} lists, regret {self.regret[-1]:.4g}, {self.best[-1]} leads)"


def preference_gaps(
    lists: Mapping[str, Iterable[int]],
    user: Environment,
    k: int,
    interleaving: Interleaving = TeamDraft(),  # noqa: B008 - a frozen value
    samples: int = 5000,
    seed: Seed = 0,
) -> Gaps:
    """How far the best ranker is preferred to the others by this user, from so many lists of each pair.

    >>> from rankfall import PerItem, PositionBased, User
    >>> user = User(PerItem([0.5, 0.4, 0.1, 0.1]), PositionBased([1.0, 0.5]))
    >>> gaps = preference_gaps({"good": [0, 1, 2], "bad": [3, 2, 1]}, user, 2, samples=1000)
    >>> gaps.best, 0.2 < gaps.gap["bad"] < 0.4
    ('good', True)
    """
    samples = whole("samples", samples, ProblemError, low=1)
    known = _checked(lists, user, k)
    reward = {name: user.reward(items[:k]) for name, items in known.items()}
    best = max(reward, key=lambda name: reward[name])
    coins, own = streams(seed)
    gap = {best: 0.0}
    for name in known:
        if name == best:
            continue
        pair = {each: known[each].tolist() for each in (best, name)}
        shares = []
        for _ in range(samples):
            shown = interleaving.interleave(pair, k, own)
            items = np.array(shown.items)
            shares.append(shown.preference(best, name, user.click(items, coins.random(len(items)))))
        decided = [share for share in shares if share != 0.5]
        gap[name] = float(np.mean(decided)) - 0.5 if decided else 0.0
    return Gaps(best, gap, reward)


def simulate_comparison(
    comparison: Comparison,
    lists: Mapping[str, Iterable[int]],
    user: Environment,
    gaps: Gaps,
    steps: int,
    k: int,
    seed: Seed = 0,
    checkpoints: Iterable[int] | None = None,
) -> ComparisonRun:
    """Show ``steps`` lists to a user and learn from the clicks; the comparison has learned from them afterwards.

    ``lists`` are the rows that each ranker shows, best first; ``gaps`` what :func:`preference_gaps` found for them.

    >>> from rankfall import PerItem, PositionBased, User
    >>> user = User(PerItem([0.5, 0.4, 0.1, 0.1]), PositionBased([1.0, 0.5]))
    >>> lists = {"good": [0, 1, 2], "bad": [3, 2, 1], "worse": [3, 2]}
    >>> gaps = preference_gaps(lists, user, 2, samples=1000)
    >>> simulate_comparison(Comparison(lists), lists, user, gaps, steps=500, k=2)
    ComparisonRun(500 lists, regret ..., good leads)
    """
    steps = whole("steps", steps, ProblemError, low=1)
    known = {name: items.tolist() for name, items in _checked(lists, user, k).items()}
    missing = [name for name in comparison.rankers if name not in known or name not in gaps.gap]
    if missing:
        raise ProblemError(f"there is no list or no gap of the ranker {missing[0]!r}")
    coins, own = streams(seed)
    marks = set(default_checkpoints(steps) if checkpoints is None else checkpoints) | {steps}
    regret = lost = 0.0
    table: list[tuple[int, float, float, str, int]] = []
    for step in range(1, steps + 1):
        shown = comparison.next(known, k, own)
        items = np.array(shown.items)
        comparison.feedback(shown, user.click(items, coins.random(len(items))))
        regret += sum(gaps.gap[name] for name in shown.rankers) / len(shown.rankers)
        lost += gaps.reward[gaps.best] - user.reward(items)
        if step in marks:
            standing = comparison.standing()
            table.append((step, regret, lost, standing.best, len(standing.left)))
    at, regrets, losses, best, left = zip(*table, strict=True)
    return ComparisonRun(np.array(at), np.array(regrets), np.array(losses), best, np.array(left))


def _checked(lists: Mapping[str, Iterable[int]], user: Environment, k: int) -> dict[str, IntArray]:
    known = {name: rows(f"the list of {name!r}", items, user.n_items, ProblemError) for name, items in lists.items()}
    short = [name for name, items in known.items() if len(items) < k]
    if short:
        raise ProblemError(f"the list of {short[0]!r} has {len(known[short[0]])} items, fewer than k = {k}")
    return known
