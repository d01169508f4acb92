"""Tables of words, numbers, lists and further tables, as TOML has them, that never change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rankfall.errors import ProblemError


class FrozenTable(Mapping[str, Any]):
    """A mapping that never changes, can be compared, hashed and sent to another process.

    >>> table = FrozenTable({"clicks": "cascade", "generate": {"items": 30, "seed": [1, 2]}})
    >>> table["generate"]["seed"], table == FrozenTable(table)
    ((1, 2), True)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = {_name(name): freeze(value) for name, value in (values or {}).items()}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(canonical(self))

    def __repr__(self) -> str:
        return f"FrozenTable({thaw(self)!r})"


def freeze(value: Any) -> Any:
    """A value of TOML as one that never changes: tables become :class:`FrozenTable`, lists become tuples.

    >>> freeze([1, [2.5, "a"]])
    (1, (2.5, 'a'))
    >>> freeze({1, 2})
    Traceback (most recent call last):
    rankfall.errors.ProblemError: {1, 2} cannot stand in a study; it takes text, numbers, true, false, lists and tables
    """
    if isinstance(value, Mapping):
        return value if isinstance(value, FrozenTable) else FrozenTable(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    if isinstance(value, np.ndarray | np.generic):
        return freeze(value.tolist())
    if isinstance(value, str | bool | int | float):
        return value
    raise ProblemError(f"{value!r} cannot stand in a study; it takes text, numbers, true, false, lists and tables")


def thaw(value: Any) -> Any:
    """The same as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {name: thaw(item) for name, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, tuple) else value


def canonical(value: Any) -> str:
    """One text for equal values: names in order, and 1.0 written as 1.

    >>> canonical({"b": 1.0, "a": (True, "x")})
    '{"a": [true, "x"], "b": 1}'
    """
    return json.dumps(_plain(value), sort_keys=True)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> FrozenTable:
    """Both tables as one; where both have a name, ``above`` wins, and two tables are merged in turn.

    >>> merged({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"x": 5}, "c": 2})
    FrozenTable({'a': {'x': 5, 'y': 2}, 'b': 1, 'c': 2})
    """
    result = dict(below)
    for name, value in above.items():
        both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = merged(result[name], value) if both else value
    return FrozenTable(result)


def nested(path: str, value: Any) -> dict[str, Any]:
    """A table with one value at the end of a path.

    >>> nested("user.generate.items", 30)
    {'user': {'generate': {'items': 30}}}
    """
    for name in reversed(path.split(".")):
        value = {name: value}
    return value  # type: ignore[no-any-return]


def leaves(table: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, Any]]:
    """Every value that is not a table, with its path.

    >>> list(leaves({"k": 5, "user": {"generate": {"items": 30}}}))
    [('k', 5), ('user.generate.items', 30)]
    """
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise ProblemError(f"the name {name!r} cannot stand in a study; names are text")
    return name


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
