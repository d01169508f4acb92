"""Stores that earlier versions made, ready to be opened; see ``make_store.py`` beside them in ``tests/fixtures``."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

FOLDER = Path(__file__).parents[1] / "fixtures" / "0.1.0"
SCHEMA_2 = FOLDER.with_name("schema-2")


def unpack_store(place: str, made: Path = FOLDER) -> dict[str, Any]:
    """Put the store in a folder at a place that is empty; what those who made it knew of it."""
    if place.startswith("postgresql://"):
        script = gzip.decompress((made / "store.sql.gz").read_bytes())
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(script)  # type: ignore[call-overload]
        return dict(json.loads((made / "postgresql.json").read_text()))
    folder = Path(place)
    folder.mkdir(parents=True)
    (folder / "rankfall.sqlite").write_bytes(gzip.decompress((made / "store.sqlite.gz").read_bytes()))
    return dict(json.loads((made / "sqlite.json").read_text()))


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


def expected_states(when: str, file: Path = FOLDER / "states.npz") -> dict[tuple[str, str], dict[str, bytes]]:
    """The state of each (model, owner), array by array, as it was ``before`` or ``after`` the feedback."""
    found: dict[tuple[str, str], dict[str, bytes]] = {}
    with np.load(file) as archive:
        for name in archive.files:
            stage, model, owner, array = name.split("/")
            if stage == when:
                found.setdefault((model, owner), {})[array] = archive[name].tobytes()
    return found
