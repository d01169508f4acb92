"""Comparisons of many rankers whose preferences are known numbers: how much is lost until the best one is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfall.arrays import FloatArray, IntArray, finite, whole
from rankfall.compare import DoubleThompson, Duels, MergeDTS, SelfSparring
from rankfall.errors import ProblemError
from rankfall.experiments.simulation import default_checkpoints
from rankfall.kernels import duels as kernels
from rankfall.kernels import merge_dts

ALONE = -1
"""Stands for the second ranker where one is shown alone."""


@dataclass(frozen=True, eq=False, repr=False)
class DuelsRun:
    """Comparisons of one run.

    Attributes
    ----------
    steps : (n,) the checkpoints, in comparisons.
    regret : (n,) sum over comparisons of half of ``gap_1 + gap_2``: how much more than half of the time the best ranker
        is preferred to each of the two.
    found : (n,) share of the comparisons since the last checkpoint in which both are the best one, or it is alone.
    """

    steps: IntArray
    regret: FloatArray
    found: FloatArray

    def __repr__(self) -> str:
        return f"DuelsRun({self.steps[-1]:,} comparisons, regret {self.regret[-1]:.4g})"


def best_ranker(preferences: FloatArray) -> int:
    """The one that is preferred to every other one; raises where there is none."""
    wins = (preferences > 0.5).sum(axis=1)
    if wins.max() < len(preferences) - 1:
        raise ProblemError(f"no ranker is preferred to all {len(preferences) - 1} others; one is to {wins.max()}")
    return int(wins.argmax())


def simulate_duels(
    duels: Duels,
    preferences: ArrayLike,
    steps: int,
    seed: int = 0,
    checkpoints: Iterable[int] | None = None,
) -> DuelsRun:
    """Compare rankers ``steps`` times, where i is preferred to j with probability ``preferences[i, j]``.

    The duels have learned from it afterwards. MergeDTS, double Thompson sampling and Self-Sparring run as compiled
    loops, with the same picks.

    >>> preferences = [[0.5, 0.7, 0.9], [0.3, 0.5, 0.8], [0.1, 0.2, 0.5]]
    >>> simulate_duels(Duels(3, DoubleThompson()), preferences, 1000)
    DuelsRun(1,000 comparisons, regret ...)
    """
    known = _checked(preferences, duels.n)
    steps = whole("steps", steps, ProblemError, low=1)
    best = best_ranker(known)
    gap = known[best] - 0.5
    rng = np.random.default_rng(seed)
    marks = np.unique([*(default_checkpoints(steps) if checkpoints is None else checkpoints), steps])
    regret, done, table = 0.0, 0, []
    for mark in marks.tolist():
        picks = played(duels, known, mark - done, rng)
        one, other = picks[:, 0], np.where(picks[:, 1] == ALONE, picks[:, 0], picks[:, 1])
        regret += float((gap[one] + gap[other]).sum() / 2.0)
        table.append((regret, float(((one == best) & (other == best)).mean())))
        done = mark
    regrets, found = np.array(table).T
    return DuelsRun(marks, regrets, found)


def played(duels: Duels, preferences: FloatArray, steps: int, rng: np.random.Generator) -> IntArray:
    """(steps, 2) who was compared; the second is -1 where one was shown alone."""
    picks, done = np.full((steps, 2), ALONE), 0
    n = duels.n
    ahead, hopeful = np.empty((n, n)), np.empty((n, n), dtype=np.int64)
    work = [np.empty(n, dtype=np.int64) for _ in range(4)]
    while done < steps:
        method, room = duels.method, picks[done:]
        if isinstance(method, DoubleThompson):
            duels.n_updates = kernels.double_thompson(
                duels.wins, duels.n_updates, method.alpha, preferences, rng, room, ahead, hopeful, *work
            )
            return picks
        if isinstance(method, SelfSparring):
            sums = duels.wins.sum(axis=1), duels.wins.sum(axis=0)
            duels.n_updates += kernels.self_sparring(duels.wins, *sums, preferences, rng, room)
            return picks
        if isinstance(method, MergeDTS):
            done += _until_merged(duels, method, preferences, rng, room, [ahead, *work[:2]])
            continue
        pair = duels.choose(rng)
        if len(pair) > 2:
            raise ProblemError(f"{method!r} compares {len(pair)} rankers at once; expected a method that compares two")
        picks[done, : len(pair)] = pair
        if len(pair) == 2:
            duels.learn({(pair[0], pair[1]): float(rng.random() < preferences[pair[0], pair[1]])})
        done += 1
    return picks


def _until_merged(
    duels: Duels,
    method: MergeDTS,
    preferences: FloatArray,
    rng: np.random.Generator,
    picks: IntArray,
    work: list[NDArray[Any]],
) -> int:
    """Compare until all of ``picks`` is filled, or until batches are merged; how many comparisons there were."""
    kept = duels.arrays
    few = duels.n // 2 ** int(kept["stage"]) + 1
    before = int(kept["since"])
    done = int(
        merge_dts.merge_dts(
            duels.wins,
            kept["batch"],
            kept["turn"],
            kept["since"],
            few,
            method.alpha,
            method.constant(duels.n),
            preferences,
            rng,
            picks,
            *work,
        )
    )
    compared = int((picks[:done, 1] != ALONE).sum())
    duels.n_updates += compared
    if int(kept["since"]) - before < compared:  # the last comparison ends the stage
        method.settle(duels)
    return done


def _checked(preferences: ArrayLike, n: int) -> FloatArray:
    known = finite("preferences", preferences, 2, ProblemError)
    if known.shape != (n, n):
        raise ProblemError(f"preferences have shape {known.shape}, and there are {n} rankers; expected ({n}, {n})")
    if known.min() < 0.0 or known.max() > 1.0 or np.abs(known + known.T - 1.0).max() > 1e-9:
        raise ProblemError("preferences must be probabilities, those of i over j and of j over i adding up to 1")
    return known
