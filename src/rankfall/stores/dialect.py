"""Where SQLite and PostgreSQL are alike, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from rankfall.stores.schema import Types

Row: TypeAlias = tuple[Any, ...]


class Connection(Protocol):
    """What the two databases have in common, as far as it is needed here. Statements mark parameters by ``?``."""

    timeline: str
    """Which database it leads to, and which of its timelines; empty if that cannot be told."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement; the rows it gives, if any."""
        ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """Run a statement once for each row, in order; what each run gave."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


@dataclass(frozen=True)
class Dialect:
    """What the two databases do not have in common."""

    name: str
    connect: Callable[[], Connection]
    types: Types
    begin: str
    gathered: str  # the rows of a query, each with the values {}, as one JSON text; NULL or empty where there are none
    patient: tuple[str, ...] = ()  # for one transaction: wait for others, and work, as long as it takes
    scrub: Callable[[Connection], bool] = lambda _: True  # leaves nothing of deleted rows beside the tables, if it can
    compact: str = ""  # rewrites the file; a database server has its own ways
    storing: str = ""  # no user is forgotten until this transaction ends
    forgetting: str = ""  # waits for those who store lists, and makes them wait until this transaction ends
    exclusive: str = ""  # waits for other transactions that ask for it, and makes them wait until this one ends
    time: str = ""  # seconds since 1970 by the clock of the database, if it has one of its own
    appending: str = ""  # the same for transactions that append to the journal: so numbers are in the order of commits
