"""Stores of version 0.1.0 open with the same bits and go on; those of a newer version are refused."""

import json
from typing import Any

import pytest
from engines import FakeClock, Quiet, arrays, open_engine
from zero_one_zero import execute, expected_states, unpack_store

from rankfall.errors import StoreError
from rankfall.stores import open_store
from rankfall.stores.migrations import STEPS


def states(engine: Quiet) -> dict[tuple[str, str], dict[str, bytes]]:
    return {(model, owner): arrays(engine, model, owner) for model, owner in expected_states("before")}


def lists(engine: Quiet) -> dict[str, list[Any]]:
    """What each owner would be shown: ids and scores."""
    found = {}
    for model, owner in expected_states("before"):
        ranking = engine.view_now(model, owner).policy.rank(5)
        found[f"{model}/{owner}"] = [list(ranking.ids), [float(score).hex() for score in ranking.scores]]
    return found


@pytest.mark.parametrize("checkpoints", ["kept", "deleted"])
def test_a_store_of_0_1_0_opens_with_equal_bits_and_goes_on(place: str, checkpoints: str) -> None:
    about = unpack_store(place)
    if checkpoints == "deleted":
        execute(place, "DELETE FROM checkpoints")
    clock = FakeClock(about["now"] + 1)
    engine = open_engine(place, clock)
    try:
        assert list(engine.catalog.ids) == about["catalog"]
        assert states(engine) == expected_states("before")
        assert lists(engine) == about["before"]["lists"]
        for event, clicked in about["feedback"]:
            assert [one.result for one in engine.feed_now((event, clicked))] == ["accepted"]
        assert states(engine) == expected_states("after")
        assert lists(engine) == about["after"]["lists"]
        if checkpoints == "kept":  # without them what a forgotten user did is not counted any more
            counts = {name: model.history.counts.plain() for name, model in engine.state.models.items()}
            assert json.loads(json.dumps(counts)) == about["after"]["counts"]
    finally:
        engine.stop()
    again = open_engine(place, clock)
    try:
        assert states(again) == expected_states("after")
    finally:
        again.crash()


def test_a_store_is_migrated_once_and_whole(place: str) -> None:
    unpack_store(place)
    open_store(place).close()
    assert execute(place, "SELECT value FROM notes WHERE name = 'schema'") == [(str(len(STEPS)),)]
    assert execute(place, "SELECT DISTINCT version FROM journal") == [(1,)]
    before = execute(place, "SELECT * FROM journal ORDER BY seq")
    open_store(place).close()
    assert execute(place, "SELECT * FROM journal ORDER BY seq") == before


def test_a_migration_that_fails_leaves_the_store_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack_store(place)
    broken = (*STEPS, lambda _types: ["ALTER TABLE journal RENAME COLUMN nothing TO something"])
    with monkeypatch.context() as patched:
        patched.setattr("rankfall.stores.migrations.STEPS", broken)
        with pytest.raises(StoreError, match="nothing"):
            open_store(place)
    assert execute(place, "SELECT count(key) FROM journal")[0][0] > 100  # the columns of 0.1.0
    open_store(place).close()
    assert execute(place, "SELECT count(owner) FROM journal")[0][0] > 100


def test_a_store_of_a_newer_version_is_refused(place: str) -> None:
    open_store(place).close()
    execute(place, f"UPDATE notes SET value = '{len(STEPS) + 1}' WHERE name = 'schema'")
    with pytest.raises(StoreError, match=rf"schema version {len(STEPS) + 1}, which a newer Rankfall made"):
        open_store(place)
