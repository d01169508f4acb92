"""What may happen in a list under a click model: how likely, what the coins decide, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from rankfall.arrays import FloatArray
from rankfall.users.click_models import Chain, Reward

Number = TypeVar("Number", float, FloatArray)


class Chances(NamedTuple, Generic[Number]):
    """Probabilities at each position of a list, or of many, once the user gets there.

    A coin u, uniform in [0, 1), decides all that happens at a position: given ``u < p``, ``u / p`` is uniform again.

    Attributes
    ----------
    clicked : of a click: one for each place of the last click above, as in :class:`Chain`.
    satisfied : of a click that satisfies, after which the user leaves. Coins below it mean that.
    ended : of a click after which the user leaves. Coins below it mean that, those from there to ``clicked`` a click
        after which the user goes on.
    passed : of going on to the next position, or a click: coins from there on mean that the user leaves without one.
    """

    clicked: Sequence[Sequence[Number]]
    satisfied: Sequence[Number]
    ended: Sequence[Number]
    passed: Sequence[Number]


def chances_of(chain: Chain, alpha: Sequence[Number], satisfaction: Sequence[Number] | None) -> Chances[Number]:
    """Chances in a list, or in many, of items with this attraction and satisfaction, from the top."""
    examination, termination, after_none, after_click = chain
    clicked = [[e * a for e in row] for row, a in zip(examination, alpha, strict=True)]
    if satisfaction is None:
        satisfied = [v * p[0] for v, p in zip(termination, clicked, strict=True)]
    else:
        satisfied = [v * s * p[0] for v, s, p in zip(termination, satisfaction, clicked, strict=True)]
    ended: list[Number] = satisfied
    passed: list[Number] = [1.0] * len(clicked)  # type: ignore[list-item]
    if after_click < 1.0:
        ended = [s + (1.0 - after_click) * (p[0] - s) for s, p in zip(satisfied, clicked, strict=True)]
    if after_none < 1.0:
        passed = [1.0 - (1.0 - after_none) * (1.0 - p[0]) for p in clicked]
    return Chances(clicked, satisfied, ended, passed)


def expected(chances: Chances[Number], reward: Reward) -> Number:
    """Expected reward of a list, or of many.

    Where nobody leaves but satisfied, it is:

    - any: ``1 - prod (1 - p_i)``
    - clicks: ``sum p_i prod over j < i of (1 - v_j p_j)``
    - satisfied: ``1 - prod (1 - v_i p_i)``

    >>> from rankfall.users.click_models import DependentClick
    >>> chances = chances_of(DependentClick([0.5, 0.5]).chain(2), [0.5, 0.5], None)
    >>> [expected(chances, reward) for reward in ("any", "clicks", "satisfied")]
    [0.75, 0.875, 0.4375]
    """
    if reward == "clicks" and remembers(chances.clicked):
        return _clicks_by_last(chances.clicked)
    reached: Number = 1.0  # type: ignore[assignment]
    total: Number = 0.0  # type: ignore[assignment]
    gone: Number = 0.0  # type: ignore[assignment]
    for columns, satisfied, ended, passed in zip(*chances, strict=True):
        p = columns[0]
        if reward == "any":  # as if the first click satisfied
            satisfied = ended = p
        total = total + reached * p
        gone = gone + reached * ((ended - satisfied) + (1.0 - passed))
        reached = reached * (1.0 - ended - (1.0 - passed))
    return total if reward == "clicks" else 1.0 - (reached + gone)


def _clicks_by_last(clicked: Sequence[Sequence[Number]]) -> Number:
    """Expected number of clicks where nobody leaves, and chances depend on the last click."""
    reached: list[Number] = [1.0]  # type: ignore[list-item]
    total: Number = 0.0  # type: ignore[assignment]
    for columns in clicked:
        here: Number = 0.0  # type: ignore[assignment]
        for last, p in enumerate(columns):
            here = here + reached[last] * p
            reached[last] = reached[last] * (1.0 - p)
        reached.append(here)
        total = total + here
    return total


def remembers(clicked: Sequence[Sequence[object]]) -> bool:
    """Whether chances depend on where the last click was."""
    return len(clicked[-1]) > 1


def first(chances: Chances[float], coins: Sequence[float]) -> int | None:
    """Position of the click in a model with one at most, in which nobody leaves without it."""
    for i, columns in enumerate(chances.clicked):
        if coins[i] < columns[0]:
            return i
    return None


def several(chances: Chances[float], coins: Sequence[float]) -> tuple[int, ...]:
    """Positions of all clicks."""
    clicked, _, ended, passed = chances
    memory = remembers(clicked)
    clicks, last = [], 0
    for i, columns in enumerate(clicked):
        u = coins[i]
        if u < columns[last]:
            clicks.append(i)
            if u < ended[i]:
                break
            if memory:
                last = i + 1
        elif u >= passed[i]:
            break
    return tuple(clicks)
