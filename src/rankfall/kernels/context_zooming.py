"""Kernels of contextual zooming: balls of pairs of a context (the items above) and an item.

A ball b is round a pair of context ``contexts[b]`` (its first ``above`` entries) and item ``centres[b]``, with radius
``radii[b]``. The distance of two pairs is ``min(1, D(x, x') + weight * sum_j D(c_j, c'_j))``, D between items.
"""

from typing import Any

from rankfall.kernels.jit import entry, leaf


@leaf
def context_distance(context: Any, other: Any, above: int, weight: float, D: Any) -> float:
    """How far apart two contexts are: position by position."""
    total = 0.0
    for j in range(above):
        total += D[context[j], other[j]]
    return weight * total


@leaf
def between(a: int, b: int, above: int, weight: float, D: Any, contexts: Any, centres: Any) -> float:
    """The distance of the centres of two balls."""
    return min(1.0, D[centres[a], centres[b]] + context_distance(contexts[a], contexts[b], above, weight, D))


@entry
def ball_of(context: Any, above: int, weight: float, D: Any, contexts: Any, centres: Any, radii: Any, out: Any) -> None:
    """For each item, the ball of least radius that holds it in this context, the first of equals; -1 if none does."""
    for row in range(len(out)):
        out[row] = -1
    for b in range(len(centres)):
        gap = context_distance(context, contexts[b], above, weight, D)
        if min(1.0, gap) > radii[b]:
            continue
        for row in range(len(out)):
            held = min(1.0, D[row, centres[b]] + gap) <= radii[b]
            if held and (out[row] < 0 or radii[b] < radii[out[row]]):
                out[row] = b


@leaf
def least(b: int, pre: Any, above: int, weight: float, D: Any, contexts: Any, centres: Any, low: Any, via: Any) -> None:
    """``low[b]``: the least ``pre[a] + distance`` to a ball a, and ``via[b]``: the first a that has it."""
    via[b] = 0
    low[b] = pre[0] + between(0, b, above, weight, D, contexts, centres)
    for a in range(1, len(pre)):
        value = pre[a] + between(a, b, above, weight, D, contexts, centres)
        if value < low[b]:
            low[b], via[b] = value, a


@entry
def all_least(pre: Any, above: int, weight: float, D: Any, contexts: Any, centres: Any, low: Any, via: Any) -> None:
    """:func:`least` of every ball."""
    for b in range(len(pre)):
        least(b, pre, above, weight, D, contexts, centres, low, via)


@entry
def changed(
    ball: int, pre: Any, above: int, weight: float, D: Any, contexts: Any, centres: Any, low: Any, via: Any
) -> None:
    """Bring :func:`all_least` up to date after ``pre`` of one ball has changed, or the ball is new (``via`` -1)."""
    for b in range(len(pre)):
        value = pre[ball] + between(ball, b, above, weight, D, contexts, centres)
        if value <= low[b]:
            low[b], via[b] = value, ball
        elif via[b] == ball or via[b] < 0:
            least(b, pre, above, weight, D, contexts, centres, low, via)
