"""How long a study will take on this machine, from real runs cut short."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.experiments.frozen_table import leaves
from rankfall.experiments.many_users.simulation import simulate_users
from rankfall.experiments.plan import Chunk, Plan, Setup
from rankfall.experiments.populations import Data
from rankfall.experiments.result_table import is_number
from rankfall.experiments.simulation import Progress, simulate

TRIALS = 4
"""In how many setups each policy is tried."""

_SECONDS = 3.0  # of work in one trial, at most
_SHORTEST = 2_000
_LONGEST = 50_000  # steps of one trial; a policy gets faster as it learns, so a short one would say too much


@dataclass(frozen=True, eq=False)
class Trial:
    """How time went by in runs of one setup.

    ``steps`` and ``seconds`` are cumulative, from 0 on; beyond the last one, the speed of the last third goes on.
    Seconds are of work, not by the clock: what other programs take does not count.
    """

    setup: Setup
    steps: FloatArray
    seconds: FloatArray

    def seconds_for(self, steps: int) -> float:
        """Expected seconds of one run of so many steps, by one worker while the other workers are busy too."""
        if steps <= self.steps[-1]:
            return float(np.interp(steps, self.steps, self.seconds))
        return float(self.seconds[-1] + (steps - self.steps[-1]) * self.late)

    @property
    def late(self) -> float:
        """Seconds of one step, once the policy has learned."""
        since = min(int(np.searchsorted(self.steps, self.steps[-1] * 2 / 3)), len(self.steps) - 2)
        return float((self.seconds[-1] - self.seconds[since]) / (self.steps[-1] - self.steps[since]))

    def distance(self, other: Setup) -> float:
        """How unlike two setups of a policy are: the relative differences of all numbers they are made of."""
        here, there = _numbers(self.setup), _numbers(other)
        total = float(len(here.keys() ^ there.keys()))
        for name in here.keys() & there.keys():
            largest = max(abs(here[name]), abs(there[name]))
            total += abs(here[name] - there[name]) / largest if largest else 0.0
        return total


@dataclass(frozen=True, eq=False)
class Forecast:
    """Trials of every policy, and what follows from them.

    Attributes
    ----------
    trials : a few for each policy.
    workers : how many were busy at once.
    took : seconds the trials took, by the clock.
    crowding : seconds by the clock for each second of work; above 1, other programs were busy, or cores too few.
    """

    trials: tuple[Trial, ...]
    workers: int
    took: float
    crowding: float

    def seconds(self, chunks: Iterable[Chunk]) -> float:
        """Expected time for these chunks if the machine does nothing else.

        Each is taken to be like the trial of its policy that is nearest to it.
        """
        runs: dict[Setup, int] = {}
        for chunk in chunks:
            runs[chunk.setup] = runs.get(chunk.setup, 0) + chunk.last - chunk.first
        return sum(self.run_seconds(setup) * n for setup, n in runs.items()) / self.workers

    def run_seconds(self, setup: Setup) -> float:
        """Expected seconds of one run of a setup, by one worker."""
        known = [trial for trial in self.trials if trial.setup.name == setup.name]
        return min(known, key=lambda trial: trial.distance(setup)).seconds_for(setup.steps)

    def per_step(self, policy: str, early: int = 1000) -> tuple[float, float]:
        """Seconds of a step of a policy, in the first ``early`` and once it has learned; means over its trials."""
        known = [trial for trial in self.trials if trial.setup.name == policy]
        first = [trial.seconds_for(early) / early for trial in known]
        return float(np.mean(first)), float(np.mean([trial.late for trial in known]))


def forecast(plan: Plan, workers: int, trials: int = TRIALS) -> Forecast:
    """Try each policy of a plan in a few of its setups, with as many workers as the study will have."""
    began = time.perf_counter()
    found, clock = [], 0.0
    for policy in dict.fromkeys(setup.name for setup in plan.setups):
        setups = [setup for setup in plan.setups if setup.name == policy]
        chosen = np.unique(np.linspace(0, len(setups) - 1, min(trials, len(setups))).round().astype(int))
        for turn, index in enumerate(chosen):
            trial, took = _try(setups[index], plan, workers, turn)
            found.append(trial)
            clock += took
    work = sum(float(trial.seconds[-1]) for trial in found)
    return Forecast(tuple(found), workers, time.perf_counter() - began, max(1.0, clock / work))


class _Enough(Exception):  # noqa: N818 - not an error: the trial has seen enough
    """Ends a trial."""


def _try(setup: Setup, plan: Plan, workers: int, turn: int) -> tuple[Trial, float]:
    """Runs of a setup, cut short, and how long one took by the clock; each turn has other users.

    Compiled ones run on all threads at once, as they will in the study; the others would only wait for each other.
    """
    threads = workers if setup in plan.compiled else 1
    data = plan.data_of(setup)
    _player(setup, data, 0)(3, None)  # compiled or loaded before the clock runs
    longest = min(_LONGEST, max(setup.steps, _SHORTEST))

    def run(index: int) -> tuple[list[int], list[float], float]:
        play = _player(setup, data, turn * threads + index)
        steps, seconds = [0], [0.0]
        began, work_began = time.perf_counter(), time.thread_time()

        def look(n: int) -> None:
            steps.append(steps[-1] + n)
            seconds.append(time.thread_time() - work_began)
            if seconds[-1] > _SECONDS and len(steps) > 3:
                raise _Enough

        with suppress(_Enough):
            play(longest, look)
        return steps, seconds, time.perf_counter() - began

    with ThreadPoolExecutor(threads) as pool:
        curves = list(pool.map(run, range(threads)))
    marks = np.unique(np.concatenate([steps for steps, _, _ in curves])).astype(float)
    marks = marks[marks <= min(steps[-1] for steps, _, _ in curves)]
    seconds = np.mean([np.interp(marks, steps, times) for steps, times, _ in curves], axis=0)
    # The clock of a run that went further than the shortest one counts as far as that one went.
    clock = np.mean([took * seconds[-1] / times[-1] for _, times, took in curves])
    return Trial(setup, marks, seconds), float(clock)


def _player(setup: Setup, data: Data, index: int) -> Callable[[int, Progress | None], object]:
    """Plays so many steps of the run of this number."""
    if setup.sharing:
        many, people = setup.crowd(index, data)
        return lambda steps, look: simulate_users(
            many, people, setup.arrivals(index, steps), setup.k, index, look, workers=1
        )
    world = setup.world(index % setup.users, 0, data)
    policy = setup.make(world)
    return lambda steps, look: simulate(policy, world[1], steps, setup.k, index, [steps], look)


def _numbers(setup: Setup) -> dict[str, float]:
    table = {"k": setup.k, "settings": setup.settings, "user": setup.user}
    return {path: float(value) for path, value in leaves(table) if is_number(value)}
