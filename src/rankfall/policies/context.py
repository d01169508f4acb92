"""What is declared about requests: the factors of their context, and features that candidates have in one request."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar

import numpy as np

from rankfall.arrays import FloatArray, IntArray, finite
from rankfall.errors import ProblemError, RankError
from rankfall.policies.factors import Factor, Number, factor_of, factor_to_json

MOST_COLUMNS = 100
"""Of a context in all: a model has so many times the columns of the items, and its state the square of that."""

F = TypeVar("F", bound=Factor)


class _Declared(Generic[F]):
    """Factors by name, in order. A value: it never changes."""

    def __init__(self, factors: Mapping[str, F]) -> None:
        self.factors: Mapping[str, F] = MappingProxyType(dict(factors))

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.factors)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self.factors)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and list(self.factors.items()) == list(other.factors.items())

    def __hash__(self) -> int:
        return hash(tuple(self.factors.items()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.factors),)

    def to_json(self) -> dict[str, dict[str, Any]]:
        """As plain JSON, of which the same can be made again."""
        return {name: factor_to_json(factor) for name, factor in self.factors.items()}


def _made(what: str, given: Any) -> dict[str, Factor]:
    """Factors by name, from factors or plain JSON."""
    if not isinstance(given, Mapping) or not given:
        raise ProblemError(f"{what} must map names to their kinds, at least one, got {given!r}")
    made = {}
    for name, plain in given.items():
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ProblemError(f"names of {what} must be printable texts, got {name!r}")
        try:
            made[name] = factor_of(plain)
        except ProblemError as problem:
            raise ProblemError(f"{name!r} of {what}: {problem}") from None
    return made


class Context(_Declared[Factor]):
    """What is declared about the context of requests: named factors, in order.

    A context ``{"hour": 8, "device": "mobile"}`` becomes numbers c, of which the first is 1. A factor that is missing,
    or None, has 0 in all its columns: then the list is what holds on average.

    Parameters
    ----------
    factors : :class:`Number`, :class:`Category`, :class:`Hour` and :class:`Weekday` by name, or as plain JSON.

    Attributes
    ----------
    columns : names of the columns of c.
    belongs : (columns,) 0 for the constant, 1 for columns of the first factor, and so on.

    >>> from rankfall import Category, Hour
    >>> context = Context({"hour": Hour(), "device": Category(["mobile", "desktop"])})
    >>> context.columns
    ('1', 'hour sin', 'hour cos', 'device=mobile', 'device=desktop')
    >>> context.encode({"hour": 12, "device": "mobile"}).round(3)
    array([ 1.,  0., -1.,  1.,  0.])
    >>> context.encode({"weather": "rain"})
    Traceback (most recent call last):
    rankfall.errors.RankError: the context has no factor 'weather'; it has hour, device
    """

    def __init__(self, factors: Mapping[str, Factor | Mapping[str, Any]]) -> None:
        super().__init__(_made("a context", factors))
        columns, belongs = ["1"], [0]
        for i, (name, factor) in enumerate(self.factors.items(), 1):
            own = factor.columns(name)
            columns += own
            belongs += [i] * len(own)
        if len(columns) > MOST_COLUMNS:
            raise ProblemError(f"the context has {len(columns)} columns, {MOST_COLUMNS} at most; declare fewer levels")
        self.columns = tuple(columns)
        self.belongs: IntArray = np.array(belongs)

    def encode(self, values: Mapping[str, Any] | None) -> FloatArray:
        """The numbers c of a context; raises :class:`RankError` for what was not declared or makes no sense."""
        given = _checked("the context", "factor", {} if values is None else values, self.factors)
        c = [1.0]
        for name, factor in self.factors.items():
            value = given.get(name)
            try:
                c += [0.0] * len(factor.columns(name)) if value is None else factor.encode(value)
            except RankError as problem:
                raise RankError(f"{name!r} of the context: {problem}") from None
        return np.array(c)


class RequestFeatures(_Declared[Number]):
    """Features that candidates have in one request alone, such as how well they match its query.

    Parameters
    ----------
    factors : a :class:`Number` for each, by name: how it is scaled. An item without a value has 0.

    >>> from rankfall import Number
    >>> features = RequestFeatures({"bm25": Number(scale=10), "distance_km": Number(centre=5, scale=5)})
    >>> features.encode({"bm25": 21})
    array([2.1, 0. ])
    """

    def __init__(self, factors: Mapping[str, Number | Mapping[str, Any]]) -> None:
        plain = factors
        if isinstance(factors, Mapping):
            plain = {n: {"kind": "number", **one} if isinstance(one, Mapping) else one for n, one in factors.items()}
        made = _made("request features", plain)
        numbers = {name: one for name, one in made.items() if isinstance(one, Number)}
        if len(numbers) < len(made):
            name = next(name for name in made if name not in numbers)
            raise ProblemError(f"request features must be numbers, and {name!r} is a {made[name].kind}")
        super().__init__(numbers)

    def encode(self, values: Mapping[str, Any]) -> FloatArray:
        """The numbers of one item; raises :class:`RankError` for what was not declared or makes no sense."""
        given = _checked("the model", "feature of candidates", values, self.factors)
        row = np.zeros(len(self.factors))
        for j, (name, one) in enumerate(self.factors.items()):
            if given.get(name) is not None:
                try:
                    (row[j],) = one.encode(given[name])
                except RankError as problem:
                    raise RankError(f"feature {name!r} of a candidate: {problem}") from None
        return row

    def encode_all(self, values: Any) -> FloatArray:
        """The numbers of many items at once, given as an array (items, features)."""
        raw = finite("features of candidates", values, 2, RankError)
        if raw.shape[1] != len(self.factors):
            raise RankError(f"features of candidates have {raw.shape[1]} columns; declared are {', '.join(self.names)}")
        made = np.empty(raw.shape)
        for j, one in enumerate(self.factors.values()):
            made[:, j] = np.clip((raw[:, j] - one.centre) / one.scale, -one.limit, one.limit)
        return made


def _checked(who: str, what: str, values: Any, declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values by name, if all of the names were declared."""
    if not isinstance(values, Mapping):
        raise RankError(f"values of {who} must be given by name, got {type(values).__name__}")
    for name in values:
        if name not in declared:
            raise RankError(f"{who} has no {what} {name!r}; it has {', '.join(declared)}")
    return values
