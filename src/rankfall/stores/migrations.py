"""The tables, and the steps that bring those of an older version up to date.

The version of the schema is in the table ``notes``. A store without it is new, or was made by Rankfall 0.1.0, which did
not write it down: the first step makes tables where there are none, so both are at version 1 after it. To change a
table, add a step at the end; the steps before it never change. All steps that a start needs run in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from rankfall.errors import OldStoreError, StoreError
from rankfall.stores.renumbering import renumber
from rankfall.stores.schema import Run, Types

NOTE = "schema"
"""Where the version is noted."""


def _tables(run: Run, t: Types) -> None:
    """The tables of Rankfall 0.1.0."""
    for statement in (
        "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        f"""CREATE TABLE IF NOT EXISTS events (
            id TEXT PRIMARY KEY, model TEXT NOT NULL, key TEXT NOT NULL, user_id TEXT, segment TEXT,
            request_id TEXT, digest TEXT, created {t.real} NOT NULL, expires {t.real} NOT NULL,
            active SMALLINT NOT NULL, arm TEXT NOT NULL,
            learn SMALLINT NOT NULL, propensity {t.real}, catalog {t.big} NOT NULL,
            covered INTEGER NOT NULL, request TEXT, answer TEXT NOT NULL, features {t.blob},
            UNIQUE (model, request_id))""",
        "CREATE INDEX IF NOT EXISTS events_expires ON events (expires)",
        "CREATE INDEX IF NOT EXISTS events_user ON events (user_id) WHERE user_id IS NOT NULL",
        f"""CREATE TABLE IF NOT EXISTS journal (
            seq {t.seq}, xid {t.xid}, kind TEXT NOT NULL, model TEXT NOT NULL, key TEXT NOT NULL, event_id TEXT UNIQUE,
            body TEXT NOT NULL, blob {t.blob}, at {t.real} NOT NULL, token TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS journal_key ON journal (model, key, xid, seq)",
        f"""CREATE TABLE IF NOT EXISTS checkpoints (
            model TEXT NOT NULL, key TEXT NOT NULL, xid {t.big} NOT NULL, seq {t.big} NOT NULL, state {t.blob} NOT NULL,
            PRIMARY KEY (model, key, xid, seq))""",
        f"""CREATE TABLE IF NOT EXISTS snapshots (
            id TEXT PRIMARY KEY, model TEXT NOT NULL, name TEXT NOT NULL, xid {t.big} NOT NULL, seq {t.big} NOT NULL,
            at {t.real} NOT NULL)""",
        *t.more,
    ):
        run(statement)


def _versions_and_owners(run: Run, _types: Types) -> None:
    """Entries have a version, and columns the names of the glossary.

    A server of 0.1.0 that still runs fails from here on, instead of reading entries it does not understand.
    """
    for statement in (
        "ALTER TABLE journal ADD COLUMN version INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE journal RENAME COLUMN key TO owner",
        "ALTER TABLE events RENAME COLUMN key TO owner",
        "ALTER TABLE checkpoints RENAME COLUMN key TO owner",
        "ALTER TABLE events RENAME COLUMN answer TO response",
    ):
        run(statement)


def _marked_checkpoints(run: Run, t: Types) -> None:
    """Checkpoints say which entry they are of: not only its number, which a store that went back gives again."""
    run("ALTER TABLE checkpoints RENAME TO old_checkpoints")
    run(
        f"CREATE TABLE checkpoints (model TEXT NOT NULL, owner TEXT NOT NULL, seq {t.big} NOT NULL, "
        f"token TEXT NOT NULL, at {t.real} NOT NULL, state {t.blob} NOT NULL, PRIMARY KEY (model, owner, seq))"
    )
    run(
        "INSERT INTO checkpoints (model, owner, seq, token, at, state) "
        "SELECT c.model, c.owner, c.seq, j.token, j.at, c.state FROM old_checkpoints c JOIN journal j ON j.seq = c.seq"
    )
    run("DROP TABLE old_checkpoints")


def _heartbeat(run: Run, t: Types) -> None:
    """The heartbeat of the servers, and for each list how much of the time before it was in gaps."""
    for statement in (
        f"CREATE TABLE heartbeat (id SMALLINT PRIMARY KEY, at {t.real} NOT NULL, gaps {t.real} NOT NULL)",
        f"INSERT INTO heartbeat SELECT 1, CAST(value AS {t.real}), 0 FROM notes WHERE name = 'swept'",
        f"ALTER TABLE events ADD COLUMN gaps {t.real} NOT NULL DEFAULT 0",
        "DROP INDEX events_expires",
        "CREATE INDEX events_wait ON events ((expires - gaps))",
    ):
        run(statement)


def _lists_left_behind(run: Run, _types: Types) -> None:
    """Find lists of users who were forgotten while they were being stored: they have an owner, and no user."""
    run("CREATE INDEX events_left_behind ON events (model, owner) WHERE user_id IS NULL AND owner <> ''")


def _outcomes(run: Run, _types: Types) -> None:
    """Entries on what came of a list later: many for one list, each once by its key.

    They do not use ``event_id``, which is there once for each list: servers of earlier versions rely on that, and go on
    taking feedback.
    """
    for statement in (
        "ALTER TABLE journal ADD COLUMN outcome_of TEXT",
        "ALTER TABLE journal ADD COLUMN outcome_key TEXT",
        "CREATE UNIQUE INDEX journal_outcome ON journal (outcome_of, outcome_key) WHERE outcome_of IS NOT NULL",
    ):
        run(statement)


NO_STORE = "this database holds no store of Rankfall; rankfall serve --catalog FILE makes one"
STEPS: tuple[Callable[[Run, Types], None], ...] = (
    _tables,
    _versions_and_owners,
    renumber,
    _marked_checkpoints,
    _heartbeat,
    _lists_left_behind,
    _outcomes,
)
"""What each version adds to the one before; the first makes version 1."""


def noted_version(run: Run, types: Types) -> int:
    """The version of the tables that was noted, 0 for none; raises if they are newer than this program."""
    noted = run(f"SELECT value FROM notes WHERE name = '{NOTE}'") if run(types.there) else []
    version = int(noted[0][0]) if noted else 0  # 0.1.0 made version 1 and did not say so; making it again does nothing
    if version > len(STEPS):
        raise StoreError(
            f"the store has schema version {version}, which a newer Rankfall made; this one reads up to version "
            f"{len(STEPS)}. Upgrade this program"
        )
    return version


def check_version(run: Run, types: Types) -> None:
    """Raise if there are no tables, or not those of this version."""
    if not run(types.there):
        raise StoreError(NO_STORE)
    version = noted_version(run, types)
    if version < len(STEPS):
        raise OldStoreError("an older Rankfall made this store; open it once where it can be written: rankfall serve")


def migrate(run: Run, types: Types) -> int:
    """Bring the tables up to date inside the transaction of ``run``; the version that was noted, 0 for none.

    Raises StoreError if they are newer than this program.
    """
    version = noted_version(run, types)
    for step in STEPS[version:]:
        step(run, types)
    if version < len(STEPS):
        run(
            f"INSERT INTO notes (name, value) VALUES ('{NOTE}', '{len(STEPS)}') "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
    return version
