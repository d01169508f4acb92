"""Microseconds a step, over the first lists of a model and over many, beside plain NumPy in turns."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.experiments.bench.plain_numpy import PlainNumPy
from rankfall.experiments.bench.world import World, linear_policy, seconds_of, timeline
from rankfall.experiments.simulation import simulate_many, streams

HORIZONS = (100, 1_000, 10_000, 50_000)
"""After so many steps the mean is taken."""

_FURTHER_RUNS = {100: 9, 1_000: 2}  # short runs are over soon, and say little alone
_FIRST = 2  # steps that do not count: the very first one may compile
_WARM_UP = 20  # steps of plain NumPy that do not count

THOMPSON = {"CascadeHybridTS": "CascadeHybrid", "CascadeLinTS": "CascadeLinUCB", "CascadeLSBTS": "CascadeLSB"}
"""Policies with Thompson sampling, and those with upper confidence bounds on the same columns."""


@dataclass(frozen=True)
class Speed:
    """One policy and its plain NumPy form: microseconds a step, and items whose score was computed a step."""

    data: str
    policy: str
    steps: int
    numpy: float
    ours: float
    scored: float

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.numpy / self.ours


def horizons_up_to(steps: int) -> list[int]:
    """The horizons below so many steps, and these steps themselves.

    >>> horizons_up_to(20_000)
    [100, 1000, 10000, 20000]
    """
    return [horizon for horizon in HORIZONS if horizon < steps] + [steps]


def speed(
    data: str, world: World, name: str, steps: int, k: int, users: int, numpy_steps: int, tradeoff: float = 0.5
) -> list[Speed]:
    """Both forms on the same users, stretch by stretch in turns: one row for each horizon.

    NumPy's step costs the same at any time, so that fewer of them do for all horizons.
    """
    marks = horizons_up_to(steps)
    blank = linear_policy(name, world.catalog)
    list(timeline(blank.fresh(), world.user(0), [2], k))  # compiled, and laid out as a service does for all its users
    numpy_seconds, turn = 0.0, -(-numpy_steps // len(marks))
    runs = {mark: np.zeros(3) for mark in marks}  # how many, seconds, items scored
    for index in range(users):
        user, coins = world.user(index * 37, tradeoff), streams(index)[0]
        form = PlainNumPy(blank, user, k)
        _play(form, coins.random((_WARM_UP, k)))
        for mark, *found in timeline(blank.fresh(), user, marks, k, index):
            runs[mark] += (1, *found)
            numpy_seconds += seconds_of(partial(_play, form, coins.random((turn, k))))
        for short, more in _FURTHER_RUNS.items():
            for run in range(more if short < steps else 0):
                _, *found = next(timeline(blank.fresh(), user, [short], k, users * (run + 1) + index))
                runs[short] += (1, *found)
    numpy = 1e6 * numpy_seconds / (users * turn * len(marks))
    return [
        Speed(data, name, mark, numpy, 1e6 * seconds / (n * mark), scored / (n * mark))
        for mark, (n, seconds, scored) in runs.items()
    ]


def _play(form: PlainNumPy, coins: FloatArray) -> None:
    for row in coins:
        form.step(row)


@dataclass(frozen=True)
class Drawn:
    """Thompson sampling and upper confidence bounds on the same columns: microseconds a step of each."""

    policy: str
    steps: int
    bounds: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times the step with bounds."""
        return self.ours / self.bounds


def drawn(world: World, name: str, steps: int, k: int, users: int) -> Drawn:
    """A policy of :data:`THOMPSON` and the one with bounds, user by user in turns."""
    blanks = [linear_policy(one, world.catalog) for one in (THOMPSON[name], name)]
    seconds = np.zeros(2)
    for index in range(users):
        for which, blank in enumerate(blanks):
            early, late = timeline(blank.fresh(), world.user(index * 37), [_FIRST, steps], k, index)
            seconds[which] += late[1] - early[1]
    bounds, ours = 1e6 * seconds / (users * (steps - _FIRST))
    return Drawn(name, steps, bounds, ours)


@dataclass(frozen=True)
class Cores:
    """How many times faster several threads are than one."""

    workers: int
    ratio: float


def side_by_side(world: World, name: str, steps: int, k: int, workers: int) -> Cores:
    """The same runs with one thread and with ``workers``, by the clock."""
    users = [world.user(index * 37) for index in range(6 * workers)]  # enough for the last ones not to wait long
    policy = linear_policy(name, world.catalog)
    seconds = []
    for n in (1, workers):
        began = time.perf_counter()
        simulate_many(policy, users, steps, k, workers=n)
        seconds.append(time.perf_counter() - began)
    return Cores(workers, seconds[0] / seconds[1])
