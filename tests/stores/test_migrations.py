"""Stores of earlier versions open with the same bits and go on; those of a newer version are refused."""

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from engines import FakeClock, Quiet, arrays, open_engine
from zero_one_zero import FOLDER, SCHEMA_2, execute, expected_states, unpack_store

from rankfall.errors import StoreError
from rankfall.journal.entries import Encoded, ModelRestored, decode
from rankfall.stores import open_store
from rankfall.stores.migrations import STEPS
from rankfall.stores.postgres import TIMEOUTS
from rankfall.stores.schema import Run, Types

States = dict[tuple[str, str], dict[str, bytes]]


def states(engine: Quiet, owners: Iterable[tuple[str, str]]) -> States:
    return {(model, owner): arrays(engine, model, owner) for model, owner in owners}


def lists(engine: Quiet, owners: Iterable[tuple[str, str]]) -> dict[str, list[Any]]:
    """What each owner would be shown: ids and scores."""
    found = {}
    for model, owner in owners:
        ranking = engine.view_now(model, owner).policy.rank(5)
        found[f"{model}/{owner}"] = [list(ranking.ids), [float(score).hex() for score in ranking.scores]]
    return found


@pytest.mark.parametrize("checkpoints", ["kept", "deleted"])
@pytest.mark.parametrize("made", [FOLDER, SCHEMA_2], ids=["0.1.0", "schema 2"])
def test_a_store_of_an_earlier_version_opens_with_equal_bits_and_goes_on(
    place: str, made: Path, checkpoints: str
) -> None:
    about = unpack_store(place, made)
    kind = "postgresql" if place.startswith("postgresql") else "sqlite"
    file = made / ("states.npz" if made == FOLDER else f"{kind}.npz")
    before, after = expected_states("before", file), expected_states("after", file)
    if checkpoints == "deleted":
        execute(place, "DELETE FROM checkpoints")
    clock = FakeClock(about["now"] + 1)
    engine = open_engine(place, clock)
    try:
        assert list(engine.catalog.ids) == about["catalog"]
        assert states(engine, before) == before
        assert lists(engine, before) == about["before"]["lists"]
        for event, clicked in about["feedback"]:
            assert [one.result for one in engine.feed_now((event, clicked))] == ["accepted"]
        assert states(engine, before) == after
        assert lists(engine, before) == about["after"]["lists"]
        if checkpoints == "kept":  # without them what a forgotten user did is not counted any more
            counts = {name: model.history.counts.plain() for name, model in engine.state.models.items()}
            assert json.loads(json.dumps(counts)) == about["after"]["counts"]
    finally:
        engine.stop()
    again = open_engine(place, clock)
    try:
        assert states(again, before) == after
    finally:
        again.crash()


def test_what_holds_a_position_is_renumbered_with_the_entries(place: str) -> None:
    """In this store of PostgreSQL the order of rows is another one than that of transactions."""
    about = unpack_store(place, SCHEMA_2)
    at_restore = execute(place, "SELECT body FROM journal WHERE kind = 'restore' ORDER BY seq")
    in_order = execute(place, "SELECT token, at, kind, model, event_id FROM journal ORDER BY xid, seq")
    store = open_store(place)
    try:
        assert execute(place, "SELECT token, at, kind, model, event_id FROM journal ORDER BY seq") == in_order
        places = {entry.position: n for n, entry in enumerate(e for e in store.decisions() if e.kind == "catalog")}
        pages = store.events_with_feedback()
        assert {event.id: places[event.catalog] for event, _ in pages} == about["catalogs"]
        snapshots = {one.id: one.position for name in ("fading", "own") for one in store.snapshots(name)}
        restores = [decode(e.kind, e.version, e.body) for e in store.decisions() if e.kind == "restore"]
        assert len(restores) == len(at_restore) == 2
        assert [ModelRestored(snapshots[one.snapshot], one.snapshot) for one in restores] == restores  # type: ignore[union-attr]
        with store.transaction() as tx:
            assert tx.append(Encoded("reset", 1, "{}", None), "own", 0.0) == store.end() + 1
    finally:
        store.close()


def test_a_store_is_migrated_once_and_whole(place: str) -> None:
    unpack_store(place)
    open_store(place).close()
    assert execute(place, "SELECT value FROM notes WHERE name = 'schema'") == [(str(len(STEPS)),)]
    assert execute(place, "SELECT DISTINCT version FROM journal WHERE kind <> 'restore'") == [(1,)]
    before = execute(place, "SELECT * FROM journal ORDER BY seq")
    open_store(place).close()
    assert execute(place, "SELECT * FROM journal ORDER BY seq") == before


def test_a_migration_that_fails_leaves_the_store_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack_store(place)
    broken = (*STEPS, lambda run, _types: run("ALTER TABLE journal RENAME COLUMN nothing TO something"))
    with monkeypatch.context() as patched:
        patched.setattr("rankfall.stores.migrations.STEPS", broken)
        with pytest.raises(StoreError, match="nothing"):
            open_store(place)
    assert execute(place, "SELECT count(key) FROM journal")[0][0] > 100  # the columns of 0.1.0
    open_store(place).close()
    assert execute(place, "SELECT count(owner) FROM journal")[0][0] > 100


def test_a_migration_may_take_long(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL does not end it while it waits, while a statement runs, or while Python works on what was read."""
    found = {}

    def look(run: Run, _types: Types) -> None:
        for name in TIMEOUTS:
            found[name] = run(f"SHOW {name}")[0][0]

    monkeypatch.setattr("rankfall.stores.migrations.STEPS", (*STEPS, look))
    with closing(open_store(postgres_url)) as store:
        assert found == {
            "lock_timeout": "0",
            "statement_timeout": "0",
            "idle_in_transaction_session_timeout": "10min",
        }
        assert {name: store.read(f"SHOW {name}")[0][0] for name in TIMEOUTS} == {
            "lock_timeout": "4s",
            "statement_timeout": "1min",
            "idle_in_transaction_session_timeout": "2s",
        }


def test_a_store_of_a_newer_version_is_refused(place: str) -> None:
    open_store(place).close()
    execute(place, f"UPDATE notes SET value = '{len(STEPS) + 1}' WHERE name = 'schema'")
    with pytest.raises(StoreError, match=rf"schema version {len(STEPS) + 1}, which a newer Rankfall made"):
        open_store(place)
