"""A log with outcomes: replayed to the bit, by other policies and with other rewards, and what estimates make of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from logged import CATALOG, drive, running, same, state_of

from rankfall import Discount, ProblemError, Rewards
from rankfall.errors import FileError
from rankfall.history.export import export
from rankfall.history.exported import Log
from rankfall.history.replay import replay
from rankfall.service.commands import GiveFeedback
from rankfall.service.engine import Engine
from rankfall.wire import FeedbackRequest, Outcome, RankRequest

REWARDS = {"click": 1.0, "cart": 2.0, "purchase": 5.0}


def tell(engine: Engine, events: list[str], seed: int = 0) -> None:
    """Report something of each list, on an item that may not have been seen."""
    rng = np.random.default_rng(seed)
    for event in events:
        kind, position = ("cart", "purchase")[rng.integers(2)], int(rng.integers(1, 3))
        outcome = Outcome(position=position, type=kind, value=float(rng.random()))
        (told,) = engine.write(GiveFeedback((FeedbackRequest(event, outcomes=[outcome]),)))
        assert told.result == "accepted"


def test_a_replay_with_the_same_policy_has_the_state_of_the_service(place: str, tmp_path: Path) -> None:
    with running(place, rewards=REWARDS, scope="user") as engine:
        made = drive(engine, 40)
        tell(engine, made)  # of some lists before their clicks, which the next call may give
        made += drive(engine, 20, seed=1)
        tell(engine, made[40:])
        done = export(engine.store, tmp_path)
        found = replay(Log(tmp_path), "CascadeHybrid", 0.5)
        for user in ("u0", "u1", "u2", "u3"):
            assert same(found.policies[user].state(), state_of(engine, key=user))
    assert done.outcomes == 60
    assert 30 < found.outcomes <= 60
    assert found.rewards == REWARDS
    without = replay(Log(tmp_path), "CascadeHybrid", 0.5, rewards=Rewards({"click": 1.0}))
    assert without.weights != found.weights
    assert json.loads(json.dumps(found.plain()))["outcomes"] == found.outcomes


def test_early_outcomes_are_replayed_with_their_clicks(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), rewards=REWARDS) as engine:
        for turn in range(12):
            event = asyncio.run(engine.rank(engine.state.model("default"), RankRequest(k=4)))
            outcome = Outcome(position=turn % 3 + 1, type="purchase")
            engine.write(GiveFeedback((FeedbackRequest(event.id, outcomes=[outcome]),)))
            engine.write(GiveFeedback((FeedbackRequest(event.id, turn % 4 + 1),)))
        export(engine.store, tmp_path)
        assert same(replay(Log(tmp_path), "CascadeHybrid", 0.5).policies[""].state(), state_of(engine))


def test_policies_that_cannot_learn_rewards_learn_the_clicks_and_say_so(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), rewards=REWARDS) as engine:
        tell(engine, drive(engine, 20))
        export(engine.store, tmp_path)
    log = Log(tmp_path)
    for policy, forgetting, why in (
        ("CascadeTS", None, "it counts clicks"),
        ("CascadeLSB", Discount(0.9), "it forgets"),
    ):
        found = replay(log, policy, 1.0, forgetting=forgetting)
        assert found.outcomes == 0
        assert found.counts.learned > 10
        assert any("learned from the clicks alone: " + why in note for note in found.notes)
        with pytest.raises(ProblemError, match=f"{policy} cannot learn rewards: {why}"):
            replay(log, policy, 1.0, forgetting=forgetting, rewards=Rewards(REWARDS))


def test_an_estimate_of_the_reward(tmp_path: Path) -> None:
    """By hand: of the lists that the policy would have shown, each weighs 12, one over its chance."""
    few = list(CATALOG.ids[:4])
    with running(str(tmp_path / "data"), randomize=1.0, k=2, rewards=REWARDS) as engine:
        made = drive(engine, 120, candidates=few, k=2)
        tell(engine, made)
        export(engine.store, tmp_path)
    found = replay(Log(tmp_path), "CascadeLinUCB", 0.0)
    lists = pl.read_parquet(tmp_path / "events.parquet").filter(pl.col("result").is_not_null())
    outcomes = pl.read_parquet(tmp_path / "outcomes.parquet")
    worth: dict[str, float] = {row["event_id"]: float(len(row["clicked"])) for row in lists.iter_rows(named=True)}
    for row in outcomes.iter_rows(named=True):
        if row["event_id"] in worth:
            worth[row["event_id"]] += REWARDS[row["type"]] * row["value"]
    estimate: Any = found.reward_estimate
    assert estimate.logged == pytest.approx(np.mean(list(worth.values())))
    assert estimate.matched == found.estimate.matched > 0  # type: ignore[union-attr]
    assert estimate.ips.value == pytest.approx(estimate.self_normalised.value * 12 * estimate.matched / estimate.lists)
    assert found.plain()["reward_estimate"]["ips"]["low"] < estimate.ips.value


def test_files_of_two_exports_do_not_go_together(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), rewards=REWARDS) as engine:
        tell(engine, drive(engine, 5))
        export(engine.store, tmp_path / "one")
        export(engine.store, tmp_path / "two")
    (tmp_path / "one" / "outcomes.parquet").replace(tmp_path / "two" / "outcomes.parquet")
    with pytest.raises(FileError, match="different exports"):
        Log(tmp_path / "two")
