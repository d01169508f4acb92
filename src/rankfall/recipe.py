"""How the columns of a table of items become relevance features.

A catalog that was built from a table keeps its recipe: an item that comes later, in the units of that table, is scaled
as the first ones were. The same code does both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta

from rankfall.arrays import FloatArray
from rankfall.errors import CatalogError, short

FURTHEST = 3.0
"""A number counts as no further from the mean than so many standard deviations."""

CONSTANT = "constant"
"""The feature that is the same for all items."""

Positive: TypeAlias = Annotated[float, Meta(gt=0)]


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """One feature that is 1 for every item."""

    @property
    def features(self) -> tuple[str, ...]:
        """Its name."""
        return (CONSTANT,)


class Number(msgspec.Struct, frozen=True, tag="number"):
    """A column of numbers: less the mean, divided by the standard deviation, cut off at 3 of them either way.

    With ``log_unit`` the logarithm of ``1 + value / log_unit`` takes the place of the value. No value counts as the
    mean.
    """

    column: str
    center: float
    scale: Positive
    log_unit: Positive | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """One name: that of the column, with ``log_`` before it where a logarithm is taken."""
        return (self.column if self.log_unit is None else f"log_{self.column}",)

    def values(self, cells: Sequence[Any]) -> FloatArray:
        """The feature of items with these values: (items, 1)."""
        numbers = np.array([self._number(cell) for cell in cells], dtype=np.float64)
        if self.log_unit is not None:
            below = numbers < 0
            if below.any():
                raise CatalogError(
                    f"{self.column} is {numbers[below][0]:g}; expected 0 or more, for a logarithm is taken"
                )
            numbers = np.log1p(numbers / self.log_unit)
        scaled = np.clip((numbers - self.center) / self.scale, -FURTHEST, FURTHEST)
        return np.nan_to_num(scaled, nan=0.0)[:, None]

    def _number(self, cell: Any) -> float:
        if cell is None:
            return float("nan")
        if not isinstance(cell, int | float) or not np.isfinite(cell):
            raise CatalogError(f"{self.column} is {short(cell)}; expected a finite number, or nothing")
        return float(cell)


class Category(msgspec.Struct, frozen=True, tag="category"):
    """A column of names: for each of the ``levels`` a feature that is 1 for its items; and one for all others."""

    column: str
    levels: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """``brand=acme`` for each level, and ``brand=other``, also for items without any."""
        return tuple(f"{self.column}={level}" for level in (*self.levels, "other"))

    def values(self, cells: Sequence[Any]) -> FloatArray:
        """The features of items with these values: (items, levels + 1)."""
        place = {level: j for j, level in enumerate(self.levels)}
        made = np.zeros((len(cells), len(self.levels) + 1))
        made[np.arange(len(cells)), [place.get(self._name(cell), len(self.levels)) for cell in cells]] = 1.0
        return made

    def _name(self, cell: Any) -> str:
        if cell is None or isinstance(cell, str | int | float):
            return "" if cell is None else str(cell)
        raise CatalogError(f"{self.column} is {short(cell)}; expected a name, or nothing")


class Embedding(msgspec.Struct, frozen=True, tag="embedding"):
    """A column of vectors: less the mean, turned to their main directions if they were wide, divided by ``scale``."""

    column: str
    center: tuple[float, ...]
    scale: Positive
    directions: tuple[tuple[float, ...], ...] | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """``image_0``, ``image_1``, ..."""
        width = len(self.center) if self.directions is None else len(self.directions)
        return tuple(f"{self.column}_{j}" for j in range(width))

    def values(self, cells: Sequence[Any]) -> FloatArray:
        """The features of items with these vectors: (items, features). No vector counts as the mean."""
        given = np.array([self._vector(cell) for cell in cells]).reshape(len(cells), len(self.center))
        apart = given - np.array(self.center)
        if self.directions is not None:
            apart = apart @ np.array(self.directions).T
        made: FloatArray = apart / self.scale
        return made

    def _vector(self, cell: Any) -> Any:
        if cell is None:
            return self.center
        width = len(self.center)
        if not isinstance(cell, list | tuple | np.ndarray) or len(cell) != width:
            raise CatalogError(f"{self.column} is {short(cell)}; expected a list of {width} numbers, or nothing")
        if not all(isinstance(each, int | float) and np.isfinite(each) for each in cell):
            raise CatalogError(f"{self.column} is {short(cell)}; expected finite numbers only")
        return cell


class Factors(msgspec.Struct, frozen=True, tag="factors"):
    """Features learned from a log. Of an item that is not in the log they are predicted.

    ``weights`` has a row for each other feature and then for each of the ``topics``, and a column for each factor: a
    ridge regression of the factors on both.
    """

    weights: tuple[tuple[float, ...], ...]
    topics: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """``factor_0``, ``factor_1``, ..."""
        return tuple(f"factor_{j}" for j in range(len(self.weights[0])))

    def predicted(self, others: FloatArray, topics: Sequence[Collection[str]]) -> FloatArray:
        """The factors of items with these other features, each of these topics: (items, factors)."""
        membership = np.array([[float(topic in named) for topic in self.topics] for named in topics])
        made: FloatArray = np.hstack([others, membership.reshape(len(others), len(self.topics))]) @ np.array(
            self.weights
        )
        return made


Rule: TypeAlias = Constant | Number | Category | Embedding


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """How the columns of a table become relevance features, and how well an item covers a topic it merely names.

    Attributes
    ----------
    rules : one for each column, in the order of the features.
    weight : what all features are multiplied by, so that those of an item have a length of about 1.
    topics : the coverage of an item that nobody has seen yet, by topic.
    factors : how factors are predicted, if there are any; their features are the last ones.

    >>> recipe = Recipe((Constant(), Number("price", center=20.0, scale=10.0)), weight=0.5)
    >>> recipe.features, recipe.relevance([{"price": 30.0}, {}]).tolist()
    (('constant', 'price'), [[0.5, 0.5], [0.5, 0.0]])
    """

    rules: tuple[Rule, ...]
    weight: Positive = 1.0
    topics: dict[str, Annotated[float, Meta(ge=0, le=1)]] = {}
    factors: Factors | None = None

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of all features."""
        last = () if self.factors is None else self.factors.features
        return (*(name for rule in self.rules for name in rule.features), *last)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table that are used."""
        return tuple(rule.column for rule in self.rules if not isinstance(rule, Constant))

    @cached_property
    def digest(self) -> str:
        """The same for recipes that do the same."""
        return hashlib.blake2b(self.encode(), digest_size=12).hexdigest()

    def encode(self) -> bytes:
        """As JSON, exactly."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes | str) -> Recipe:
        """What :meth:`encode` gave."""
        try:
            return msgspec.json.decode(data, type=Recipe)
        except (msgspec.ValidationError, msgspec.DecodeError) as problem:
            raise CatalogError(f"a recipe of features that this version cannot read: {problem}") from None

    def own(self, columns: Mapping[str, Sequence[Any]], items: int) -> FloatArray:
        """All features but the factors, not yet multiplied by the weight, from whole columns: (items, features)."""
        blocks = [
            np.ones((items, 1)) if isinstance(rule, Constant) else rule.values(columns[rule.column])
            for rule in self.rules
        ]
        return np.hstack([np.empty((items, 0)), *blocks])

    def relevance(
        self, items: Sequence[Mapping[str, Any]], topics: Sequence[Collection[str]] | None = None
    ) -> FloatArray:
        """The features of items that nobody has seen: (items, features).

        Parameters
        ----------
        items : the values of each, by column; a value that is not named counts as nothing.
        topics : those of each; none is of any by default.
        """
        for values in items:
            self._check(values)
        own = self.own({name: [values.get(name) for values in items] for name in self.columns}, len(items))
        if self.factors is not None:
            own = np.hstack([own, self.factors.predicted(own, [()] * len(items) if topics is None else topics)])
        made: FloatArray = own * self.weight
        return made

    def changed(self, relevance: FloatArray, values: Mapping[str, Any]) -> FloatArray:
        """The features of one item after these of its values changed; all others stay, and so do its factors."""
        self._check(values)
        made, start = relevance.copy(), 0
        for rule in self.rules:
            end = start + len(rule.features)
            if not isinstance(rule, Constant) and rule.column in values:
                made[start:end] = rule.values([values[rule.column]])[0] * self.weight
            start = end
        return made

    def _check(self, values: Mapping[str, Any]) -> None:
        unknown = next((name for name in values if name not in self.columns), None)
        if unknown is not None:
            known = ", ".join(self.columns) or "none"
            raise CatalogError(f"there is no column {short(unknown)}; the catalog was built from: {known}")
