"""Learning across users in the service: what users start from, when it is learned, and what it depends on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import WAIT, FakeClock, Quiet, arrays, make_model, open_engine, small_catalog
from waiting import wait_until
from zero_one_zero import execute

from rankfall import CascadeHybrid, Prior, learn_prior
from rankfall.errors import InvalidError
from rankfall.history.export import export
from rankfall.journal import entries
from rankfall.journal.click_counts import ClickCounts
from rankfall.journal.entries import PriorLearned, encode
from rankfall.journal.fold import Epoch, ModelHistory
from rankfall.journal.priors import PriorNote, decode_prior, encode_prior
from rankfall.policies.linear.empirical_bayes import Statistics
from rankfall.service import prior_refresh
from rankfall.service.commands import AddTopics, ForgetUser, Reset, Restore, TakeSnapshot
from rankfall.service.packed_states import unpack_state
from rankfall.service.prior_refresh import is_due, refreshed
from rankfall.service.template import new_settings, policy_of
from rankfall.stores import Event
from rankfall.wire import ModelSettings

REWARDS = {"click": 1, "purchase": 4}
USERS = [f"user {n}" for n in range(12)]
Seen = dict[str, list[tuple[np.ndarray, np.ndarray]]]
"""By user: features of the items seen, and what they earned."""


@pytest.fixture
def engine(engine: Quiet) -> Quiet:
    make_model(engine, "own", scope="user", across_users=True, feedback_wait=WAIT, gamma=0.5)
    return engine


def show(engine: Quiet, users: list[str], lists: int = 3, seed: int = 1, model: str = "own") -> list[tuple[Event, int]]:
    """Lists and clicks of users who differ, and have something in common."""
    rng, shown = np.random.default_rng(seed), []
    for user in users:
        for _ in range(lists):
            event = engine.rank_now(model, user=user, candidates=[f"i{n}" for n in rng.permutation(8)[:5]])
            click = int(rng.integers(0, 4))
            engine.feed_now((event.id, click or None))
            shown.append((event, click))
    return shown


def seen_in(shown: list[tuple[Event, int]]) -> Seen:
    """By the book: items down to the click were seen."""
    seen: Seen = {}
    for event, click in shown:
        rows = np.frombuffer(event.features or b"").reshape(3, -1)[: click or 3]
        earned = np.zeros(len(rows))
        earned[click - 1 : click] = 1.0
        seen.setdefault(event.owner, []).append((rows, earned))
    return seen


def statistics(seen: Seen) -> Statistics:
    """Plain sums, user by user in the order of names."""
    every = [(np.concatenate([r for r, _ in seen[user]]), np.concatenate([e for _, e in seen[user]])) for user in seen]
    return Statistics(
        np.array([rows.T @ rows for rows, _ in every]),
        np.array([rows.T @ earned for rows, earned in every]),
        np.array([float(len(earned)) for _, earned in every]),
        np.array([float(earned @ earned) for _, earned in every]),
    )


def refresh(engine: Quiet, model: str = "own") -> Prior:
    """Learn the prior again, now."""
    keep = refreshed(engine.reader, engine.model(model), engine.state.mark)
    assert keep is not None
    assert engine.write(keep)
    return decode_prior(keep.prior.prior)


def close_to(prior: Prior, expected: Prior) -> None:
    np.testing.assert_allclose(prior.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(prior.covariance, expected.covariance, rtol=1e-8, atol=1e-12)
    assert prior.noise == pytest.approx(expected.noise)
    assert prior.users == expected.users


def check_again(engine: Quiet, *users: str, model: str = "own") -> None:
    """Another server, with and without what was saved, has the same bits."""
    states = {user: arrays(engine, model, user) for user in users}
    for drop in (False, True):
        if drop:
            execute(str(engine.place), "DELETE FROM checkpoints")
        again = open_engine(str(engine.place))
        try:
            assert {user: arrays(again, model, user) for user in users} == states
        finally:
            again.crash()


# What is learned, and what users start from


def test_a_prior_is_what_sums_of_the_events_teach(engine: Quiet) -> None:
    shown = show(engine, USERS)
    close_to(refresh(engine), learn_prior(statistics(seen_in(shown))))
    note = engine.model("own").history.prior_at(engine.state.position)
    assert note is not None
    assert (note.users, note.lists, note.counted, note.at) == (12, 36, 36, engine.clock())


def test_a_new_user_gets_the_list_of_the_prior(engine: Quiet) -> None:
    """By the book: the greedy list for the prior's mean and covariance, each score computed in plain NumPy."""
    show(engine, USERS)
    prior, catalog = refresh(engine), engine.catalog
    chosen: list[int] = []
    left = np.ones(2)  # of each topic
    for _ in range(3):
        columns = np.hstack([catalog.coverage * left, catalog.relevance])
        widths = np.sqrt(np.einsum("ij,jk,ik->i", columns, prior.covariance, columns))
        scores = columns @ prior.mean + 0.5 * widths
        scores[chosen] = -np.inf
        chosen.append(int(scores.argmax()))
        left *= 1.0 - catalog.coverage[chosen[-1]]
    ranking = engine.view_now("own", "someone new").policy.rank(3)
    assert list(ranking.items) == chosen
    np.testing.assert_allclose(ranking.weights, prior.mean, rtol=1e-9)
    assert list(ranking.items) != list(CascadeHybrid(catalog, gamma=0.5).rank(3).items)  # what there was without


def test_users_keep_what_they_have_shown(engine: Quiet) -> None:
    """Ridge regression with the prior, solved directly; before the prior came and after it."""
    shown = show(engine, USERS)
    prior = refresh(engine)
    shown += show(engine, USERS[:2], seed=2)
    for user in (*USERS[:3], "someone new"):
        rows = np.concatenate([np.empty((0, 4)), *(rows for rows, _ in seen_in(shown).get(user, []))])
        earned = np.concatenate([np.empty(0), *(earned for _, earned in seen_in(shown).get(user, []))])
        precision = np.linalg.inv(prior.covariance)
        gram = precision + rows.T @ rows
        state = engine.view_now("own", user).policy.state()
        np.testing.assert_allclose(state["gram"], gram, rtol=1e-8)
        expected = np.linalg.solve(gram, precision @ prior.mean + rows.T @ earned)
        np.testing.assert_allclose(state["weights"], expected, rtol=1e-7, atol=1e-10)
    check_again(engine, *USERS[:3], "someone new")


def test_outcomes_count_in_what_a_prior_is_learned_from(engine: Quiet) -> None:
    make_model(engine, "valued", scope="user", across_users=True, rewards=REWARDS)
    seen: Seen = {}
    for n, user in enumerate(USERS):
        event = engine.rank_now("valued", user=user)
        engine.feed_now((event.id, 2))
        for name in ("first", "second")[: n % 3]:
            outcome = {"position": 2, "type": "purchase", "value": 0.5, "outcome_id": name}
            assert engine.outcome_now(event.id, outcome)[0].result == "accepted"
        earned = np.array([0.0, 0.25 + 0.5 * (n % 3)])
        seen[user] = [(np.frombuffer(event.features or b"").reshape(3, -1)[:2], earned)]
    expected = statistics(seen)
    owns = [engine.view_now("valued", user).policy.state() for user in USERS]
    np.testing.assert_allclose([own["own_sums"][1] for own in owns], expected.squares, rtol=1e-12)
    np.testing.assert_allclose([own["own_moment"] for own in owns], expected.moment, rtol=1e-12)
    close_to(refresh(engine, "valued"), learn_prior(expected))
    check_again(engine, *USERS[:4], model="valued")


def test_an_outcome_after_a_restore_adds_to_what_was_not_unlearned(engine: Quiet) -> None:
    make_model(engine, "valued", scope="user", across_users=True, rewards=REWARDS)
    event = engine.rank_now("valued", user="anna")
    engine.feed_now((event.id, 1))
    snapshot = engine.write(TakeSnapshot("valued"))
    told = [{"position": 1, "type": "purchase", "outcome_id": name} for name in ("gone", "stays")]
    assert engine.outcome_now(event.id, told[0])[0].result == "accepted"
    engine.write(Restore(snapshot))
    assert engine.outcome_now(event.id, told[1])[0].result == "accepted"
    assert engine.view_now("valued", "anna").policy.state()["own_sums"].tolist() == [1.0, 1.25**2]
    check_again(engine, "anna", model="valued")


# When it is learned


def history(counted: int, prior: int | None = None, forgot_at: int = 0, **settings: Any) -> ModelHistory:
    counts = ClickCounts({"policy": [counted, 0, 0]})
    notes = [] if prior is None else [PriorNote(5, 0.0, 10, prior, prior)]
    words = {"scope": "user", "across_users": True, **settings}
    return ModelHistory("own", ModelSettings(**words), 0.0, [Epoch(1)], counts, 0, forgot_at, notes)


@pytest.mark.parametrize(
    ("told", "tried", "due"),
    [
        (history(99), 0, False),
        (history(100), 0, True),
        (history(100), 100, False),  # nothing came of it, and nothing is new
        (history(125), 100, True),
        (history(249, prior=200), 0, False),
        (history(250, prior=200), 0, True),
        (history(200, prior=200, forgot_at=6), 0, True),  # someone with a share in it was forgotten
        (history(200, prior=200, forgot_at=4), 0, False),
        (history(200, forgot_at=4), 200, False),  # nobody has a share in anything
        (history(1000, across_users=False), 0, False),
    ],
)
def test_when_it_is_due(told: ModelHistory, tried: int, due: bool) -> None:
    assert is_due(told, tried) is due


def test_too_few_users(engine: Quiet) -> None:
    show(engine, USERS[:9])
    assert refreshed(engine.reader, engine.model("own"), engine.state.mark) is None


def test_upkeep_has_it_learned(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior_refresh, "FIRST_LISTS", 36)
    show(engine, USERS)
    priors = engine.model("own").history.priors
    engine.run(engine.upkeep.run)
    wait_until(lambda: engine.fold() or priors)
    engine.run(engine.upkeep.run)  # nothing is new
    engine.upkeep.stop_learning_priors()
    engine.fold()
    assert [(note.users, note.lists) for note in priors] == [(12, 36)]


def test_an_error_is_logged_and_no_more(
    engine: Quiet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(prior_refresh, "FIRST_LISTS", 36)
    show(engine, USERS)

    def fail(*_: Any, **__: Any) -> None:
        raise ArithmeticError("no such prior")

    monkeypatch.setattr(prior_refresh, "learn_prior", fail)
    engine.run(engine.upkeep.run)
    wait_until(lambda: "an error while a prior was learned" in caplog.text)
    assert engine.rank_now("own", user="anna").arm == "policy"


def test_of_many_users_some_are_read(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half those who came last, half of all the others, spread over their names; none twice."""
    show(engine, USERS, lists=1)
    engine.checkpoint()
    chosen = prior_refresh._chosen
    assert chosen(engine.store, "own", 12) == sorted(USERS)
    monkeypatch.setattr(prior_refresh, "RECENT", 3)
    last = engine.store.recent_owners("own", 3, 9)
    assert set(chosen(engine.store, "own", 4)) > set(last[:2])
    assert len(set(chosen(engine.store, "own", 4))) == 4
    assert chosen(engine.store, "own", 100) == sorted(USERS)
    execute(str(engine.place), "DELETE FROM checkpoints")
    assert chosen(engine.store, "own", 100) == sorted(last)


# Two servers, and what makes a prior out of date


def test_of_two_servers_one_wins(place: str, clock: FakeClock) -> None:
    one, other = open_engine(place, clock), open_engine(place, clock)
    try:
        make_model(one, "own", scope="user", across_users=True)
        show(one, USERS)
        other.fold()
        keeps = [refreshed(each.reader, each.model("own"), each.state.mark) for each in (one, other)]
        assert [each.write(keep) for each, keep in zip((one, other), keeps, strict=True) if keep] == [True, False]
        one.fold()
        other.fold()
        show(other, USERS[:2], seed=3)
        one.fold()
        for user in (*USERS[:4], "someone new"):
            assert arrays(one, "own", user) == arrays(other, "own", user)
        assert len(one.model("own").history.priors) == 1
    finally:
        one.crash()
        other.crash()


def test_a_prior_that_is_out_of_date_is_not_kept(engine: Quiet) -> None:
    show(engine, USERS)
    snapshot = engine.write(TakeSnapshot("own"))
    for command in (Reset("own"), Restore(snapshot), ForgetUser(USERS[0])):
        keep = refreshed(engine.reader, engine.model("own"), engine.state.mark)
        if keep is None:  # after the reset nobody has shown anything
            continue
        engine.write(command)  # type: ignore[arg-type]
        assert not engine.write(keep)
        if isinstance(command, Reset):
            engine.write(Restore(snapshot))
    assert not engine.model("own").history.priors


def test_a_prior_of_a_history_that_was_lost_is_not_kept(engine: Quiet) -> None:
    show(engine, USERS)
    keep = refreshed(engine.reader, engine.model("own"), engine.state.mark)
    assert keep is not None
    assert not engine.write(replace(keep, known=keep.known._replace(token="of another history")))
    assert engine.write(keep)


# Forgetting, resets, snapshots


def test_a_user_who_is_forgotten_has_no_share_in_the_next_prior(engine: Quiet) -> None:
    shown = show(engine, USERS)
    refresh(engine)
    assert not is_due(engine.model("own").history)
    engine.write(ForgetUser(USERS[3]))
    assert is_due(engine.model("own").history)
    seen = seen_in(shown)
    del seen[USERS[3]]
    close_to(refresh(engine), learn_prior(statistics(seen)))
    assert not is_due(engine.model("own").history)
    for user in USERS[4:6]:
        engine.write(ForgetUser(user))
    close_to(refresh(engine), Prior.identity(4))  # nine are left: too few to be told from each other by nobody
    assert not is_due(engine.model("own").history)


def test_a_reset_forgets_the_prior_and_a_restore_brings_it_back(engine: Quiet) -> None:
    show(engine, USERS)
    first = refresh(engine)
    snapshot = engine.write(TakeSnapshot("own"))
    show(engine, USERS, seed=4)
    second = refresh(engine)
    state = engine.view_now("own", USERS[0]).policy.state()
    assert state["prior_mean"].tobytes() == second.mean.tobytes()
    engine.write(Reset("own"))
    assert engine.model("own").history.prior_at(engine.state.position) is None
    for user in (USERS[0], "someone new"):
        assert arrays(engine, "own", user) == {
            name: array.tobytes() for name, array in engine.model("own").template.policy.state().items()
        }
    check_again(engine, USERS[0], "someone new")
    engine.write(Restore(snapshot))
    state = engine.view_now("own", USERS[0]).policy.state()
    assert state["prior_mean"].tobytes() == first.mean.tobytes()
    assert state["counts"][0] == 3
    check_again(engine, *USERS[:2], "someone new")
    old = engine.model("own").policy_at(engine.store, USERS[0], snapshot.position)
    assert {name: array.tobytes() for name, array in old.state().items()} == arrays(engine, "own", USERS[0])


def test_a_state_that_was_saved_after_a_prior_is_not_one_of_before(engine: Quiet) -> None:
    """It has learned nothing between the two, but it starts from another prior."""
    show(engine, USERS)
    states = {user: arrays(engine, "own", user) for user in USERS}
    snapshot = engine.write(TakeSnapshot("own"))
    refresh(engine)
    assert all(arrays(engine, "own", user) != states[user] for user in USERS)
    engine.checkpoint()
    engine.write(Restore(snapshot))
    assert {user: arrays(engine, "own", user) for user in USERS} == states


def test_new_topics(engine: Quiet) -> None:
    """Nothing is known of them, and of all else what there was."""
    show(engine, USERS)
    refresh(engine)
    before = engine.view_now("own", "someone new").policy.weights
    engine.write(AddTopics(("z",)))
    after = engine.view_now("own", "someone new").policy
    np.testing.assert_array_equal(np.delete(after.weights, 2), before)
    assert after.weights[2] == 0.0
    assert after.covariance[2].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    show(engine, USERS[:2], seed=5)
    check_again(engine, *USERS[:3], "someone new")
    prior = refresh(engine)
    assert len(prior.mean) == 5
    show(engine, USERS[:2], seed=6)
    check_again(engine, *USERS[:3], "someone new")


# How it is stored


def test_a_prior_is_stored_to_the_bit_and_one_half_of_it() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 28))
    prior = Prior(rng.normal(size=28), rows.T @ rows / 40, 0.1, users=500)
    data = encode_prior(prior)
    again = decode_prior(data)
    assert {name: array.tobytes() for name, array in again.arrays().items()} == {
        name: array.tobytes() for name, array in prior.arrays().items()
    }
    assert len(encode(PriorLearned(data, 500, 9_000)).body) < 5_200


def test_states_that_are_saved_do_not_hold_the_prior(engine: Quiet) -> None:
    show(engine, USERS)
    refresh(engine)
    show(engine, USERS[:1], seed=7)
    engine.checkpoint()
    (saved,) = engine.store.checkpoints("own", [USERS[0]], 0, engine.state.position)
    assert saved is not None
    kept = unpack_state(saved.state)
    assert int(kept["prior_position"]) == engine.model("own").history.priors[-1].position
    assert not {"prior_mean", "prior_covariance"} & kept.keys()
    check_again(engine, USERS[0])


def test_states_that_leave_memory_and_come_back(place: str, clock: FakeClock) -> None:
    one = open_engine(place, clock, room=2)
    try:
        make_model(one, "own", scope="user", across_users=True)
        show(one, USERS)
        refresh(one)
        show(one, USERS, seed=8)
        check_again(one, *USERS[:5])
    finally:
        one.crash()


def test_an_older_server_stops_learning_where_there_is_a_prior(
    place: str, engine: Quiet, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(engine, USERS)
    older = open_engine(place, clock)
    refresh(engine)
    with monkeypatch.context() as patched:
        patched.setattr(entries, "KINDS", {name: kind for name, kind in entries.KINDS.items() if name != "prior"})
        older.fold()
        assert older.state.stopped is not None
        assert "an entry of kind 'prior' is not known" in older.state.stopped.reason
    older.crash()


def test_the_export_carries_priors(engine: Quiet, tmp_path: Path) -> None:
    show(engine, USERS)
    refresh(engine)
    show(engine, USERS[:2], seed=9)
    export(engine.store, tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
    words: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], words)
    for user in USERS[:3]:
        learned = words["learned"](tmp_path, "own", user)
        assert {name: one.tobytes() for name, one in learned.items()} == arrays(engine, "own", user)


# Settings


@pytest.mark.parametrize(
    ("given", "across"),
    [
        ({"scope": "user"}, True),
        ({"scope": "user", "across_users": False}, False),
        ({"scope": "user", "policy": "CascadeKLUCB"}, False),
        ({"scope": "segment"}, False),
        ({}, False),
        ({"scope": "user", "context": {"hour": {"kind": "hour"}}}, True),
        ({"scope": "user", "context": {"shop": {"kind": "category", "levels": [f"s{n}" for n in range(11)]}}}, True),
        ({"scope": "user", "context": {"shop": {"kind": "category", "levels": [f"s{n}" for n in range(12)]}}}, False),
    ],
)
def test_the_default(given: dict[str, Any], across: bool) -> None:
    settings = new_settings(given)
    assert settings.across_users is across
    policy_of(settings, small_catalog())


def test_a_model_of_before_is_the_same_when_it_is_made_again() -> None:
    before = ModelSettings(scope="user", gamma=1.0)
    assert new_settings({"scope": "user"}, there=before) == before


@pytest.mark.parametrize("given", [{}, {"scope": "user", "policy": "CascadeKLUCB"}])
def test_where_it_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="across_users needs scope user and a linear policy"):
        policy_of(new_settings({"across_users": True, **given}), small_catalog())
