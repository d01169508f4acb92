import sys
from dataclasses import replace

import pytest
from small_studies import OF_MANY_KINDS, ON_DATA

from rankfall.experiments import Chunk, Plan, forecast, plan


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["rankfall.experiments.forecast"], "_SECONDS", 0.05)


def chunks_of(laid: Plan, **changes: int) -> list[Chunk]:
    return [chunk for setup in laid.setups for chunk in replace(setup, **changes).chunks]


def test_a_forecast_grows_with_the_work() -> None:
    laid = plan(ON_DATA)
    told = forecast(laid, workers=2, trials=1)
    assert len(told.trials) == 2
    assert told.crowding >= 1
    once = told.seconds(laid.chunks)
    assert once > 0
    assert told.seconds(chunks_of(laid, users=30)) == pytest.approx(10 * once)
    later, latest = (told.seconds(chunks_of(laid, steps=steps)) for steps in (50_000_000, 100_000_000))
    assert latest == pytest.approx(2 * later, rel=0.02)
    for policy in ON_DATA.policies:
        early, late = told.per_step(policy)
        assert early > 0
        assert late > 0


def test_any_policy_on_any_user_can_be_tried() -> None:
    laid = plan(OF_MANY_KINDS)
    told = forecast(laid, workers=2)
    assert {trial.setup.policy for trial in told.trials} == {setup.policy for setup in laid.setups}
    assert told.seconds(laid.chunks) > 0


def test_a_setup_is_like_the_nearest_trial() -> None:
    laid = plan(ON_DATA)
    told = forecast(laid, workers=1, trials=8)
    for trial in told.trials:
        assert trial.distance(trial.setup) == 0
        assert told.run_seconds(trial.setup) == trial.seconds_for(trial.setup.steps)
        other = next(each for each in told.trials if each is not trial and each.setup.policy == trial.setup.policy)
        assert trial.distance(other.setup) == other.distance(trial.setup) > 0
