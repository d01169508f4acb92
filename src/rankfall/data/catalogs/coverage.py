"""How well items cover their topics, from a click log."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray
from rankfall.data.catalogs.interactions import Interactions

Audience = Literal["shown", "everyone"]
"""Of whom the share is: of those who were shown the item, or of everyone."""


class Covered(NamedTuple):
    """Coverage of each item (items, topics), and that of an item nobody has seen, by topic (topics,)."""

    coverage: FloatArray
    unseen: FloatArray


def coverage_from_clicks(
    seen: Interactions, membership: BoolArray, *, typical: float, smoothing: float, audience: Audience = "shown"
) -> Covered:
    """Section 4.1, smoothed: of those who clicked anything in a topic, the share who clicked this item.

    Section 4.1 has ratings, which do not say what people were shown, and takes the share of everyone who likes anything
    in the topic. A click log does say it, and so the share is of those among them who were shown the item: an item that
    few were shown is not one that few want. ``audience="everyone"`` takes it of all.

    Each share is smoothed as if ``smoothing`` more people had clicked it as often as items of the topic are clicked;
    and the share of a topic as if so many had clicked in it as often as in all topics; and that one with ``typical``.
    So nothing is 0 or 1 by accident, and an item nobody has seen covers what is usual in its topic.
    """
    clicks = seen.clickers[:, None] * membership
    people = np.where(membership, seen.exposed if audience == "shown" else seen.audience, 0)
    overall = _share(clicks.sum(), people.sum(), typical, smoothing)
    unseen = _share(clicks.sum(axis=0), people.sum(axis=0), overall, smoothing)
    return Covered(np.where(membership, _share(clicks, people, unseen, smoothing), 0.0), unseen)


def _share(part: IntArray, whole: IntArray, usual: FloatArray | float, smoothing: float) -> FloatArray:
    """The share, drawn towards what is usual; where nothing is known, and nothing smoothed, 0."""
    total = whole + smoothing
    made: FloatArray = (part + smoothing * np.asarray(usual)) / np.where(total > 0, total, 1.0)
    return made
