"""How the time of a step grows with items, positions, topics and features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rankfall.experiments.bench.world import World, linear_policy, timeline

FIRST = 100
"""Lists of a new model."""

_RUNS = 3  # of a new model


@dataclass(frozen=True)
class Growth:
    """Microseconds a step for one value of what is varied.

    Attributes
    ----------
    model : ``"new"`` for the mean over its first lists, ``"learned"`` for that over the second half of ``steps``.
    """

    policy: str
    varied: str
    value: int
    model: Literal["new", "learned"]
    steps: int
    ours: float


def growth(world: World, names: Sequence[str], steps: int, largest: int) -> Iterator[tuple[Growth, Growth]]:
    """How a step grows with the number of items, positions, topics and features, one at a time: new, and learned."""
    for items in (1_000, 10_000, 100_000, 1_000_000):
        if items <= largest:
            here = world.enlarged(items)
            for name in names:
                # A million items take a while to tell apart; fewer steps show what one costs.
                yield _grown(here, name, "items", items, steps if items <= 100_000 else min(steps, 2_000), 10)
    for k in (5, 10, 15, 20):
        for name in names:
            yield _grown(world, name, "positions", k, steps, k)
    for d in (5, 10, 20, 40):
        for name in names:
            yield _grown(World.generated(d, 10), name, "topics", d, steps, 10)
    for m in (5, 10, 20, 40):
        for name in names:
            yield _grown(World.generated(18, m), name, "features", m, steps, 10)


def _grown(world: World, name: str, varied: str, value: int, steps: int, k: int) -> tuple[Growth, Growth]:
    blank, user = linear_policy(name, world.catalog), world.user(0)
    list(timeline(blank.fresh(), user, [2], k))  # compiled and laid out
    first = min(FIRST, steps)
    took = [next(timeline(blank.fresh(), user, [first], k, seed))[1] for seed in range(_RUNS)]
    (_, before, _), (_, after, _) = timeline(blank.fresh(), user, [steps // 2, steps], k)
    return (
        Growth(name, varied, value, "new", first, 1e6 * sum(took) / (_RUNS * first)),
        Growth(name, varied, value, "learned", steps, 1e6 * (after - before) / (steps - steps // 2)),
    )
