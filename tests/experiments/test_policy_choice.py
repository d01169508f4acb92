"""Policies of a study: by name, by module:Name, by class."""

from pathlib import Path
from typing import Any

import pytest

from rankfall import CascadeUCB1, Catalog, ProblemError
from rankfall.experiments import Study, plan, run_study
from rankfall.experiments.policy_choice import is_importable, make_policy, name_of, settings_of

CATALOG = Catalog(relevance=[[1.0], [0.5], [0.2]])
OWN = """
from rankfall import Ranking

class Fixed:
    def __init__(self, catalog, *, k, first=0):
        self.n_items, self.first = len(catalog), first

    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        return Ranking([(self.first + i) % self.n_items for i in range(k)])

    def update(self, ranking, click):
        pass

nothing = 5
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a policy of someone's own and a study that names it."""
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "fixed_lists.py").write_text(OWN)
    (tmp_path / "study.toml").write_text(
        'name = "mine"\nk = 2\nsteps = 50\nusers = 2\npolicies = ["fixed_lists:Fixed", "CascadeUCB1"]\n'
        "[user]\nattraction = [0.1, 0.2, 0.7]\n[[sweep]]\nsettings.first = [0, 2]\n"
    )
    yield tmp_path
    sys.modules.pop("fixed_lists", None)


def test_a_policy_of_ones_own_out_of_the_folder_of_the_study(own: Path, tmp_path: Path) -> None:
    study = Study.read(own / "study.toml")
    assert settings_of("fixed_lists:Fixed") == {"k", "first"}
    laid = plan(study)
    assert len(laid.setups) == 3  # CascadeUCB1 has no such setting, so its two cases coincide
    alone = run_study(laid, tmp_path / "one", workers=1)
    both = run_study(laid, tmp_path / "two", workers=2)  # in other processes
    assert alone.equals(both)
    first, last = (
        alone.filter(policy="fixed_lists:Fixed", first=first, step=50)["regret"].to_list() for first in (0, 2)
    )
    assert all(a > b for a, b in zip(first, last, strict=True))


def test_a_folder_of_an_earlier_form_of_the_policy_is_refused(own: Path) -> None:
    study = Study.read(own / "study.toml")
    run_study(plan(study), own / "out", workers=1)
    (own / "fixed_lists.py").write_text(OWN + "# changed\n")
    with pytest.raises(Exception, match="was begun with policies of your own fixed_lists:Fixed"):
        run_study(plan(study), own / "out", workers=1)


def test_a_class_that_cannot_be_imported_runs_in_threads(tmp_path: Path) -> None:
    class Mine(CascadeUCB1):  # type: ignore[misc,valid-type]
        pass

    user = {"attraction": [0.1, 0.2, 0.7]}
    given = Study("mine", user, (Mine, "CascadeUCB1"), k=2, users=2, steps=30)  # type: ignore[arg-type]
    assert name_of(Mine).endswith("<locals>.Mine")
    assert not is_importable(name_of(Mine))
    runs = run_study(plan(given), tmp_path, workers=2)
    one, other = (runs.filter(case=label)["regret"] for label in given.policies)
    assert one.equals(other)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Nobody", "no policy 'Nobody'; choose from BatchRank, .*, or give your own as module:Name"),
        ("no_such_module:Mine", "cannot import the policy 'no_such_module:Mine': No module named"),
        ("fixed_lists:Missing", "cannot import the policy 'fixed_lists:Missing': module 'fixed_lists' has no"),
        ("fixed_lists:nothing", "'fixed_lists:nothing' is no policy"),
    ],
)
def test_a_policy_that_is_not_there(own: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.syspath_prepend(own)
    with pytest.raises(ProblemError, match=said):
        name_of(name)


def test_settings_reach_the_policy() -> None:
    made: Any = make_policy("CascadeHybrid", CATALOG, k=2, steps=9, settings={"forgetting": {"window": 7}, "gamma": 2})
    assert (made.gamma, made.forgetting.lists) == (2.0, 7)
    with pytest.raises(ProblemError, match=r"forgetting must be { discount = 0.999 } or { window = 1000 }, got"):
        make_policy("CascadeHybrid", CATALOG, k=2, steps=9, settings={"forgetting": {"half": 7}})
    with pytest.raises(ProblemError, match="CascadeUCB1 has no setting 'gamma'"):
        make_policy("CascadeUCB1", CATALOG, k=2, steps=9, settings={"gamma": 2})
