"""Chances of lists that a service drew, worked out again from its log."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from logged import running

from rankfall.estimates import chances_under
from rankfall.history.export import export
from rankfall.history.exported import Log
from rankfall.history.judged_lists import judged_lists, moment_after
from rankfall.history.logged_chances import chances_of_draws
from rankfall.policies import Policy
from rankfall.service.commands import GiveFeedback, Reset
from rankfall.service.engine import Engine
from rankfall.wire import FeedbackRequest, RankRequest

K = 2


def serve(engine: Engine, lists: int) -> dict[str, tuple[Policy, list[int]]]:
    """Lists with late feedback, and the policy as it was when each was made."""
    rng, made, waiting = np.random.default_rng(0), {}, []

    async def go() -> None:
        model = engine.state.model("default")
        for _ in range(lists):
            user = f"u{rng.integers(2)}"
            view = await engine.view(model, model.owner(user, None) or "")
            before = copy.deepcopy(view.policy)
            event = await engine.rank(model, RankRequest(user=user, k=K, candidates=list(range(6))))
            catalog = engine.state.items.current_version()[0]
            ids = [item["id"] for item in json.loads(event.response)["items"]]
            made[event.id] = before, [int(catalog.row(item) or 0) for item in ids]
            waiting.append(event.id)
            if len(waiting) > 3:
                given = FeedbackRequest(
                    event_id=waiting.pop(int(rng.integers(3))), clicked=[1] if rng.random() < 0.5 else None
                )
                await engine.writer.submit(GiveFeedback((given,)))

    asyncio.run(go())
    return made


@pytest.mark.parametrize("scope", ["global", "user"])
def test_epsilon_lists_have_the_chances_they_had_to_the_bit(tmp_path: Path, scope: str) -> None:
    with running(str(tmp_path / "data"), policy="CascadeHybridEpsilon", scope=scope, across_users=False) as engine:
        made = serve(engine, 40)
        export(engine.store, tmp_path)
    log = Log(tmp_path)
    found = chances_of_draws(log, log.events(), moment_after(log, 0.25), 100)
    assert len(found.found) > 20
    assert found.counted == 0
    for name, one in found.found.items():
        policy, rows = made[name]
        expected = chances_under(policy, rows, candidates=range(6)).chances
        assert one.chances.down_to.tobytes() == expected.down_to.tobytes()


def test_thompson_lists_have_theirs_within_the_error(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), policy="CascadeHybridTS") as engine:
        made = serve(engine, 40)
        export(engine.store, tmp_path)
    log = Log(tmp_path)
    found = chances_of_draws(log, log.events(), moment_after(log, 0.5), 1_000)
    assert len(found.found) == found.counted > 10
    for name, one in found.found.items():
        policy, rows = made[name]
        other = chances_under(policy, rows, 4_000, np.random.default_rng(9), candidates=range(6))
        apart = np.abs(one.chances.down_to[0] - other.chances.down_to[0])
        assert (apart < 5 * np.hypot(one.errors, other.errors) + 10 / 1_000 * one.too_low).all()
    judged = judged_lists(log, moment_after(log, 0.5))
    assert judged.basis == "positions"
    assert "were counted among 1,000 lists" in " ".join(judged.notes)


def test_what_was_unlearned_or_changed_is_not_known(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), policy="CascadeHybridTS") as engine:
        serve(engine, 12)
        engine.write(Reset("default"))
        serve(engine, 12)
        export(engine.store, tmp_path / "reset")
    log = Log(tmp_path / "reset")
    assert "was reset" in (chances_of_draws(log, log.events(), moment_after(log, 0.5), 100).why or "")
    assert any("was reset" in note for note in judged_lists(log, moment_after(log, 0.25)).notes)


def test_a_policy_that_never_draws_needs_nothing(tmp_path: Path) -> None:
    with running(str(tmp_path / "data")) as engine:
        serve(engine, 12)
        export(engine.store, tmp_path)
    log = Log(tmp_path)
    assert not chances_of_draws(log, log.events(), moment_after(log, 0.5), 100).found
    assert pl.read_parquet(tmp_path / "events.parquet")["model_version"].is_sorted()
