"""Keeps all connections of a store on one database, and on one timeline of it."""

from __future__ import annotations

import logging

from rankfall.stores.dialect import Connection, Dialect

_log = logging.getLogger("rankfall.stores")


class Timeline:
    """Where the connections of a store lead to.

    After a failover a connection that is made again leads to another timeline, or to another cluster, where the last
    transactions may be missing. A connection that was not cut still leads to the old one, if that is alive. Whoever
    wrote to one and read from the other would never learn what it writes.
    """

    def __init__(self) -> None:
        self.name = ""
        """The one that was reached last; empty if that cannot be told."""

    def connect(self, dialect: Dialect) -> Connection:
        """A new connection; those that lead elsewhere are out of date from here on."""
        connection = dialect.connect()
        if self.name not in ("", connection.timeline):
            extra = {"was": self.name, "is": connection.timeline}
            _log.warning("the address of the store leads to another timeline now", extra=extra)
        self.name = connection.timeline
        return connection

    def holds(self, connection: Connection) -> bool:
        """Whether a connection leads to the one that was reached last."""
        return connection.timeline == self.name
