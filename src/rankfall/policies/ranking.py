"""What is shown, what comes back, and the contract between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from rankfall.arrays import FloatArray, IntArray, frozen, rows, whole
from rankfall.catalog import Id
from rankfall.errors import FeedbackError, RankError

Click: TypeAlias = int | Iterable[int] | None
"""A 0-based position, several of them (the first counts), or None for no click."""


_NOTHING: FloatArray = frozen(np.empty(0))
_NO_FEATURES: FloatArray = frozen(np.empty((0, 0)))
_ANY_ROW = 2**63 - 1


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Ranking:
    """The list shown, with everything needed to learn from it later.

    A policy of your own may return ``Ranking(items)`` and nothing else.

    Attributes
    ----------
    items : (k,) row numbers in the catalog, best first.
    ids : (k) ids of those items.
    features : (k, columns) features as shown: coverage gains, then relevance.
    means, widths, scores : (k,) estimated attraction, its standard deviation, and what the list was ordered by.
    weights : (columns,) the weights the list was made with, so that it can be explained later.
    space : what the feature columns mean and which line of catalogs they come from.
    note : whatever a policy of another kind wants back together with the answer.

    >>> Ranking([4, 2, 7]).items
    array([4, 2, 7])
    """

    items: IntArray
    ids: tuple[Id, ...]
    features: FloatArray
    means: FloatArray
    widths: FloatArray
    scores: FloatArray
    weights: FloatArray
    space: str
    note: object

    def __init__(  # by hand, as made by dataclass it would take longer than a tabular policy takes to rank
        self,
        items: Iterable[int],
        ids: tuple[Id, ...] = (),
        features: FloatArray = _NO_FEATURES,
        means: FloatArray = _NOTHING,
        widths: FloatArray = _NOTHING,
        scores: FloatArray = _NOTHING,
        weights: FloatArray = _NOTHING,
        space: str = "",
        note: object = None,
    ) -> None:
        for array in (features, means, widths, scores, weights):
            if array is not _NOTHING and array is not _NO_FEATURES:
                array.flags.writeable = False
        shown = rows("items", items, _ANY_ROW, RankError)
        shown.flags.writeable = False
        put = object.__setattr__
        put(self, "items", shown)
        put(self, "ids", ids)
        put(self, "features", features)
        put(self, "means", means)
        put(self, "widths", widths)
        put(self, "scores", scores)
        put(self, "weights", weights)
        put(self, "space", space)
        put(self, "note", note)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Ranking({', '.join(repr(i) for i in (self.ids or self.items.tolist()))})"


@runtime_checkable
class Policy(Protocol):
    """Ranks and learns; :func:`rankfall.check_policy` says in words whether an object keeps this contract.

    - ``rank`` never changes the policy and draws randomness only from ``rng``.
    - ``update`` gets back the ranking it answers; feedback may come late, out of order, or never.
    """

    @property
    def n_items(self) -> int:
        """How many items there are to rank."""
        ...

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
    ) -> Ranking:
        """Show ``k`` items, best first, out of ``candidates`` (all) without ``exclude`` (none)."""
        ...

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from the answer to ``ranking``."""
        ...


def eligible(
    k: int,
    n_items: int,
    candidates: Iterable[int] | None,
    exclude: Iterable[int] | None,
    fixed: Mapping[int, int] | None = None,
) -> tuple[int, IntArray]:
    """``k``, checked, and the rows to choose from where nothing is ``fixed``, ascending.

    >>> eligible(2, 5, [4, 1, 0], [1])
    (2, array([0, 4]))
    >>> eligible(2, 5, [4, 1, 0], [1], fixed={1: 4})
    (2, array([0]))
    """
    k = whole("k", k, RankError, low=1)
    held = _held(fixed, k, n_items)
    wanted = None if candidates is None else rows("candidates", candidates, n_items, RankError)
    barred = held if exclude is None else np.concatenate([held, rows("exclude", exclude, n_items, RankError)])
    if len(held) == k:  # nothing to choose
        return k, np.empty(0, dtype=np.int64)
    if wanted is None and not len(barred):
        allowed = np.arange(n_items)
    else:
        keep = np.zeros(n_items, dtype=bool)
        keep[slice(None) if wanted is None else wanted] = True
        keep[barred] = False
        allowed = np.flatnonzero(keep)
    most = len(held) + len(allowed)
    if k > most:
        raise RankError(f"k is {k} and only {most} of {n_items} items may be shown; ask for at most that many")
    return k, allowed


def _held(fixed: Mapping[int, int] | None, k: int, n_items: int) -> IntArray:
    """The rows that are fixed, if each has a position below ``k`` of its own."""
    if fixed is None:
        return np.empty(0, dtype=np.int64)
    if not isinstance(fixed, Mapping):
        raise RankError(f"fixed must map positions to rows, got {type(fixed).__name__}")
    for position in fixed:
        whole("a position in fixed", position, RankError, low=0, high=k - 1)
    return rows("fixed", fixed.values(), n_items, RankError)


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Whence to draw; where the caller gives nothing, always the same."""
    if rng is None:
        return np.random.default_rng(0)
    if not isinstance(rng, np.random.Generator):
        raise RankError(f"rng must be a numpy.random.Generator or None, got {type(rng).__name__}")
    return rng


def all_clicks(click: Any, length: int) -> list[int]:
    """Every 0-based position that was clicked, from the top, each once.

    >>> all_clicks([3, 1, 3], 5), all_clicks(2, 5), all_clicks(None, 5)
    ([1, 3], [2], [])
    """
    if click is None:
        return []
    if type(click) is int and 0 <= click < length:  # as a simulated user says it, a step in microseconds
        return [click]
    if type(click) is tuple:
        before, plain = -1, True
        for one in click:
            if type(one) is not int or one <= before:
                plain = False
                break
            before = one
        if plain and before < length:
            return list(click)
    many = isinstance(click, Iterable) and not isinstance(click, str | bytes) and np.ndim(click) > 0  # type: ignore[arg-type]
    several = click if many else [click]
    return sorted({whole("click", one, FeedbackError, low=0, high=length - 1) for one in several})


def first_click(click: Any, length: int) -> int | None:
    """The 0-based position that counts, or None for no click.

    >>> first_click([3, 1], 5), first_click(None, 5), first_click([], 5)
    (1, None, None)
    >>> first_click(5, 5)
    Traceback (most recent call last):
    rankfall.errors.FeedbackError: click must be a whole number from 0 to 4, got 5
    """
    return min(all_clicks(click, length), default=None)
