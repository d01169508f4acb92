"""What becomes of outcomes: of each once, whenever it comes, and of the state that follows from them."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import WAIT, FakeClock, Quiet, arrays, items_of, make_model, open_engine, patch, small_catalog
from zero_one_zero import execute

from rankfall.errors import InvalidError, JournalError
from rankfall.history.export import export
from rankfall.journal import entries
from rankfall.policies.linear.ridge import Ridge
from rankfall.service.commands import AddTopics, ForgetUser, GiveFeedback, Reset, Restore, TakeSnapshot
from rankfall.service.template import new_settings, policy_of
from rankfall.stores import Event
from rankfall.wire import FeedbackRequest, Outcome, convert

REWARDS = {"click": 1, "cart": 2, "purchase": 5, "dislike": -1}


@pytest.fixture
def engine(engine: Quiet) -> Quiet:
    make_model(engine, rewards=REWARDS, feedback_wait=WAIT)
    return engine


def tell(engine: Quiet, event: Event, position: int, kind: str = "purchase", **more: Any) -> str:
    (told,) = engine.outcome_now(event.id, {"position": position, "type": kind, **more})
    return told.result


def why(engine: Quiet, event: str, **outcome: Any) -> tuple[str, str]:
    (told,) = engine.outcome_now(event, outcome)
    return told.result, told.reason


def direct(*lists: tuple[Event, int, list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression by the book, in plain NumPy: lists, how many of their items were seen, what these earned."""
    seen = np.concatenate([np.frombuffer(event.features or b"").reshape(-1, 4)[:n] for event, n, _ in lists])
    earned = np.concatenate([np.array(earned, dtype=float)[:n] for _, n, earned in lists])
    gram = np.eye(4) + seen.T @ seen
    return gram, np.linalg.solve(gram, seen.T @ earned)


def check(engine: Quiet, *lists: tuple[Event, int, list[float]], model: str = "default", owner: str = "") -> None:
    gram, weights = direct(*lists)
    state = engine.view_now(model, owner).policy.state()
    np.testing.assert_allclose(state["gram"], gram, rtol=1e-12)
    np.testing.assert_allclose(state["weights"], weights, rtol=1e-10, atol=1e-13)


def test_an_outcome_adds_to_what_an_item_earned_and_to_nothing_else(engine: Quiet) -> None:
    event = engine.rank_now()
    engine.feed_now((event.id, 2))
    before = engine.view_now().policy.state()
    check(engine, (event, 2, [0, 0.2]))
    assert tell(engine, event, 2) == "accepted"
    after = engine.view_now().policy.state()
    assert after["gram"].tobytes() == before["gram"].tobytes()
    assert after["covariance"].tobytes() == before["covariance"].tobytes()
    assert after["counts"].tobytes() == before["counts"].tobytes()
    check(engine, (event, 2, [0, 1.2]))
    assert tell(engine, event, 1, "dislike", value=3) == "accepted"
    check(engine, (event, 2, [-0.6, 1.2]))


def test_the_next_list_reflects_an_outcome(engine: Quiet) -> None:
    """Lists that are the same until a list is learned from are kept; an outcome is no list, and changes them too."""
    patch(engine, gamma=0.0)
    first = engine.rank_now(k=8)
    engine.feed_now((first.id, 8))
    before = engine.rank_now(k=8)
    assert tell(engine, first, 1, value=50) == "accepted"
    assert items_of(engine.rank_now(k=8)) != items_of(before)
    assert items_of(engine.rank_now(k=8)) == [engine.catalog.ids[row] for row in engine.view_now().policy.rank(8).items]


def test_outcomes_of_items_that_were_not_seen_are_kept_and_not_learned(engine: Quiet) -> None:
    event = engine.rank_now()
    engine.feed_now((event.id, [1, 3]))
    assert tell(engine, event, 3) == "accepted"  # below the first click, nothing is known of it
    check(engine, (event, 1, [0.2]))
    assert engine.model().history.counts.rewards == {"policy": [7.0, 49.0]}
    make_model(engine, "last", rewards=REWARDS, feedback="last_click")
    event = engine.rank_now("last")
    engine.feed_now((event.id, [1, 3]))
    assert tell(engine, event, 3) == "accepted"
    check(engine, (event, 3, [0.2, 0, 1.2]), model="last")


def test_any_order_gives_the_same_state_but_for_rounding(engine: Quiet) -> None:
    orders = list(permutations(["click", "purchase", "cart", "dislike"]))
    for user, order in enumerate(orders):
        make_model(engine, f"m{user}", rewards=REWARDS)
        event = engine.rank_now(f"m{user}")
        for kind in order:
            told = engine.feed_now((event.id, 3))[0].result if kind == "click" else tell(engine, event, 3, kind)
            assert told == "accepted"
        check(engine, (event, 3, [0, 0, (1 + 5 + 2 - 1) / 5]), model=f"m{user}")
        assert engine.model(f"m{user}").history.counts.rewards["policy"] == [pytest.approx(7.0), pytest.approx(49.0)]


def test_each_outcome_counts_once(engine: Quiet) -> None:
    event = engine.rank_now()
    first, second, _ = items_of(event)
    engine.feed_now((event.id, 2))
    assert why(engine, event.id, id=second, type="purchase")[0] == "accepted"
    assert why(engine, event.id, position=2, type="purchase", value=3)[0] == "duplicate"  # the same item and type
    assert why(engine, event.id, id=second, type="cart")[0] == "accepted"
    assert why(engine, event.id, id=first, type="purchase")[0] == "accepted"
    for again in ("accepted", "duplicate"):
        assert why(engine, event.id, id=second, type="purchase", outcome_id="order 7")[0] == again
    assert why(engine, event.id, id=second, type="purchase", outcome_id="order 8")[0] == "accepted"
    twice = [{"position": 1, "type": "cart"}, {"id": first, "type": "cart"}, {"position": 2, "type": "dislike"}]
    assert [one.result for one in engine.outcome_now(event.id, *twice)] == ["accepted", "duplicate", "accepted"]
    check(engine, (event, 2, [(5 + 2) / 5, (1 + 3 * 5 + 2 - 1) / 5]))
    other = engine.rank_now()
    assert why(engine, other.id, position=2, type="purchase", outcome_id="order 7")[0] == "accepted"  # another list


def test_an_attempt_that_seemed_to_fail_is_recognised(engine: Quiet) -> None:
    event = engine.rank_now()
    given = convert(
        FeedbackRequest, {"event_id": event.id, "clicked": 1, "outcomes": [{"position": 1, "type": "cart"}]}
    )
    command = GiveFeedback((given,))
    for _ in range(2):
        assert [one.result for one in engine.write(command)] == ["accepted", "accepted"]
    assert [one.result for one in engine.write(GiveFeedback((given,)))] == ["duplicate", "duplicate"]
    check(engine, (event, 1, [(1 + 2) / 5]))


def test_clicks_and_outcomes_in_one_report(engine: Quiet) -> None:
    event = engine.rank_now()
    outcomes = [{"position": 2, "type": "purchase"}, {"id": "nothing", "type": "cart"}]
    given = convert(FeedbackRequest, {"event_id": event.id, "clicked": 2, "outcomes": outcomes})
    told = engine.write(GiveFeedback((given, FeedbackRequest("nothing", None))))
    assert [one.result for one in told] == ["accepted", "accepted", "rejected", "unknown"]
    assert [one.outcome for one in told] == ["", "purchase", "cart", ""]
    check(engine, (event, 2, [0, 1.2]))


def test_what_is_rejected(engine: Quiet) -> None:
    event = engine.rank_now()
    for outcome, reason in (
        ({"id": "nothing", "type": "purchase"}, "item 'nothing' is not in the list, which has 3 items"),
        ({"position": 4, "type": "purchase"}, "position 4 is not in the list, which has 3 items"),
        ({"position": 1, "type": "click"}, "clicks are reported as clicked, not as outcomes"),
        (
            {"position": 1, "type": "return"},
            "model 'default' has no reward for 'return'; it has them for cart, purchase, dislike",
        ),
    ):
        assert why(engine, event.id, **outcome) == ("rejected", reason)
    assert engine.store.outcomes_on(event.id) == []


def test_a_list_takes_so_many_outcomes(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.service.outcomes.MOST", 3)
    event, other = engine.rank_now(), engine.rank_now()
    engine.feed_now((event.id, 1))
    assert tell(engine, event, 1) == "accepted"
    more = [{"position": 1, "type": "cart", "outcome_id": f"{n}"} for n in range(3)]
    assert [one.result for one in engine.outcome_now(event.id, *more)] == ["accepted", "accepted", "rejected"]
    assert why(engine, event.id, position=2, type="cart") == (
        "rejected",
        "the list has 3 outcomes; at most 3 are taken",
    )
    assert tell(engine, event, 1) == "duplicate"  # what is there is there
    assert tell(engine, other, 1) == "accepted"
    check(engine, (event, 1, [(1 + 5 + 2 + 2) / 5]))


def test_a_model_without_rewards_rejects_outcomes(engine: Quiet) -> None:
    make_model(engine, "plain")
    event = engine.rank_now("plain")
    assert why(engine, event.id, position=1, type="cart") == (
        "rejected",
        "model 'plain' has no rewards, so only clicks count; they are set when a model is made",
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2e6])
def test_values_that_are_no_numbers_to_add_are_refused(value: float) -> None:
    with pytest.raises(InvalidError, match=r"outcomes\.0\.value: expected"):
        convert(FeedbackRequest, {"event_id": "e", "outcomes": [{"position": 1, "type": "cart", "value": value}]})
    if value != 2e6:
        with pytest.raises(ValueError, match="finite"):
            Outcome(position=1, type="cart", value=value)


def test_outcomes_of_lists_that_are_not_known(engine: Quiet) -> None:
    event = engine.rank_now()
    assert why(engine, "nothing", position=1, type="cart")[0] == "unknown"
    given = convert(FeedbackRequest, {"event_id": event.id, "outcomes": [{"position": 1, "type": "cart"}]})
    (told,) = engine.write(GiveFeedback((given,), frozenset({"another"})))
    assert told.result == "unknown"


# Before the clicks, and after the wait


def test_outcomes_that_come_before_the_clicks_wait_for_them(engine: Quiet) -> None:
    event = engine.rank_now()
    assert tell(engine, event, 2) == "accepted"
    assert arrays(engine) == {name: array.tobytes() for name, array in Ridge(4).arrays().items()}
    assert engine.model().history.counts.rewards == {"policy": [0.0, 0.0]}
    engine.checkpoint()
    assert engine.feed_now((event.id, 1))[0].result == "accepted"
    check(engine, (event, 1, [0.2]))  # the clicks say that it was not seen
    other = engine.rank_now()
    assert tell(engine, other, 2) == "accepted"
    assert engine.feed_now((other.id, 2))[0].result == "accepted"
    check(engine, (event, 1, [0.2]), (other, 2, [0, 1.2]))
    assert engine.model().history.counts.rewards == {"policy": [12.0, 72.0]}


def test_outcomes_of_lists_whose_wait_ran_out(engine: Quiet) -> None:
    early, silent = engine.rank_now(), engine.rank_now()
    assert tell(engine, early, 3) == "accepted"
    engine.pass_time(WAIT + 1)
    assert tell(engine, silent, 1, "dislike") == "accepted"  # it was shown, and nobody has closed it yet
    assert engine.expire() == 2
    check(engine, (early, 3, [0, 0, 1]), (silent, 3, [-0.2, 0, 0]))
    engine.pass_time(1000 * WAIT)
    assert tell(engine, silent, 2) == "accepted"  # days later
    check(engine, (early, 3, [0, 0, 1]), (silent, 3, [-0.2, 1, 0]))
    assert engine.feed_now((silent.id, 1))[0].result == "late"


def test_outcomes_show_that_a_deferred_list_was_shown(engine: Quiet) -> None:
    shown, never = engine.rank_now(defer_activation=True), engine.rank_now(defer_activation=True)
    assert tell(engine, shown, 2) == "accepted"
    engine.pass_time(WAIT + 1)
    assert engine.expire() == 1
    check(engine, (shown, 3, [0, 1, 0]))
    assert why(engine, never.id, position=1, type="cart") == (
        "late",
        "the list was not known to be shown, and the wait for feedback on it is over",
    )


# Whose lists, and which epoch


def test_outcomes_of_the_control_group_are_counted_and_not_learned(engine: Quiet) -> None:
    patch(engine, control=1.0)
    event = engine.rank_now(user="anna", baseline=["i4", "i2"])
    engine.feed_now((event.id, "i2"))
    assert tell(engine, event, 2) == "accepted"
    assert engine.view_now().policy.n_updates == 0
    assert engine.model().history.counts.rewards == {"control": [6.0, 36.0]}


def test_outcomes_of_lists_that_were_unlearned(engine: Quiet) -> None:
    before, between, after = (engine.rank_now() for _ in range(3))
    engine.feed_now((before.id, 1))
    snapshot = engine.write(TakeSnapshot("default"))
    engine.feed_now((between.id, 2))
    engine.write(Reset("default"))
    assert tell(engine, before, 1) == "accepted"
    check_nothing_learned(engine)
    engine.feed_now((after.id, 3))
    engine.write(Restore(snapshot))
    check(engine, (before, 1, [0.2]))
    for event, position in ((between, 2), (after, 3)):
        assert tell(engine, event, position) == "accepted"
    check(engine, (before, 1, [0.2]))  # the others are not in it
    assert tell(engine, before, 1, "cart") == "accepted"
    check(engine, (before, 1, [0.6]))
    engine.checkpoint()
    execute(str(engine.place), "DELETE FROM checkpoints")
    again = open_engine(str(engine.place))
    try:
        assert arrays(again) == arrays(engine)
    finally:
        again.crash()


def test_outcomes_of_lists_from_before_a_topic_came(engine: Quiet) -> None:
    """The features of such a list have fewer columns; those of new topics are zero."""
    event = engine.rank_now()
    engine.feed_now((event.id, 2))
    engine.write(AddTopics(("new", "newer")))
    assert tell(engine, event, 2) == "accepted"
    state = engine.view_now().policy.state()
    _, weights = direct((event, 2, [0, 1.2]))
    np.testing.assert_allclose(np.delete(state["weights"], [2, 3]), weights, rtol=1e-10)
    assert state["weights"][2:4].tolist() == [0.0, 0.0]


def check_nothing_learned(engine: Quiet) -> None:
    assert not engine.view_now().policy.state()["moment"].any()


def test_a_user_who_is_forgotten(place: str, clock: FakeClock, tmp_path: Path) -> None:
    one, other = open_engine(place, clock), open_engine(place, clock)
    try:
        make_model(one, "own", scope="user", rewards=REWARDS)
        other.fold()
        events = [one.rank_now("own", user=user) for user in ("anna", "ben", "anna", "anna")]
        assert tell(one, events[0], 1) == "accepted"
        for event, click in zip(events[:3], (1, 2, None), strict=True):
            one.feed_now((event.id, click))
        for event in events[:2]:
            assert tell(one, event, 2, "cart", outcome_id="anna's first order") == "accepted"
        assert tell(one, events[3], 2) == "accepted"  # never closed
        other.fold()
        rewards = {name: engine.model("own").history.counts.plain() for name, engine in (("1", one), ("2", other))}
        assert rewards["1"] == rewards["2"]
        assert rewards["1"]["rewards"] == {"policy": [11.0, 73.0]}
        one.write(ForgetUser("anna"))
        assert tell(one, events[0], 2, "dislike") == "unknown"
        check(one, (events[1], 2, [0, 0.6]), model="own", owner="ben")
        check_nothing_left(place, "anna")
        left = execute(place, "SELECT outcome_of, outcome_key FROM journal WHERE kind = 'forgotten'")
        assert len(left) == 5  # entries stay, and say nothing but what is counted
        assert {tuple(row) for row in left} == {(None, None)}
        assert export(one.store, tmp_path).outcomes == 1  # ben's
        execute(place, "DELETE FROM checkpoints")
        for engine in (one, other, open_engine(place, clock)):
            engine.fold()
            assert engine.model("own").history.counts.plain() == rewards["1"]
            assert engine.view_now("own", "anna").policy.n_updates == 0
            if engine not in (one, other):
                engine.crash()
    finally:
        one.crash()
        other.crash()


def check_nothing_left(place: str, name: str) -> None:
    """Neither the name, nor what the caller called an outcome, which may hold it."""
    for table in ("events", "journal", "checkpoints"):
        for row in execute(place, f"SELECT * FROM {table}"):
            assert not any(name in str(value) for value in row)


# Servers, versions and files


def test_two_servers_and_a_restart_have_the_same_bits(place: str, clock: FakeClock) -> None:
    first, second = open_engine(place, clock), open_engine(place, clock)
    try:
        make_model(first, rewards=REWARDS)
        second.fold()
        events = [first.rank_now() for _ in range(6)]
        for turn, event in enumerate(events):
            one, other = (first, second) if turn % 2 else (second, first)
            assert tell(one, event, 1, "cart", value=0.1 * turn) == "accepted"
            assert other.feed_now((event.id, turn % 3 + 1))[0].result == "accepted"
            assert tell(one, event, 1, "cart") == "duplicate"
            assert tell(other, event, 3, "purchase", value=1 / 3) == "accepted"
            if turn == 3:
                first.checkpoint()
        first.fold()
        second.fold()
        again = open_engine(place, clock)
        assert arrays(first) == arrays(second) == arrays(again)
        counts = [engine.model().history.counts.plain() for engine in (first, second, again)]
        assert counts[0] == counts[1] == counts[2]
        again.crash()
    finally:
        first.crash()
        second.crash()


def test_an_older_server_stops_learning_and_goes_on_taking_clicks(
    place: str, engine: Quiet, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know of outcomes; that each list has one feedback it knows, and relies on."""
    make_model(engine, "plain")
    older = open_engine(place, clock)
    event, other = engine.rank_now(), engine.rank_now("plain")
    assert tell(engine, event, 2) == "accepted"
    with monkeypatch.context() as patched:
        patched.setattr(entries, "KINDS", {name: kind for name, kind in entries.KINDS.items() if name != "outcome"})
        older.fold()
        assert older.state.stopped is not None
        assert "an entry of kind 'outcome' is not known" in older.state.stopped.reason
        assert older.feed_now((event.id, 2))[0].result == "accepted"
        assert older.feed_now((other.id, 1))[0].result == "accepted"
        with pytest.raises(JournalError, match="kind 'outcome' is not known"):
            entries.decode("outcome", 1, "{}")
    older.crash()
    engine.fold()
    check(engine, (event, 2, [0, 1.2]))
    upgraded = open_engine(place, clock)
    try:
        assert arrays(upgraded) == arrays(engine)
        assert arrays(upgraded, "plain") == arrays(engine, "plain")
    finally:
        upgraded.crash()


def test_a_model_with_rewards_for_clicks_alone_has_the_bits_of_one_without(engine: Quiet) -> None:
    make_model(engine, "plain")
    make_model(engine, "one", rewards={"click": 7.0})
    for turn in range(5):
        events = [engine.rank_now(name) for name in ("plain", "one")]
        assert events[0].features == events[1].features
        engine.feed_now(*((event.id, [turn % 3 + 1, 3]) for event in events))
    assert arrays(engine, "one") == arrays(engine, "plain")


def test_the_export_says_all_of_it_to_the_bit(engine: Quiet, tmp_path: Path) -> None:
    """By the code of docs/logs.md, which has nothing of the service."""
    rng = np.random.default_rng(3)
    events = [engine.rank_now(k=4) for _ in range(30)]
    for turn in rng.permutation(90):
        event, kind = events[turn // 3], ("click", "cart", "purchase")[turn % 3]
        if kind == "click":
            engine.feed_now((event.id, [int(at) for at in rng.integers(1, 5, rng.integers(0, 3))]))
        else:
            tell(engine, event, int(rng.integers(1, 5)), kind, value=float(rng.random()))
    done = export(engine.store, tmp_path)
    assert (done.lists, done.with_feedback, done.outcomes) == (30, 30, 60)
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
    words: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], words)
    learned = words["learned"](tmp_path, rewards=REWARDS)
    assert learned["moment"].any()
    assert {name: one.tobytes() for name, one in learned.items()} == arrays(engine)


# What can have rewards


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"rewards": {"purchase": 5}}, "rewards must say what a click is worth"),
        ({"rewards": {}}, "rewards must say what a click is worth"),
        ({"rewards": {"click": 0, "dislike": -1}}, "one reward at least must be above 0"),
        (
            {"rewards": REWARDS, "policy": "CascadeKLUCB"},
            "CascadeKLUCB cannot learn rewards: it counts clicks, and its bounds hold for shares between 0 and 1",
        ),
        (
            {"rewards": REWARDS, "forgetting": {"window": 3}},
            "a model with rewards cannot forget: an outcome would have to fade with its list",
        ),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidError) as problem:
        policy_of(new_settings(settings), small_catalog())
    assert problem.value.message.startswith(reason)
    assert problem.value.where == "body.rewards"
