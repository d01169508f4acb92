"""How long a study will take on this machine, from real episodes cut short."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.experiments.cells import policy_of, users_of
from rankfall.experiments.plan import Cell, Plan
from rankfall.experiments.simulation import simulate

PROBES = 4
"""At how many settings each policy is tried."""

_SECONDS = 3.0  # of work in one trial, at most
_SHORTEST = 2_000
_LONGEST = 50_000  # steps of one trial; a policy gets faster as it learns, so a short one would say too much


@dataclass(frozen=True, eq=False)
class Pace:
    """How time went by in trials of one cell's policy and setting.

    ``steps`` and ``seconds`` are cumulative, from 0 on; beyond the last one, the pace of the last third goes on.
    Seconds are of work, not by the clock: what other programs take does not count.
    """

    cell: Cell
    steps: FloatArray
    seconds: FloatArray

    def seconds_for(self, steps: int) -> float:
        """Expected seconds of one run of so many steps, in one thread while the other threads work too."""
        if steps <= self.steps[-1]:
            return float(np.interp(steps, self.steps, self.seconds))
        return float(self.seconds[-1] + (steps - self.steps[-1]) * self.late)

    @property
    def late(self) -> float:
        """Seconds of one step, once the policy has learned."""
        since = min(int(np.searchsorted(self.steps, self.steps[-1] * 2 / 3)), len(self.steps) - 2)
        return float((self.seconds[-1] - self.seconds[since]) / (self.steps[-1] - self.steps[since]))

    def distance(self, cell: Cell) -> float:
        """How unlike two settings are."""
        here, there = self.cell, cell
        return (
            abs(here.tradeoff - there.tradeoff)
            + abs(here.topics - there.topics) / max(here.topics, there.topics)
            + abs(here.k - there.k) / max(here.k, there.k)
        )


@dataclass(frozen=True, eq=False)
class Forecast:
    """Trials of every policy, and what follows from them.

    Attributes
    ----------
    paces : one for each trial.
    workers : threads that were busy at once.
    took : seconds the trials took, by the clock.
    crowding : seconds by the clock for each second of work; above 1, other programs were busy, or cores too few.
    """

    paces: tuple[Pace, ...]
    workers: int
    took: float
    crowding: float

    def seconds(self, cells: Iterable[Cell]) -> float:
        """Expected time for these cells if the machine does nothing else.

        Each cell is taken to be like the trial of its policy that is nearest to it.
        """
        total = 0.0
        for cell in cells:
            pace = min((p for p in self.paces if p.cell.policy == cell.policy), key=lambda p: p.distance(cell))
            total += cell.users * cell.repeats * pace.seconds_for(cell.steps)
        return total / self.workers

    def per_step(self, policy: str, early: int = 1000) -> tuple[float, float]:
        """Seconds of a step of a policy, in the first ``early`` and once it has learned; means over settings."""
        paces = [pace for pace in self.paces if pace.cell.policy == policy]
        first = [pace.seconds_for(early) / early for pace in paces]
        return float(np.mean(first)), float(np.mean([pace.late for pace in paces]))


def forecast(plan: Plan, workers: int, probes: int = PROBES) -> Forecast:
    """Try each policy of a plan at a few of its settings, on as many threads as the study will have."""
    began = time.perf_counter()
    paces, clock = [], 0.0
    for policy in plan.study.policies:
        cells = [cell for cell in plan.cells if cell.policy == policy]
        chosen = np.unique(np.linspace(0, len(cells) - 1, min(probes, len(cells))).round().astype(int))
        for turn, index in enumerate(chosen):
            pace, took = _pace(cells[index], plan, workers, turn)
            paces.append(pace)
            clock += took
    work = sum(float(pace.seconds[-1]) for pace in paces)
    return Forecast(tuple(paces), workers, time.perf_counter() - began, max(1.0, clock / work))


class _Enough(Exception):  # noqa: N818 - not an error: the trial has seen enough
    """Ends a trial."""


def _pace(cell: Cell, plan: Plan, workers: int, turn: int) -> tuple[Pace, float]:
    """Trials of a cell on all threads at once, and how long one took by the clock; each turn has other users."""
    data = plan.prepared.with_topics(cell.topics)
    catalog = data.catalog(perfect_coverage=cell.perfect_coverage)
    users = users_of(replace(cell, users=min(len(data.user_ids), (turn + 1) * workers)), data)[-workers:]
    simulate(
        policy_of(replace(cell, steps=3), catalog), users[0], 3, cell.k
    )  # compiled or loaded before the clock runs

    longest = min(_LONGEST, max(cell.steps, _SHORTEST))

    def trial(index: int) -> tuple[list[int], list[float], float]:
        steps, seconds = [0], [0.0]
        began, work_began = time.perf_counter(), time.thread_time()

        def look(n: int) -> None:
            steps.append(steps[-1] + n)
            seconds.append(time.thread_time() - work_began)
            if seconds[-1] > _SECONDS and len(steps) > 3:
                raise _Enough

        user = users[index % len(users)]
        with suppress(_Enough):
            simulate(
                policy_of(cell, catalog),
                user,
                longest,
                cell.k,
                index,
                [longest],
                look,
            )
        return steps, seconds, time.perf_counter() - began

    with ThreadPoolExecutor(workers) as pool:
        curves = list(pool.map(trial, range(workers)))
    marks = np.unique(np.concatenate([steps for steps, _, _ in curves])).astype(float)
    marks = marks[marks <= min(steps[-1] for steps, _, _ in curves)]
    seconds = np.mean([np.interp(marks, steps, times) for steps, times, _ in curves], axis=0)
    # The clock of a trial that went further than the shortest one counts as far as that one went.
    clock = np.mean([took * seconds[-1] / times[-1] for _, times, took in curves])
    return Pace(cell, marks, seconds), float(clock)
