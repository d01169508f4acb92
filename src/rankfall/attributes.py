"""What is known of items beside features: brand, provider, in stock, published at. Rules of lists look at them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, frozen
from rankfall.errors import CatalogError, short

Value: TypeAlias = str | int | float | bool
Codes: TypeAlias = NDArray[np.int32]

MISSING = -1
"""The code of an item without a value."""
LONGEST_VALUE = 1000
"""Characters of a value that is text."""
_LARGEST_WHOLE = 2**53
_SPARE = 1000
"""How many values may be kept that no item has any more, before they are let go."""


class Attribute:
    """One attribute of all items: a code for each, and the value that each code stands for.

    Two values are alike if they are of one kind (text, number, or true and false) and equal. No value is alike to none.

    >>> Attribute.of("brand", ["Lego", None, "Lego"]).codes
    array([ 0, -1,  0], dtype=int32)
    """

    def __init__(self, codes: Codes, levels: tuple[Value, ...]) -> None:
        self.codes: Codes = frozen(codes)
        self.levels = levels

    @classmethod
    def of(cls, name: str, values: Iterable[Any]) -> Attribute:
        """The attribute with these values, None for none."""
        return _coded(_checked(name, value) for value in values)

    @property
    def values(self) -> tuple[Value | None, ...]:
        """The value of each item."""
        known = (*self.levels, None)  # None is at -1
        return tuple([known[code] for code in self.codes.tolist()])

    @property
    def empty(self) -> bool:
        """Whether no item has a value."""
        return not len(self.codes) or int(self.codes.max()) < 0

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Of which kinds the values are that items have: ``text``, ``number``, ``true or false``."""
        used = np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels)) > 0
        return frozenset(kind_of(level) for level, there in zip(self.levels, used.tolist(), strict=True) if there)

    @cached_property
    def code_of(self) -> Mapping[tuple[bool, Value], int]:
        """Codes by :func:`key_of` values."""
        return {key_of(level): code for code, level in enumerate(self.levels)}

    @cached_property
    def numbers(self) -> FloatArray:
        """What each code's value is as a number: text as a moment in seconds since 1970; NaN where it is none."""
        return frozen(np.array([as_number(level) for level in self.levels], dtype=np.float64))

    def take(self, rows: IntArray) -> Attribute:
        """The attribute of these items."""
        return Attribute(self.codes.take(rows), self.levels)._tidy()

    def with_values(self, rows: IntArray, other: Attribute | None, size: int) -> Attribute:
        """The attribute of ``size`` items, these rows with the values of another one (None: with none)."""
        codes = np.full(size, MISSING, dtype=np.int32)
        codes[: len(self.codes)] = self.codes
        if other is None:
            codes[rows] = MISSING
            return Attribute(codes, self.levels)._tidy()
        known, levels = dict(self.code_of), list(self.levels)
        for level in other.levels:
            if known.setdefault(key_of(level), len(levels)) == len(levels):
                levels.append(level)
        mapped = np.array([*(known[key_of(level)] for level in other.levels), MISSING], dtype=np.int32)
        codes[rows] = mapped[other.codes]
        return Attribute(codes, tuple(levels))._tidy()

    def _tidy(self) -> Attribute:
        """The same without values that nobody has any more, where they have become many."""
        return self if len(self.levels) <= len(self.codes) + _SPARE else _coded(self.values)


class StoredAttributes(NamedTuple):
    """Attributes as they are written beside a catalog: values by name, and codes (attributes, items)."""

    levels: dict[str, list[Value]]
    codes: Codes


class Attributes(Mapping[str, tuple[Value | None, ...]]):
    """The attributes of the items of a catalog: for each name the value of every item. They never change.

    An attribute that no item has a value of is not there.

    >>> attributes = Attributes.of({"brand": ["Lego", None], "in_stock": [True, False]}, 2)
    >>> attributes["brand"], attributes.of_row(1)
    (('Lego', None), {'in_stock': False})
    """

    def __init__(self, columns: Mapping[str, Attribute], size: int) -> None:
        self._columns = {name: column for name, column in columns.items() if not column.empty}
        self._size = size

    @classmethod
    def of(cls, given: Mapping[str, Iterable[Any]] | None, size: int) -> Attributes:
        """Attributes of so many items, checked."""
        if given is None:
            return cls({}, size)
        if not isinstance(given, Mapping):
            raise CatalogError(f"attributes must map names to values, one for each item; got {type(given).__name__}")
        columns = {}
        for name, values in given.items():
            check_name(name)
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise CatalogError(f"attribute {short(name)} must have one value for each item, got {short(values)}")
            column = Attribute.of(name, values)
            if len(column.codes) != size:
                raise CatalogError(f"attribute {short(name)} has {len(column.codes)} values for {size} items")
            columns[name] = column
        return cls(columns, size)

    def __getitem__(self, name: str) -> tuple[Value | None, ...]:
        return self._columns[name].values

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Attributes({', '.join(self) or 'none'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attributes):
            return NotImplemented
        return self.keys() == other.keys() and all(
            [None if one is None else key_of(one) for one in self[name]]
            == [None if one is None else key_of(one) for one in other[name]]
            for name in self
        )

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> Attribute:
        """One attribute; one without values, if no item has it."""
        found = self._columns.get(name)
        return Attribute(np.full(self._size, MISSING, dtype=np.int32), ()) if found is None else found

    def of_row(self, row: int) -> dict[str, Value]:
        """What is known of one item."""
        coded = {name: (column, int(column.codes[row])) for name, column in self._columns.items()}
        return {name: column.levels[code] for name, (column, code) in coded.items() if code >= 0}

    def take(self, rows: IntArray) -> Attributes:
        """The attributes of these items."""
        return Attributes({name: column.take(rows) for name, column in self._columns.items()}, len(rows))

    def with_values(self, rows: IntArray, items: Attributes, size: int) -> Attributes:
        """The attributes of ``size`` items, these rows with those of others: what they do not have is missing."""
        if not self._columns and not items._columns:
            return Attributes({}, size)
        names = dict.fromkeys([*self, *items])
        return Attributes(
            {name: self.column(name).with_values(rows, items._columns.get(name), size) for name in names}, size
        )

    def stored(self) -> StoredAttributes:
        """What :meth:`restored` takes."""
        codes = [column.codes for column in self._columns.values()]
        levels = {name: list(column.levels) for name, column in self._columns.items()}
        return StoredAttributes(levels, np.array(codes, dtype=np.int32).reshape(len(codes), self._size))

    @classmethod
    def restored(cls, levels: Mapping[str, Sequence[Value]], codes: Codes) -> Attributes:
        """The attributes that were stored."""
        columns = {
            name: Attribute(np.array(codes[i]), tuple(levels[name])) for i, name in enumerate(levels)
        }  # fmt: skip
        return cls(columns, codes.shape[1])


def attributes_of_rows(items: Sequence[Mapping[str, Value]]) -> Attributes:
    """Attributes from those of one item after the other, which were checked before.

    >>> attributes_of_rows([{"brand": "Lego"}, {}])["brand"]
    ('Lego', None)
    """
    names = dict.fromkeys(name for item in items for name in item)
    return Attributes({name: _coded(item.get(name) for item in items) for name in names}, len(items))


def checked_attributes(given: Mapping[str, Any]) -> dict[str, Value]:
    """The attributes of one item, checked; those that are None are left out."""
    for name in given:
        check_name(name)
    checked = {name: _checked(name, value) for name, value in given.items()}
    return {name: value for name, value in checked.items() if value is not None}


def _coded(values: Iterable[Value | None]) -> Attribute:
    codes: dict[tuple[bool, Value], int] = {}
    coded = [MISSING if value is None else codes.setdefault(key_of(value), len(codes)) for value in values]
    return Attribute(np.array(coded, dtype=np.int32), tuple(value for _, value in codes))


def key_of(value: Value) -> tuple[bool, Value]:
    """What tells values apart: 1 is 1.0, and not True.

    >>> key_of(1) == key_of(1.0), key_of(1) == key_of(True)
    (True, False)
    """
    return isinstance(value, bool), value


def kind_of(value: Value) -> str:
    """Which kind of value it is, in words.

    >>> kind_of(True), kind_of(3), kind_of("Lego")
    ('true or false', 'number', 'text')
    """
    if isinstance(value, bool):
        return "true or false"
    return "text" if isinstance(value, str) else "number"


def as_number(value: Value) -> float:
    """A number as it is, text as a moment in seconds since 1970 (UTC, if it does not say); NaN for what is neither.

    >>> as_number("1970-01-02"), as_number("1970-01-01T00:00:01Z"), as_number(2), as_number("Lego")
    (86400.0, 1.0, 2.0, nan)
    """
    if isinstance(value, bool):
        return math.nan
    if not isinstance(value, str):
        return float(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def check_name(name: Any) -> None:
    """Raise unless an attribute can have this name."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise CatalogError(f"the name of an attribute must be text of 1 to 200 printable characters, got {short(name)}")


def _checked(name: str, value: Any) -> Value | None:
    """A value as it is kept: moments as text, and numbers of NumPy as Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime):
        value = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")
    elif isinstance(value, date):
        value = value.isoformat()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE or not value.isprintable():
            raise CatalogError(
                f"attribute {short(name)} must be printable text of at most {LONGEST_VALUE} characters, "
                f"got {short(value)}"
            )
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST_WHOLE:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise CatalogError(
        f"attribute {short(name)} must be text, a finite number, true or false, or None where an item has none; "
        f"got {short(value)}"
    )
