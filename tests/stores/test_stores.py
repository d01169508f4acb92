"""The store keeps what it is given, exactly; over SQLite and PostgreSQL alike."""

import pytest
from msgspec.structs import replace
from stored import EVENT, feedback, reset

from rankfall.errors import LostEntryError
from rankfall.journal.entries import Encoded, FeedbackForgotten, decode
from rankfall.stores import (
    BEGINNING,
    END,
    START,
    Checkpoint,
    Event,
    Mark,
    OnEvent,
    Snapshot,
    Store,
    open_store,
)

pytestmark = pytest.mark.usefixtures("no_timeouts")


def test_events_come_back_exactly(store: Store) -> None:
    bare = replace(EVENT, id="e2", user=None, request_id=None, digest=None, active=False, learn=False, features=None)
    bare = replace(bare, propensity=None, request=None, arm="control")
    with store.transaction() as tx:
        assert tx.add_events([EVENT, bare]) == [True, True]
        assert tx.events(["e2", "none", "e1"]) == [bare, None, replace(EVENT, features=None)]
        assert tx.event_of_request("m", "r1") == replace(EVENT, features=None)
        assert tx.event_of_request("other", "r1") is None
    assert store.event("e1") == EVENT
    assert store.event("e2") == bare
    assert store.event("none") is None
    assert store.ranked("m") == 2
    assert store.events_with_feedback() == [(EVENT, None), (bare, None)]
    assert store.events_with_feedback(after="e1") == [(bare, None)]


def test_the_first_event_of_an_id_or_request_stays(store: Store) -> None:
    with store.transaction() as tx:
        tx.add_events([EVENT])
        again = [
            replace(EVENT, response="other"),  # same id
            replace(EVENT, id="e2", response="other"),  # same request
            replace(EVENT, id="e3", model="m2"),  # a request of another model
            replace(EVENT, id="e4", request_id=None),
            replace(EVENT, id="e5", request_id=None),  # requests without a name are all different
        ]
        assert tx.add_events(again) == [False, False, True, True, True]
    assert store.event("e1") == EVENT
    assert store.event("e2") is None


def test_an_event_is_answered_once(store: Store) -> None:
    with store.transaction() as tx:
        tx.add_events([EVENT])
        assert tx.append_on_events([feedback("e1"), feedback("e1", clicked="{}")]) == [True, False]
    with store.transaction() as tx:
        assert tx.append_on_events([OnEvent(Encoded("expired", 1, "{}", None), "e1", "m", "k", 9.0)]) == [False]
        assert tx.feedback_on("e1") == ("feedback", 1, '{"clicked": [0]}', 1.5, "token")
        assert tx.feedback_on("e2") is None
    assert store.feedback_on("e1") == ("feedback", 1, '{"clicked": [0]}', 1.5, "token")
    (entry,) = store.tail(BEGINNING, 10)
    assert (entry.kind, entry.owner, entry.event_id, entry.at) == ("feedback", "k", "e1", 1.5)
    assert (entry.arm, entry.learn, entry.covered, entry.features) == ("policy", True, 3, EVENT.features)
    assert store.events_with_feedback()[0][1] == replace(
        entry, arm=None, learn=False, covered=0, features=None, catalog=0
    )
    assert store.tail(entry.mark, 10) == []


def test_decisions_come_back_exactly(store: Store) -> None:
    with store.transaction() as tx:
        first = tx.append(Encoded("catalog", 2, "{}", b"\x00\xff"), "", 0.1)
        second = tx.append(Encoded("create", 1, '{"a": "\\u0000"}', None), "m", 0.2)
        found = tx.first("create", "m")
        assert found is not None
        assert found.body == '{"a": "\\u0000"}'
        assert tx.first("create", "other") is None
    assert second > first
    entries = store.decisions()
    assert [(e.kind, e.version, e.model, e.at, e.body, e.blob) for e in entries] == [
        ("catalog", 2, "", 0.1, "{}", b"\x00\xff"),
        ("create", 1, "m", 0.2, '{"a": "\\u0000"}', None),
    ]
    assert [e.position for e in entries] == [first, second]
    assert store.tail(BEGINNING, 10) == entries
    assert store.tail(BEGINNING, 1) == entries[:1]
    assert store.tail(entries[0].mark, 1) == entries[1:]
    assert store.waiting_since(START) == 0.1
    assert store.waiting_since(entries[-1].position) is None


def test_states_snapshots_and_notes(store: Store) -> None:
    states = [Checkpoint("m", "k", seq, bytes([seq])) for seq in (2, 4, 6)]
    seen = appended(store, 6)
    with store.transaction() as tx:
        tx.add_snapshot(Snapshot("s", "m", "before", 4, 2.5))
        for state in states:
            assert tx.save([state], seen)
        assert tx.save([Checkpoint("m", "other", 1, b"o")], seen)
        tx.note("word", "one")
        tx.note("word", "two")
    found = store.checkpoints("m", ["k", "none", "other"], START, END)
    assert found == [states[2], None, Checkpoint("m", "other", 1, b"o")]
    assert store.checkpoints("m", ["k"], START, 5) == [states[1]]  # a snapshot needs it
    assert store.checkpoints("m", ["k"], START, 3) == [None]  # nobody needs it
    assert store.checkpoints("m", ["k"], 7, END) == [None]
    assert store.snapshots("m") == [Snapshot("s", "m", "before", 4, 2.5)]
    assert store.snapshots("other") == []
    assert store.note("word") == "two"
    assert store.note("none") is None


def appended(store: Store, entries: int) -> Mark:
    """Append entries; the last one."""
    with store.transaction() as tx:
        for _ in range(entries):
            tx.append(reset(), "m", 0.5)
    return store.tail(BEGINNING, 100)[-1].mark


def test_a_state_is_kept_only_of_entries_that_are_there(store: Store) -> None:
    seen = appended(store, 5)
    lost = [Checkpoint("m", owner, 5, b"lost") for owner in "ab"]
    with store.transaction() as tx:
        assert tx.save([*lost, Checkpoint("m", "a", 4, b"kept")], seen)
        tx.add_snapshot(Snapshot("s", "m", "", 4, 0.0))
    with store.transaction() as tx:
        assert tx.save([Checkpoint("m", "a", 4, b"kept")], seen)
        tx.run("DELETE FROM journal WHERE seq = 5")  # the store goes back in time
        assert not tx.save([Checkpoint("m", "c", 4, b"of another history")], seen)
        assert not tx.save([Checkpoint("m", "c", 4, b"of another history")], seen._replace(position=4))
    with pytest.raises(LostEntryError, match="entry 5 of the journal is not there any more"):
        store.tail(seen, 10)
    again = appended(store, 1)
    assert (again.position, again.token != seen.token) == (5, True)
    with pytest.raises(LostEntryError):
        store.tail(seen, 10)
    assert store.tail(again, 10) == []
    kept = Checkpoint("m", "a", 4, b"kept")
    assert store.checkpoints("m", ["a", "b", "c"], START, END) == [kept, None, None]
    with store.transaction() as tx:
        tx.save([Checkpoint("m", "b", 5, b"new")], again)
        assert tx.drop_lost_checkpoints(4) == 1
        assert tx.run("SELECT owner, seq FROM checkpoints ORDER BY owner") == [("a", 4), ("b", 5)]
    assert store.checkpoints("m", ["a", "b"], START, END) == [kept, Checkpoint("m", "b", 5, b"new")]


def test_silence_is_that_of_lists_known_to_be_shown(store: Store) -> None:
    def event(name: str, expires: float, active: bool) -> Event:
        return replace(EVENT, id=name, request_id=None, expires=expires, active=active)

    lists = [event("early", 5, True), event("b", 15, True), event("deferred", 15, False), event("a", 16, True)]
    with store.transaction() as tx:
        tx.add_events([*lists, event("answered", 15, True), event("waiting", 25, True)])
        tx.append_on_events([feedback("answered")])
    assert store.overdue(counted=20, since=10, limit=10) == [("b", "m", "k", 15), ("a", "m", "k", 16)]
    assert store.overdue(counted=20, since=10, limit=1) == [("b", "m", "k", 15)]
    assert store.overdue(counted=16, since=15.5, limit=10) == [("a", "m", "k", 16)]
    with store.transaction() as tx:
        tx.activate("deferred", 118.0, 100.0)  # all but 18 s of it were in gaps
        tx.activate("a", 99.0, 0.0)  # shown already: its wait does not begin again
    assert [row[0] for row in store.overdue(counted=20, since=10, limit=10)] == ["b", "a", "deferred"]
    assert store.pending(14) == 4


def test_a_user_is_forgotten(store: Store) -> None:
    def event(name: str, model: str, user: str) -> Event:
        return replace(EVENT, id=name, model=model, owner=user if model == "m" else "", user=user, request_id=name)

    with store.transaction() as tx:
        tx.add_events([event("1", "m", "u"), event("2", "m", "v"), event("3", "shared", "u"), event("4", "m", "u")])
        tx.append_on_events([feedback("1", "u"), feedback("2", "v"), feedback("3", "", "{}", "shared")])
    seen = appended(store, 1)
    with store.transaction() as tx:
        assert tx.save([Checkpoint("m", "u", 4, b"u"), Checkpoint("m", "v", 4, b"v")], seen)
    with store.transaction() as tx:
        assert tx.forget("u", {"m": None, "none": None}) == (1, {"m": 2}, 1)
    assert [event.id for event, _ in store.events_with_feedback()] == ["2", "3"]
    third = store.event("3")
    assert third is not None
    assert (third.user, third.request_id, third.digest, third.features) == (None, None, None, EVENT.features)
    left, *others = store.tail(BEGINNING, 10)
    assert [entry.event_id for entry in others] == ["2", "3", None]
    assert (left.owner, left.event_id, left.mark) == ("", None, Mark(1, "token", 1.5))  # what is counted stays
    assert decode(left.kind, left.version, left.body) == FeedbackForgotten("policy", clicked=True, covered=3)
    assert [entry.kind for entry in store.decisions()] == ["reset"]
    assert store.checkpoints("m", ["u", "v"], START, END) == [None, Checkpoint("m", "v", 4, b"v")]


def test_answers_of_keys_between_two_places(store: Store) -> None:
    for i in range(6):
        with store.transaction() as tx:
            tx.add_events([replace(EVENT, id=f"e{i}", request_id=None, owner="ab"[i % 2])])
            tx.append_on_events([feedback(f"e{i}", "ab"[i % 2])])
    entries = store.tail(BEGINNING, 10)
    places = [entry.position for entry in entries]
    found = store.feedback("m", ["a", "b", "c"], [places[0], START, START], places[4], 10)
    assert store.feedback("m", ["a", "b"], [START, START], places[5], 1) == [[entries[0]], [entries[1]]]
    assert found == [[entries[2], entries[4]], [entries[1], entries[3]], []]
    assert all(entry.features == EVENT.features for of_key in found for entry in of_key)


def test_a_store_opened_again_has_everything(place: str, store: Store) -> None:
    with store.transaction() as tx:
        tx.add_events([EVENT])
        tx.append(reset(), "m", 0.5)
    again = open_store(place)
    try:
        assert again.event("e1") == EVENT
        assert again.tail(BEGINNING, 10) == store.tail(BEGINNING, 10)
        with again.transaction() as tx:
            tx.append(reset(), "m", 0.6)
    finally:
        again.close()
    assert [entry.at for entry in store.tail(BEGINNING, 10)] == [0.5, 0.6]
