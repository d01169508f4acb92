"""How well items cover their topics, from a click log."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray
from rankfall.data.catalogs.interactions import Interactions

Audience = Literal["shown", "everyone"]
"""Of whom the share is: of those who were shown the item, or of everyone."""


LEAST, MOST = 10.0, 10_000.0
"""Between so many people smoothing is, if it is estimated."""


class Covered(NamedTuple):
    """Coverage of each item (items, topics), that of an item nobody has seen by topic (topics,), and the smoothing."""

    coverage: FloatArray
    unseen: FloatArray
    smoothing: float


def coverage_from_clicks(
    seen: Interactions,
    membership: BoolArray,
    *,
    typical: float,
    smoothing: float | None = None,
    audience: Audience = "shown",
) -> Covered:
    """Section 4.1, smoothed: of those who clicked anything in a topic, the share who clicked this item.

    Section 4.1 has ratings, which do not say what people were shown, and takes the share of everyone who likes anything
    in the topic. A click log does say it, and so the share is of those among them who were shown the item: an item that
    few were shown is not one that few want. ``audience="everyone"`` takes it of all.

    Each share is smoothed as if ``smoothing`` more people had clicked it as often as items of the topic are clicked;
    and the share of a topic as if so many had clicked in it as often as in all topics; and that one with ``typical``.
    So nothing is 0 or 1 by accident, and an item nobody has seen covers what is usual in its topic. If no number is
    given, it is estimated: the more items of a topic differ beyond what chance does, the less they are smoothed.
    """
    clicks = seen.clickers[:, None] * membership
    people = np.where(membership, seen.exposed if audience == "shown" else seen.audience, 0)
    if smoothing is None:
        smoothing = estimated_smoothing(clicks, people)
    overall = _share(clicks.sum(), people.sum(), typical, smoothing)
    unseen = _share(clicks.sum(axis=0), people.sum(axis=0), overall, smoothing)
    return Covered(np.where(membership, _share(clicks, people, unseen, smoothing), 0.0), unseen, smoothing)


def estimated_smoothing(clicks: IntArray, people: IntArray) -> float:
    """How many people are worth as much as what is usual in a topic, by the method of moments.

    If the shares of the items of a topic are drawn from a beta distribution of mean p and ``s`` pseudo-counts, the
    expected sum over items of ``people * (share - p)^2 / (p (1 - p))`` is ``items + sum(people - 1) / (s + 1)``.

    Parameters
    ----------
    clicks, people : (items, topics) how many clicked an item, of how many; none where it is not of the topic.
    """
    shown = people > 0
    total = people.sum(axis=0)
    p = clicks.sum(axis=0) / np.maximum(total, 1)
    told = (p > 0) & (p < 1) & (shown.sum(axis=0) > 1)
    share = np.divide(clicks, people, out=np.zeros(clicks.shape), where=shown)
    spread = (people * (share - p) ** 2)[:, told].sum(axis=0) / (p * (1.0 - p))[told]
    chance = (shown.sum(axis=0) - 1)[told].sum()  # one is lost to the mean of the topic
    beyond = (spread.sum() - chance) / max(float(np.maximum(people - 1, 0)[:, told].sum()), 1.0)
    return float(np.clip(1.0 / beyond - 1.0, LEAST, MOST)) if beyond > 0 else MOST


def _share(part: IntArray, whole: IntArray, usual: FloatArray | float, smoothing: float) -> FloatArray:
    """The share, drawn towards what is usual; where nothing is known, and nothing smoothed, 0."""
    total = whole + smoothing
    made: FloatArray = (part + smoothing * np.asarray(usual)) / np.where(total > 0, total, 1.0)
    return made
