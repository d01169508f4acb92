"""How PostgreSQL reads: by index, whatever it makes of the parameters, and without compiling statements."""

import re
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from postgres import Cluster

from rankfall.errors import LostEntryError
from rankfall.journal.entries import Encoded
from rankfall.stores import BEGINNING, Mark, Store, open_store
from rankfall.stores.dialect import Row

LISTS = 20_000
FILL = (
    "INSERT INTO events (id, model, owner, created, expires, active, arm, learn, catalog, covered, response, features) "
    f"SELECT n::text, 'm', (n % 500)::text, n, n, 1, 'policy', 1, 1, 1, '', '' FROM generate_series(1, {LISTS}) n",
    "INSERT INTO journal (seq, kind, version, model, owner, event_id, body, at, token) "
    f"SELECT n + 1, 'expired', 1, 'm', (n % 500)::text, n::text, '', n, n::text FROM generate_series(1, {LISTS}) n",
    "ANALYZE",
)


def test_entries_are_read_by_index_however_many_lists_there_are(
    postgres: Cluster, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL plans for all parameters at once after a while: it must not take a third of a table for a row."""
    store = open_store(postgres_url)
    asked: list[str] = []
    try:
        with store.transaction() as tx:
            tx.append(Encoded("reset", 1, "{}", None), "m", 0.0)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for statement in FILL:
                connection.execute(statement)
        first = store.tail(BEGINNING, 1)[0].mark

        def read_many(_: Store, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
            asked.append(sql)
            return [[] for _ in rows]

        monkeypatch.setattr(Store, "read", lambda store, sql, parameters: read_many(store, sql, [parameters])[0])
        monkeypatch.setattr(Store, "read_many", read_many)
        with pytest.raises(LostEntryError, match="not there any more"):
            store.tail(Mark(LISTS, first.token, first.at), 1000)
        store.feedback("m", ["7"], [0], LISTS, 1000)
        store.checkpoints("m", ["7"], 0, LISTS)
        store.event("7")
        store.feedback_on("7")
        store.outcomes_on("7")
    finally:
        store.close()
    assert len(asked) == 6
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        for number, sql in enumerate(asked):
            count = sql.count("?")
            for n in range(1, count + 1):
                sql = sql.replace("?", f"${n}", 1)
            connection.execute(f"PREPARE p{number} AS {sql}".encode())
            nothing = ", ".join(["NULL"] * count)
            plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN EXECUTE p{number}({nothing})".encode()))
            assert not re.search(r"Seq Scan on (journal|events)|Hash|Merge", plan), f"{sql}\n{plan}"


def test_statements_are_not_compiled(postgres: Cluster, postgres_url: str) -> None:
    store = open_store(postgres_url)
    try:
        assert store.read("SHOW jit") == [("off",)]
    finally:
        store.close()
