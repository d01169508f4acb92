"""Ids of items, and names of their topics and features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from rankfall.errors import CatalogError

Id: TypeAlias = int | str

RELEVANCE = "relevance:"
"""What the names of columns of features begin with in a table."""


def ids_of(values: Iterable[Any], count: int) -> tuple[Id, ...]:
    """The ids of ``count`` items, checked: whole numbers or strings, one kind, each once."""
    ids = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if len(ids) != count:
        raise CatalogError(f"{len(ids)} ids for {count} items; one for each")
    strange = next((v for v in ids if isinstance(v, bool) or not isinstance(v, int | str)), None)
    if strange is not None or None in ids:
        raise CatalogError(f"id {strange!r} is a {type(strange).__name__}; ids are whole numbers or strings")
    if len({type(v) for v in ids}) > 1:
        raise CatalogError("ids must be all whole numbers or all strings, got both")
    if ids and isinstance(ids[0], int) and not all(-(2**63) <= int(v) < 2**63 for v in ids):
        raise CatalogError("whole-number ids must fit in 64 bits")
    if len(set(ids)) < count:
        seen: set[Id] = set()
        twice = next(v for v in ids if v in seen or seen.add(v))  # type: ignore[func-returns-value]
        raise CatalogError(f"id {twice!r} is given to more than one item; ids must be unique")
    return ids


def names_of(what: str, values: Iterable[Any], count: int) -> tuple[str, ...]:
    """As many strings as there are of what they name, checked."""
    if isinstance(values, str):
        raise CatalogError(f"{what} must be a sequence of strings, got the one string {values!r}")
    names = tuple(values)
    if len(names) != count:
        raise CatalogError(f"{len(names)} {what}, expected {count}")
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise CatalogError(f"{what} must be strings, got {strange[0]!r}")
    return names


def unique_names(what: str, values: Iterable[Any] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """Names that differ, as many as there are defaults; the defaults where none are given."""
    names = default if values is None else names_of(what, values, len(default))
    if len(set(names)) < len(names):
        raise CatalogError(f"{what} must have different names, got {list(names)}")
    return names


def numbered(what: str, count: int) -> tuple[str, ...]:
    """Names for what has none.

    >>> numbered("topic", 2)
    ('topic 0', 'topic 1')
    """
    return tuple(f"{what} {j}" for j in range(count))


def feature_columns(features: Sequence[str]) -> list[str]:
    """What columns of features are called in a table: by name, or by number where they have none.

    >>> feature_columns(["log_price", "feature 1"])
    ['relevance:log_price', 'relevance:1']
    """
    default = numbered("feature", len(features))
    return [f"{RELEVANCE}{j if name == default[j] or name.isdecimal() else name}" for j, name in enumerate(features)]
