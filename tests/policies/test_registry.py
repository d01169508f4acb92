"""Policies are found by name, by ``module:Name`` and by class, and made with the settings they have."""

import sys
from pathlib import Path

import pytest

from rankfall import POLICIES, Catalog, Policy, ProblemError, find_policy, load, make_policy
from rankfall.policies import SERVED, name_of, settings_of

OWN = """
from dataclasses import dataclass

import numpy as np

from rankfall import Policy, PolicySettings, Ranking
from rankfall.policies.settings import real


@dataclass(frozen=True)
class Settings(PolicySettings):
    bonus: float = real(1.0, low=0.0)


class Popular(Policy):
    Settings = Settings

    def begin(self):
        self.arrays = {"clicks": np.zeros(self.n_items)}

    def choose(self, request, rng):
        return Ranking(request.best(self.arrays["clicks"]))

    def learn(self, ranking, clicks):
        self.arrays["clicks"][ranking.items[clicks]] += self.settings.bonus
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Policy]:
    """A policy of someone's own, in a module that can be imported."""
    (tmp_path / "popular_items.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield find_policy("popular_items:Popular")
    sys.modules.pop("popular_items", None)


def test_all_policies_are_here() -> None:
    assert len(POLICIES) == 36
    assert list(POLICIES) == sorted(POLICIES)
    assert all(policy.__name__ == name == name_of(policy) for name, policy in POLICIES.items())
    assert set(SERVED) == {name for name, policy in POLICIES.items() if policy.why_not_served is None}


def test_a_policy_of_ones_own_by_name(own: type[Policy], tmp_path: Path) -> None:
    assert name_of(own) == "popular_items:Popular"
    assert settings_of(own) == {"bonus"}
    policy = make_policy("popular_items:Popular", Catalog(ids=range(4)), k=2, steps=10, bonus=2)
    policy.update(policy.rank(3), 2)
    policy.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert type(again) is own
    assert again.settings.bonus == 2.0
    assert again.rank(2).items.tolist() == [2, 0]


def test_a_saved_policy_whose_module_is_gone(own: type[Policy], tmp_path: Path) -> None:
    policy = own(4)
    policy.save(tmp_path / "saved")
    (tmp_path / "popular_items.py").unlink()
    sys.modules.pop("popular_items", None)
    with pytest.raises(Exception, match=r"cannot import the policy 'popular_items:Popular'.*give its class"):
        load(tmp_path / "saved")
    assert type(load(tmp_path / "saved", policy=own)) is own


def test_k_and_steps_are_for_those_that_have_them() -> None:
    catalog = Catalog(relevance=[[1.0], [0.5], [0.2]])
    assert make_policy("BatchRank", catalog, k=2, steps=500).settings.steps == 500
    assert make_policy(POLICIES["CascadeLinUCB"], catalog, k=2, steps=500, gamma=0.5).gamma == 0.5
    with pytest.raises(ProblemError, match="CascadeUCB1 has no setting 'gamma'; it has exploration"):
        make_policy("CascadeUCB1", catalog, k=2, steps=500, gamma=0.5)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Nobody", "no policy 'Nobody'; choose from BatchRank, .*, or give your own as module:Name"),
        ("no_such_module:Mine", "cannot import the policy 'no_such_module:Mine': No module named"),
        ("math:pi", "'math:pi' is no policy"),
    ],
)
def test_a_policy_that_is_not_there(name: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        find_policy(name)
