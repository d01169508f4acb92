"""The step to positions of one number.

Up to schema version 2 a position had two numbers: the transaction of the entry (``xid``; always 0 in SQLite) and the
number of its row (``seq``). Entries are now numbered in the order of commits. The rows of a journal keep the numbers
that there are, dealt out again in the order in which the entries were folded so far; in a store of one server nearly
all stay. Whatever holds a position is changed with it: checkpoints, snapshots, restores, and the catalog version of
events. A position whose entry is gone, as its user was forgotten, becomes that of the entry before it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rankfall.array_container import pack, unpack
from rankfall.stores.schema import Run, Types

_RENUMBERED = """
CREATE TEMPORARY TABLE renumbered AS
WITH folded AS (SELECT xid, seq, row_number() OVER (ORDER BY xid, seq) AS place FROM journal),
     numbers AS (SELECT seq, row_number() OVER (ORDER BY seq) AS place FROM journal)
SELECT folded.xid AS xid, folded.seq AS old, numbers.seq AS new FROM folded JOIN numbers ON folded.place = numbers.place
"""
_NEWEST_UP_TO = "SELECT new FROM renumbered WHERE (xid, old) <= ({}, {}) ORDER BY xid DESC, old DESC LIMIT 1"


def renumber(run: Run, types: Types) -> None:
    """Give every position one number, inside the transaction of ``run``."""
    for statement in (*types.numbered_by_us, _RENUMBERED, "CREATE INDEX renumbered_order ON renumbered (xid, old)"):
        run(statement)
    _restores(run)
    _entries(run)
    _snapshots(run)
    _checkpoints(run, types)
    run("DROP TABLE renumbered")


def _position(run: Run, old: tuple[int, int]) -> int:
    rows = run(_NEWEST_UP_TO.format("?", "?"), old)
    return int(rows[0][0]) if rows else 0


def _restores(run: Run) -> None:
    """Version 2 of these entries has one number."""
    for seq, body in run("SELECT seq, body FROM journal WHERE kind = 'restore' AND version = 1"):
        record = msgspec.json.decode(body)
        record["source"] = _position(run, record["source"])
        run("UPDATE journal SET body = ?, version = 2 WHERE seq = ?", (msgspec.json.encode(record).decode(), seq))


def _entries(run: Run) -> None:
    run("DROP INDEX journal_key")
    for statement in (
        "UPDATE events SET catalog = m.new FROM renumbered m WHERE events.catalog = m.old AND m.old <> m.new",
        "UPDATE journal SET seq = -m.new FROM renumbered m WHERE journal.seq = m.old AND m.old <> m.new",
        "UPDATE journal SET seq = -seq WHERE seq < 0",  # in two steps, as a number may stand once at any time
        "DROP INDEX IF EXISTS journal_order",
        "ALTER TABLE journal DROP COLUMN xid",
        "CREATE INDEX journal_key ON journal (model, owner, seq)",
    ):
        run(statement)


def _snapshots(run: Run) -> None:
    run(f"UPDATE snapshots SET seq = coalesce(({_NEWEST_UP_TO.format('snapshots.xid', 'snapshots.seq')}), 0)")
    run("ALTER TABLE snapshots DROP COLUMN xid")


def _checkpoints(run: Run, types: Types) -> None:
    run("ALTER TABLE checkpoints RENAME TO old_checkpoints")
    run(
        f"CREATE TABLE checkpoints (model TEXT NOT NULL, owner TEXT NOT NULL, seq {types.big} NOT NULL, "
        f"state {types.blob} NOT NULL, PRIMARY KEY (model, owner, seq))"
    )
    run(
        "INSERT INTO checkpoints (model, owner, seq, state) "
        f"SELECT model, owner, coalesce(({_NEWEST_UP_TO.format('c.xid', 'c.seq')}), 0), state "
        "FROM old_checkpoints c WHERE TRUE ORDER BY c.xid DESC, c.seq DESC ON CONFLICT DO NOTHING"
    )
    run("DROP TABLE old_checkpoints")
    for seq, state in run("SELECT seq, state FROM checkpoints WHERE model = '' AND owner = 'engine'"):
        try:
            changed = _knowledge(run, bytes(state))
        except (ValueError, KeyError, TypeError):  # it could not be read before either; the journal is folded instead
            run("DELETE FROM checkpoints WHERE model = '' AND owner = 'engine' AND seq = ?", (seq,))
        else:
            run("UPDATE checkpoints SET state = ? WHERE model = '' AND owner = 'engine' AND seq = ?", (changed, seq))


def _knowledge(run: Run, state: bytes) -> bytes:
    """The checkpoint of everything but the states of owners, in version 3 of its form, and in today's words."""
    header, arrays = unpack(state)
    header["version"] = 3
    catalog = run("SELECT new FROM renumbered WHERE old = ?", (header["catalog"],))
    header["catalog"] = catalog[0][0] if catalog else header["catalog"]
    header["models"] = {name: _model(run, plain) for name, plain in header["models"].items()}
    return pack(header, arrays)


def _model(run: Run, plain: dict[str, Any]) -> dict[str, Any]:
    words = {"turns": "epochs", "tally": "counts"}  # on the left what 0.1.0 called them
    plain = {words.get(name, name): value for name, value in plain.items()}
    plain["epochs"] = [
        (_position(run, at), None if source is None else _position(run, source)) for at, source in plain["epochs"]
    ]
    return plain
