"""The stores that Rankfall 0.1.0 made, ready to be opened; see ``tests/fixtures/0.1.0/make_store.py``."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

FOLDER = Path(__file__).parents[1] / "fixtures" / "0.1.0"


def unpack_store(place: str) -> dict[str, Any]:
    """Put the store of 0.1.0 at a place that is empty; what 0.1.0 knew of it."""
    if place.startswith("postgresql://"):
        script = gzip.decompress((FOLDER / "store.sql.gz").read_bytes())
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(script)  # type: ignore[call-overload]
            connection.execute("SET search_path TO public")
            (newest,) = connection.execute("SELECT max(xid) FROM journal").fetchone() or (0,)
            while connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone() <= (newest,):
                pass  # the entries must be of transactions that this cluster could have made
        return dict(json.loads((FOLDER / "postgresql.json").read_text()))
    folder = Path(place)
    folder.mkdir(parents=True)
    (folder / "rankfall.sqlite").write_bytes(gzip.decompress((FOLDER / "store.sqlite.gz").read_bytes()))
    return dict(json.loads((FOLDER / "sqlite.json").read_text()))


def execute(place: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement on a store from outside."""
    if place.startswith("postgresql://"):
        with psycopg.connect(place, autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []
    connection = sqlite3.connect(Path(place) / "rankfall.sqlite")
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()


def expected_states(when: str) -> dict[tuple[str, str], dict[str, bytes]]:
    """The state of each (model, owner), array by array, as 0.1.0 had it ``before`` or ``after`` the feedback."""
    found: dict[tuple[str, str], dict[str, bytes]] = {}
    with np.load(FOLDER / "states.npz") as archive:
        for name in archive.files:
            stage, model, owner, array = name.split("/")
            if stage == when:
                found.setdefault((model, owner), {})[array] = archive[name].tobytes()
    return found
