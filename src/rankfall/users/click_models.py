"""Click models: which positions a user examines, and when they leave.

All of them are one chain. If the user reaches position i, it is clicked with probability ``p_i = e_i * alpha_i``, and
after a click there the user is satisfied and leaves with probability ``v_i``:

================  ===================  ===================  ==============================================
model             examination ``e_i``  termination ``v_i``  clicks
================  ===================  ===================  ==============================================
Cascade           1                    1                    one at most
ExaminedCascade   given                1                    one at most
DependentClick    1                    given                several; the last may have satisfied or not
PositionBased     given                0                    several, independent
DocumentBased     1                    0                    several, independent
================  ===================  ===================  ==============================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, finite
from rankfall.errors import ProblemError

Reward: TypeAlias = Literal["any", "clicks", "satisfied"]
"""P(at least one click), expected number of clicks, P(a click that satisfies)."""

REWARDS: tuple[Reward, ...] = get_args(Reward)

Number = TypeVar("Number", float, FloatArray)


class Chain(NamedTuple):
    """The first k positions: examination and termination of each."""

    examination: tuple[float, ...]
    termination: tuple[float, ...]


class ClickModel:
    """A row of the table above.

    Attributes
    ----------
    single : whether clicks are given as one position or None; otherwise they are a tuple of positions.
    rewards : the rewards that make sense with it, the usual one first.
    """

    single = False
    rewards: tuple[Reward, ...] = ("clicks", "any")
    _examination: tuple[float, ...] | float = 1.0
    _termination: tuple[float, ...] | float = 0.0

    def __repr__(self) -> str:
        given = [v for v in (self._examination, self._termination) if isinstance(v, tuple)]
        return f"{type(self).__name__}({', '.join(str(list(v)) for v in given)})"

    @property
    def positions(self) -> int | None:
        """How long a list may be; None for any length."""
        return min((len(v) for v in (self._examination, self._termination) if isinstance(v, tuple)), default=None)

    def chain(self, k: int) -> Chain:
        """Examination and termination for lists of ``k``."""
        if self.positions is not None and k > self.positions:
            raise ProblemError(f"a list of {k} items is longer than the {self.positions} positions of {self!r}")
        return Chain(*(v[:k] if isinstance(v, tuple) else (v,) * k for v in (self._examination, self._termination)))


class Cascade(ClickModel):
    """The user reads from the top, clicks the first attractive item, and leaves. All three rewards are the same."""

    single = True
    rewards = ("any", "clicks", "satisfied")
    _termination = 1.0


class ExaminedCascade(ClickModel):
    """A cascade in which position i, once it is reached, is examined with probability ``examination[i]``.

    Whatever lets people skip a position is told apart from what they think of the item there.

    Parameters
    ----------
    examination : one for each position, in [0, 1].
    """

    single = True
    rewards = ("any", "clicks", "satisfied")
    _termination = 1.0

    def __init__(self, examination: ArrayLike) -> None:
        self.examination = _probabilities("examination", examination)
        self._examination = tuple(self.examination.tolist())


class DependentClick(ClickModel):
    """The user reads from the top and, after a click at position i, leaves with probability ``termination[i]``.

    Guo, Liu, Wang: Efficient Multiple-Click Models in Web Search, WSDM 2009. The usual reward is ``satisfied``, as in
    Katariya et al.: DCM Bandits, ICML 2016. The clicks do not show whether the last one satisfied the user.

    Parameters
    ----------
    termination : one for each position, in [0, 1].
    """

    rewards = ("satisfied", "clicks", "any")

    def __init__(self, termination: ArrayLike) -> None:
        self.termination = _probabilities("termination", termination)
        self._termination = tuple(self.termination.tolist())


class PositionBased(ClickModel):
    """The user examines position i with probability ``examination[i]``, whatever else is clicked.

    Parameters
    ----------
    examination : one for each position, in [0, 1].
    """

    def __init__(self, examination: ArrayLike) -> None:
        self.examination = _probabilities("examination", examination)
        self._examination = tuple(self.examination.tolist())


class DocumentBased(ClickModel):
    """The user examines every position, and clicks every attractive item."""


def _probabilities(name: str, value: ArrayLike) -> FloatArray:
    array = finite(name, value, 1, ProblemError)
    if not len(array):
        raise ProblemError(f"{name} is empty; one for each position is needed")
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ProblemError(f"{name} holds {array[outside][0]:g}; it is a probability for each position, from 0 to 1")
    return array


def expected(clicked: Iterable[Number], termination: Iterable[float], reward: Reward) -> Number:
    """Expected reward of a list, or of many: ``clicked[i]`` is ``p_i``, a number or one for each list.

    - any: ``1 - prod (1 - p_i)``
    - clicks: ``sum p_i prod over j < i of (1 - v_j p_j)``
    - satisfied: ``1 - prod (1 - v_i p_i)``

    >>> [expected([0.5, 0.5], [0.5, 0.5], reward) for reward in ("any", "clicks", "satisfied")]
    [0.75, 0.875, 0.4375]
    """
    left: Number = 1.0  # type: ignore[assignment]
    total: Number = 0.0  # type: ignore[assignment]
    if reward == "any":
        for p in clicked:
            left = left * (1.0 - p)
        return 1.0 - left
    for p, v in zip(clicked, termination, strict=True):
        total = total + left * p
        left = left * (1.0 - v * p)
    return total if reward == "clicks" else 1.0 - left


def first(clicked: Sequence[float], coins: Sequence[float]) -> int | None:
    """Position of the click in a model with one at most."""
    for i, p in enumerate(clicked):
        if coins[i] < p:
            return i
    return None


def several(clicked: Sequence[float], satisfied: Sequence[float], coins: Sequence[float]) -> tuple[int, ...]:
    """Positions of all clicks.

    One coin decides on click and satisfaction: given ``u < p``, ``u / p`` is uniform again, so ``u < v p`` satisfies.
    """
    clicks = []
    for i, p in enumerate(clicked):
        u = coins[i]
        if u < p:
            clicks.append(i)
            if u < satisfied[i]:
                break
    return tuple(clicks)
