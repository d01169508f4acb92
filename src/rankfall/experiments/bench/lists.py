"""Milliseconds of a call of ``rank``, by what is asked for, beside plain NumPy in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankfall.experiments.bench.plain_numpy import PlainNumPy
from rankfall.experiments.bench.world import World, linear_policy, seconds_of
from rankfall.experiments.simulation import simulate
from rankfall.kernels.epochs import SHORT
from rankfall.policies import LinearPolicy
from rankfall.policies.forgetting import Discount
from rankfall.users import CascadeUser

SIZES = (1_000, 100_000, 1_000_000)
"""How many items there are."""

CANDIDATES, EXCLUDED, FIRST = 500, 10, 10

_CALLS = {1_000: 200, 100_000: 40, 1_000_000: 10}
_NUMPY_CALLS = {1_000: 20, 100_000: 4, 1_000_000: 1}  # for each row
_LEARNED_FROM = {1_000: 5_000, 100_000: 2_000, 1_000_000: 1_000}

_Request = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Lists:
    """Milliseconds of one kind of call: medians of both forms, and our slowest."""

    items: int
    asked: str
    numpy: float
    ours: float
    slowest: float

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.numpy / self.ours


class _Room:
    """A catalog of some size, a user, and plain NumPy over all its items and over a few."""

    def __init__(self, world: World, items: int, k: int) -> None:
        self.items, self.k = items, k
        here = world.enlarged(items)
        self.user: CascadeUser = here.user(0)
        self.blank = linear_policy("CascadeHybrid", here.catalog)
        few = here.some(CANDIDATES)
        self._all = PlainNumPy(self.blank, self.user, k)
        self._few = PlainNumPy(linear_policy("CascadeHybrid", few.catalog), few.user(0), k)
        self.rng = np.random.default_rng(0)

    def row(self, asked: str, calls: Iterator[float], of: str = "all") -> Lists:
        """Our calls, with those of NumPy spread among them."""
        form = self._few if of == "few" else self._all
        every = _CALLS[self.items] // _NUMPY_CALLS[self.items]
        numpy: list[float] = []
        ours: list[float] = []
        for call, seconds in enumerate(calls):
            ours.append(seconds)
            if call % every == 0 and len(numpy) < _NUMPY_CALLS[self.items]:
                numpy.append(seconds_of(form.rank))
        return Lists(
            self.items, asked, *(1e3 * float(value) for value in (np.median(numpy), np.median(ours), max(ours)))
        )

    def calls(self, policy: LinearPolicy, request: _Request = dict, learn: bool = True) -> Iterator[float]:
        """Seconds of each call of ``rank``, with an update between any two."""
        for _ in range(SHORT + 1):  # compiled and laid out; shortlists come after a few lists
            policy.rank(self.k, **request())
        return self._calls(policy, _CALLS[self.items], request, learn)

    def first_calls(self) -> Iterator[float]:
        """Seconds of each of the first lists of new models, whose items are laid out."""
        for _ in range(max(2, _CALLS[self.items] // FIRST)):
            yield from self._calls(self.blank.fresh(), FIRST, dict, True)

    def _calls(self, policy: LinearPolicy, n: int, request: _Request, learn: bool) -> Iterator[float]:
        for coins in self.rng.random((n, self.k)):
            shown: list[Any] = []
            yield seconds_of(partial(_rank, policy, self.k, request(), shown))
            if learn:
                policy.update(shown[0], self.user.click(shown[0].items, coins))


def _rank(policy: LinearPolicy, k: int, request: dict[str, Any], shown: list[Any]) -> None:
    shown.append(policy.rank(k, **request))


def lists(world: World, items: int, k: int = 10) -> Iterator[Lists]:
    """``rank`` of a CascadeHybrid, as a service would call it."""
    room = _Room(world, items, k)
    learned = room.blank.fresh()
    simulate(learned, room.user, _LEARNED_FROM[items], k, seed=0)

    def own(policy: LinearPolicy) -> LinearPolicy:
        twin = policy.fresh()
        twin.restore(learned.state())
        return twin

    alone = own(room.blank)
    alone.pruning = False
    forgetting = linear_policy("CascadeHybrid", room.blank.catalog, forgetting=Discount(0.999))
    some: _Request = lambda: {"candidates": room.rng.choice(items, CANDIDATES, replace=False)}  # noqa: E731
    all_but: _Request = lambda: {"exclude": room.rng.choice(items, EXCLUDED, replace=False)}  # noqa: E731
    yield room.row("a learned model, again", room.calls(learned, learn=False))
    yield room.row("a learned model, after an update", room.calls(learned))
    yield room.row(f"the first {FIRST} lists of a new model", room.first_calls())
    yield room.row("a user's own model (no shortlists)", room.calls(alone))
    yield room.row("a model that forgets", room.calls(forgetting))
    yield room.row(f"all but {EXCLUDED} items", room.calls(own(room.blank), all_but))
    yield room.row(f"{CANDIDATES} candidates", room.calls(own(room.blank), some), of="few")
