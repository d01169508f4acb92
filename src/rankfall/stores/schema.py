"""What the steps of a migration are given: a way to run statements, and what the database calls its types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement, with parameters if there are any, and gives its rows."""


@dataclass(frozen=True)
class Types:
    """What the databases call a few types of columns, and how they say whether a store is there."""

    seq: str  # numbers entries in the order in which they are written
    xid: str  # the transaction of an entry, up to schema version 2
    blob: str
    real: str
    big: str
    there: str  # a statement that gives a row if there are tables
    more: tuple[str, ...] = ()  # statements that only one of the databases needs to make the tables
    numbered_by_us: tuple[str, ...] = ()  # statements after which the database numbers entries no longer
