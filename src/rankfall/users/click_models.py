"""Click models: which positions a user examines, and when they leave.

All of them are one chain. Where the user reaches position i, and j is the position of the last click above (0 if there
is none), the item there is clicked with probability ``p_i = e_ij * alpha_i``. After a click the user is satisfied and
leaves with probability ``v_i``. Who is not satisfied goes on with probability ``c``; after no click, with ``n``:

================  =============  =========================  =========  =========  ==================================
model             ``e_ij``       ``v_i``                    ``n``      ``c``      clicks
================  =============  =========================  =========  =========  ==================================
Cascade           1              1                          1          --         one at most
ExaminedCascade   by position    1                          1          --         one at most
DependentClick    1              by position                1          1          several; the last may satisfy
PositionBased     by position    0                          1          1          several, independent
DocumentBased     1              0                          1          1          several, independent
UserBrowsing      by both        0                          1          1          several
DynamicBayesian   1              by item                    given      the same   several; the last may satisfy
ClickChain        1              from alpha of the item     given      1          several
================  =============  =========================  =========  =========  ==================================
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, frozen, number
from rankfall.errors import ProblemError

Reward: TypeAlias = Literal["any", "clicks", "satisfied"]
"""P(at least one click), expected number of clicks, P(a click that satisfies)."""

REWARDS: tuple[Reward, ...] = get_args(Reward)

Columns: TypeAlias = tuple[float, ...]


class Chain(NamedTuple):
    """The first k positions, whatever items stand there.

    Attributes
    ----------
    examination : one row for each position, with a column for each place of the last click above: none, the first
        position, the second, ... A row has one column only where the last click does not matter.
    termination : one for each position; times what the item adds (:meth:`ClickModel.satisfaction`), it is ``v_i``.
    after_none, after_click : probability of going on without a click, and after one that does not satisfy.
    """

    examination: tuple[Columns, ...]
    termination: tuple[float, ...]
    after_none: float = 1.0
    after_click: float = 1.0


class ClickModel:
    """A row of the table above.

    Attributes
    ----------
    single : whether clicks are given as one position or None; otherwise they are a tuple of positions.
    rewards : the rewards that make sense with it, the usual one first.
    positions : how long a list may be; None for any length.
    n_items : how many items it has something to say of; None for any number.
    """

    single = False
    rewards: tuple[Reward, ...] = ("clicks", "any")
    positions: int | None = None
    n_items: int | None = None
    _examination: tuple[Columns, ...] | None = None
    _termination: tuple[float, ...] | float = 0.0
    _after_none = _after_click = 1.0
    _given: tuple[object, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(value) for value in self._given)})"

    def chain(self, k: int) -> Chain:
        """Examination, termination and persistence for lists of ``k``."""
        if self.positions is not None and k > self.positions:
            raise ProblemError(f"a list of {k} items is longer than the {self.positions} positions of {self!r}")
        examination = ((1.0,),) * k if self._examination is None else self._examination[:k]
        ends = self._termination
        termination = ends[:k] if isinstance(ends, tuple) else (ends,) * k
        return Chain(examination, termination, self._after_none, self._after_click)

    def satisfaction(self, items: IntArray, alpha: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """How likely a click on each of these items satisfies, given their attraction; None if all do alike."""
        return None


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
        self.positions, self._examination = len(self.examination), _one_column(self.examination)
        self._given = (self.examination.tolist(),)


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
        self.positions, self._termination = len(self.termination), tuple(self.termination.tolist())
        self._given = (self.termination.tolist(),)


class PositionBased(ClickModel):
    """The user examines position i with probability ``examination[i]``, whatever else is clicked.

    Parameters
    ----------
    examination : one for each position, in [0, 1].
    """

    def __init__(self, examination: ArrayLike) -> None:
        self.examination = _probabilities("examination", examination)
        self.positions, self._examination = len(self.examination), _one_column(self.examination)
        self._given = (self.examination.tolist(),)


class DocumentBased(ClickModel):
    """The user examines every position, and clicks every attractive item."""


class UserBrowsing(ClickModel):
    """Whether a position is examined depends on the position, and on where the last click above it was.

    Dupret, Piwowarski: A User Browsing Model to Predict Search Engine Click Data from Past Observations, SIGIR 2008
    (UBM).

    Parameters
    ----------
    examination : a row for each position. Its first entry is the probability that the position is examined if nothing
        above was clicked; the next ones, if the last click was at the first position, the second, ... Row i has
        i + 1 of them; a square array has zeros behind.

    >>> UserBrowsing([[1.0], [0.6, 0.9]]).examination
    array([[1. , 0. ],
           [0.6, 0.9]])
    """

    def __init__(self, examination: ArrayLike) -> None:
        self.examination = _browsing(examination)
        self.positions = len(self.examination)
        rows = [row[: i + 1] for i, row in enumerate(self.examination.tolist())]
        self._examination, self._given = tuple(tuple(row) for row in rows), (rows,)


class DynamicBayesian(ClickModel):
    """After a click the user is satisfied with a probability that depends on the item, and leaves.

    Otherwise, clicked or not, the user goes on to the next position with probability ``continuation``. Chapelle, Zhang:
    A Dynamic Bayesian Network Click Model for Web Search Ranking, WWW 2009 (DBN). With a continuation of 1 it is their
    simplified model (SDBN).

    Parameters
    ----------
    satisfaction : one for each item, in [0, 1].
    continuation : the paper's gamma, in [0, 1].
    """

    rewards = ("satisfied", "clicks", "any")
    _termination = 1.0

    def __init__(self, satisfaction: ArrayLike, continuation: float = 1.0) -> None:
        self._satisfaction = _probabilities("satisfaction", satisfaction, "item")
        self.continuation = number("continuation", continuation, ProblemError, low=0.0, high=1.0)
        self.n_items = len(self._satisfaction)
        self._after_none = self._after_click = self.continuation
        self._given = (self._satisfaction.tolist(), self.continuation)

    def satisfaction(self, items: IntArray, alpha: FloatArray) -> FloatArray:  # noqa: ARG002
        """How likely a click on each of these items satisfies."""
        return self._satisfaction[items]


class ClickChain(ClickModel):
    """The more an item attracts, the less (or more) likely a user goes on after a click on it.

    Without a click, the user goes on to the next position with the first probability. After a click on an item of
    attraction alpha, with ``(1 - alpha)`` times the second and ``alpha`` times the third. Guo et al.: Click Chain Model
    in Web Search, WWW 2009 (CCM; there alpha_1, alpha_2, alpha_3).

    Parameters
    ----------
    continuation : the three, each in [0, 1].
    """

    _termination = 1.0

    def __init__(self, continuation: ArrayLike) -> None:
        self.continuation = _probabilities("continuation", continuation, "case")
        if len(self.continuation) != 3:
            raise ProblemError(
                f"continuation of a ClickChain has {len(self.continuation)} numbers; it needs three: without a click, "
                "after a click on an item that does not attract, and on one that does"
            )
        self._given = (self.continuation.tolist(),)
        self._after_none, self._dull, self._attractive = self.continuation.tolist()

    def satisfaction(self, items: IntArray, alpha: FloatArray) -> FloatArray:  # noqa: ARG002
        """How likely the user leaves after a click on each of these items."""
        leaves: FloatArray = 1.0 - (self._dull * (1.0 - alpha) + self._attractive * alpha)
        return leaves


def _probabilities(name: str, value: ArrayLike, each: str = "position") -> FloatArray:
    array = finite(name, value, 1, ProblemError)
    if not len(array):
        raise ProblemError(f"{name} is empty; one for each {each} is needed")
    _check_probabilities(name, array, each)
    return array


def _check_probabilities(name: str, array: FloatArray, each: str) -> None:
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ProblemError(f"{name} holds {array[outside][0]:g}; it is a probability for each {each}, from 0 to 1")


def _one_column(examination: FloatArray) -> tuple[Columns, ...]:
    return tuple((e,) for e in examination.tolist())


def _browsing(examination: ArrayLike) -> FloatArray:
    """(k, k) a row for each position; 0 where a column lies behind the position."""
    try:
        rows = [finite(f"row {i + 1} of examination", row, 1, ProblemError) for i, row in enumerate(examination)]  # type: ignore[arg-type]
    except TypeError:
        raise ProblemError(f"examination must have a row for each position, got {examination!r}") from None
    if not rows:
        raise ProblemError("examination is empty; a row for each position is needed")
    table = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        if len(row) < i + 1 or row[i + 1 :].any():
            raise ProblemError(
                f"row {i + 1} of examination has {len(row)} entries; it needs {i + 1}: no click above, and the last "
                "click at each position above"
            )
        table[i, : i + 1] = row[: i + 1]
    _check_probabilities("examination", table, "position and last click")
    return frozen(table)
