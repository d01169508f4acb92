"""Policies saved by version 0.1.0 open with the same bits, and go on as they did there."""

import json
from pathlib import Path

import numpy as np
import pytest

from rankfall import POLICIES, CascadeHybrid, LinearPolicy, load
from rankfall.policies import Policy

FOLDER = Path(__file__).parents[1] / "fixtures" / "0.1.0"
FACTS = json.loads((FOLDER / "policies.json").read_text())
K = 3


def bits(policy: Policy) -> dict[str, str]:
    return {name: array.tobytes().hex() for name, array in policy.state().items()}


def teach(policy: Policy, turns: range) -> list[list[object]]:
    """As in make_policies.py."""
    shown = []
    for turn in turns:
        ranking = policy.rank(K, rng=np.random.default_rng([turn, 3]))
        shown.append([ranking.items.tolist(), [score.hex() for score in ranking.scores.tolist()]])
        policy.update(ranking, (None, 0, 2, [0, 1], None, 1)[turn % 6])
    return shown


@pytest.mark.parametrize("label", list(FACTS))
def test_the_state_is_the_same_and_what_follows_too(label: str, tmp_path: Path) -> None:
    facts, policy = FACTS[label], load(FOLDER / "policies" / label)
    assert policy.n_updates == facts["n_updates"]
    assert bits(policy) == facts["state"]
    policy.save(tmp_path / "again")
    again = load(tmp_path / "again")
    for one in (policy, again):
        assert bits(one) == facts["state"]
        assert teach(one, range(40, 52)) == facts["next"]
    assert bits(policy) == bits(again)


def test_every_policy_that_0_1_0_could_save_is_here() -> None:
    served = {name for name, policy in POLICIES.items() if policy.why_not_served is None}
    assert served <= set(FACTS)


def test_classes_and_settings_are_what_they_were() -> None:
    hybrid = load(FOLDER / "policies" / "CascadeHybrid-last-click")
    assert type(hybrid) is CascadeHybrid
    assert (hybrid.settings.gamma, hybrid.settings.feedback) == (0.4, "last_click")
    assert load(FOLDER / "policies" / "CascadeHybridEpsilon-often").settings.epsilon == 0.5
    own = load(FOLDER / "policies" / "own-recipe")
    assert isinstance(own, LinearPolicy)
    assert (type(own).__name__, own.exploration, own.learns_from) == ("Mine", "thompson", "all")
