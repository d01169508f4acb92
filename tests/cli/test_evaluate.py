"""``rankfall evaluate``, as it is called."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from logged import CATALOG, drive, running

from rankfall import CascadeLinUCB, Catalog
from rankfall.cli import app
from rankfall.history.export import export
from rankfall.users import Cascade, PerItem, User
from rankfall.users.fitting import draw_log

ITEMS, K, LISTS = 6, 2, 3_000
ALPHA = np.array([0.1, 0.5, 0.2, 0.4, 0.3, 0.05])
USER = User(PerItem(ALPHA), Cascade())


def call(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "140"})
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A click log of lists drawn uniformly, its items, and a saved policy."""
    where = tmp_path_factory.mktemp("evaluate")
    catalog = Catalog(relevance=np.column_stack([np.ones(ITEMS), ALPHA]))
    catalog.write_parquet(where / "items.parquet")
    lists = np.argsort(np.random.default_rng(0).random((LISTS, ITEMS)), axis=1)[:, :K]
    given = np.tile(1.0 / (ITEMS - np.arange(K)), LISTS)
    rows = draw_log(USER, lists).with_columns(propensity_given_above=given, propensity_at_position=pl.lit(1 / ITEMS))
    rows.write_parquet(where / "clicks.parquet")
    policy = CascadeLinUCB(catalog, gamma=0.0)
    policy.update(policy.rank(1, fixed={0: 4}), 0)
    policy.save(where / "saved.rankfall")
    return where


@pytest.mark.parametrize("reward", ["any", "clicks"])
def test_a_table_numbers_and_a_figure(folder: Path, tmp_path: Path, reward: str) -> None:
    out = tmp_path / "out"
    options = ["--policy", folder / "saved.rankfall", "--policy", "CascadeUCB1", "--resamples", 50, "--reward", reward]
    said = call("evaluate", folder / "clicks.parquet", "--catalog", folder / "items.parquet", *options, "--out", out)
    assert "Cascade-DR" in said
    assert "as saved, after 1 updates" in said
    assert "as learned from the first 1,500 lists with feedback; it does not learn while it is judged" in " ".join(
        said.split()
    )
    assert "over 1,500 lists that it learns from" in " ".join(said.split())
    found = json.loads((out / "evaluation.json").read_text())
    saved, learned = found["policies"]
    truth = USER.reward([1, 3])  # by one update both policies rank by attraction: 1 and 3 are the best
    for name in ("ips", "rips", "cascade_dr"):
        one = saved["estimates"][name]
        assert abs(one["value"] - truth) < 4 * one["error"]
    assert ("iips" in saved["estimates"]) == (reward == "clicks")
    assert learned["simulated"]["learning"]["value"] <= learned["simulated"]["snapshot"] + 0.02
    drawn = [USER.reward([a, b]) for a in range(ITEMS) for b in range(ITEMS) if a != b]
    assert found["logged"]["value"] == pytest.approx(np.mean(drawn), abs=0.05)
    assert (out / "estimates.png").stat().st_size > 10_000
    assert (out / "estimates.svg").exists()


def test_the_click_model_is_chosen_and_told_or_given(folder: Path, tmp_path: Path) -> None:
    log = ["evaluate", folder / "clicks.parquet", "--catalog", folder / "items.parquet", "--policy", "CascadeUCB1"]
    log += ["--resamples", 0, "--no-simulation", "--out", tmp_path]
    said = " ".join(call(*log).split())
    found = json.loads((tmp_path / "evaluation.json").read_text())["fitted"]
    assert f"Fitted users: {found['model']}, on 1,500 lists of the first part; of 8 click models the one" in said
    assert round(found["likelihoods"][found["model"]], 4) == round(max(found["likelihoods"].values()), 4)
    said = " ".join(call(*log, "--click-model", "dbn").split())
    assert "Fitted users: dynamic_bayesian, on 1,500 lists of the first part" in said
    assert "of 8 click models" not in said


def test_lists_longer_than_those_of_the_first_part(folder: Path, tmp_path: Path) -> None:
    rows = pl.read_parquet(folder / "clicks.parquet").filter((pl.col("list") > LISTS // 2) | (pl.col("position") == 1))
    rows.write_parquet(tmp_path / "clicks.parquet")
    said = call("evaluate", tmp_path / "clicks.parquet", "--catalog", folder / "items.parquet", "--policy", "CascadeTS")
    assert "Lists have up to 2 items, and in the first part, which users are fitted to, up to 1" in " ".join(
        said.split()
    )
    assert "SN-RIPS" in said
    assert "direct" not in said.split("Fitted users")[0].split("Right on average")[0]


def test_two_policies_with_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "saved.rankfall").write_bytes((folder / "saved.rankfall").read_bytes())
    options = ["--policy", folder / "saved.rankfall", "--policy", tmp_path / "saved.rankfall"]
    said = call("evaluate", folder / "clicks.parquet", "--catalog", folder / "items.parquet", *options, code=2)
    assert "2 policies are called saved.rankfall; give each a name of its own" in said


def test_a_saved_policy_over_other_items(folder: Path, tmp_path: Path) -> None:
    CascadeLinUCB(Catalog(relevance=np.ones((4, 5)))).save(tmp_path / "other.rankfall")
    options = ["--catalog", folder / "items.parquet", "--policy", tmp_path / "other.rankfall"]
    said = " ".join(call("evaluate", folder / "clicks.parquet", *options, code=1).split())
    assert "other.rankfall cannot rank the items of the log: items with" in said


def test_an_export_of_a_service_that_draws(tmp_path: Path) -> None:
    few = list(CATALOG.ids[:4])
    with running(str(tmp_path / "data"), randomize=0.5, k=2) as engine:
        drive(engine, 120, candidates=few, k=2)
        export(engine.store, tmp_path / "log")
    said = call("evaluate", tmp_path / "log", "--policy", "CascadeLinUCB,gamma=0", "--resamples", 0, "--no-simulation")
    assert "SN-RIPS" in said
    assert "simulated" not in said
    assert "Left out" in said


def test_outcomes_are_judged_where_it_is_known_what_they_are_worth(folder: Path, tmp_path: Path) -> None:
    rows = pl.read_parquet(folder / "clicks.parquet").with_columns((pl.col("click") * 3.0).alias("outcome:purchase"))
    rows.write_csv(tmp_path / "clicks.csv")
    log = ["evaluate", tmp_path / "clicks.csv", "--catalog", folder / "items.parquet", "--out", tmp_path]
    log += ["--policy", folder / "saved.rankfall", "--policy", "CascadeTS", "--resamples", 0]
    said = " ".join(call(*log).split())
    assert "Share of lists clicked" in said
    assert (
        "The log has outcomes (purchase), which count for nothing here; say what they are worth, as in --rewards"
        in said
    )
    said = " ".join(call(*log, "--rewards", "click=1,purchase=2").split())
    assert "Worth of a list" in said
    assert "CascadeTS: as learned" in said
    assert "learned from the clicks alone: it counts clicks" in said
    saved, _ = json.loads((tmp_path / "evaluation.json").read_text())["policies"]
    truth = 7.0 * USER.reward([1, 3])  # a click, and three purchases of 2
    for name in ("rips", "cascade_dr"):
        assert abs(saved["estimates"][name]["value"] - truth) < 4 * saved["estimates"][name]["error"]
    assert saved["estimates"]["direct"]["value"] == pytest.approx(truth, rel=0.1)
    assert saved["simulated"]["snapshot"] == pytest.approx(truth, rel=0.1)
    replayed = call("replay", *log[1:4], "--policy", "CascadeLinUCB")
    assert "which count for nothing here" in " ".join(replayed.split())
    assert "does not say what clicks and outcomes are worth" in call(*log, "--reward", "worth", code=2)


def test_simulated_policies_get_the_requests_of_the_log(tmp_path: Path) -> None:
    few = list(CATALOG.ids[:4])
    with running(str(tmp_path / "data"), randomize=0.5, k=2) as engine:
        drive(engine, 200, candidates=few, k=2)
        export(engine.store, tmp_path / "log")
    call("evaluate", tmp_path / "log", "--policy", "CascadeLinUCB,gamma=0", "--resamples", 0, "--out", tmp_path)
    (found,) = json.loads((tmp_path / "evaluation.json").read_text())["policies"]
    assert found["simulated"]["snapshot"] == pytest.approx(found["estimates"]["direct"]["value"])  # the same lists


def test_a_model_of_each_user_goes_on_with_users_who_differ(tmp_path: Path) -> None:
    with running(str(tmp_path / "data"), randomize=0.5, scope="user", across_users=False) as engine:
        drive(engine, 300)
        export(engine.store, tmp_path / "log")
    said = call("evaluate", tmp_path / "log", "--policy", "CascadeLinUCB", "--resamples", 0, "--out", tmp_path)
    assert "simulated on 4 users fitted one by one to features and topics" in " ".join(said.split())
    found = json.loads((tmp_path / "evaluation.json").read_text())
    assert found["policies"][0]["simulated"]["lists"] == found["lists"]


def test_a_log_without_chance_is_told_what_can_be_said(tmp_path: Path) -> None:
    with running(str(tmp_path / "data")) as engine:
        drive(engine, 60)
        export(engine.store, tmp_path / "log")
    asked = ["evaluate", tmp_path / "log", "--policy", "CascadeLinUCB", "--reward", "clicks", "--out", tmp_path]
    said = " ".join(call(*asked).split())
    assert ">bounds<" in (tmp_path / "estimates.svg").read_text()
    assert "at least" in said
    assert "items at positions" in said
    assert "No list that was judged is known to be drawn" in said
    assert "RIPS" not in said


def test_the_folder_is_made_before_the_work(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read if what is found could not be written."""
    monkeypatch.setattr("rankfall.history.replayable.open_log", lambda *_, **__: pytest.fail("the log was opened"))
    (tmp_path / "file").touch()
    said = call("evaluate", folder / "clicks.parquet", "--policy", "A", "--out", tmp_path / "file" / "x", code=1)
    assert "cannot make the folder" in said


def test_a_log_of_an_earlier_version() -> None:
    log = Path(__file__).parents[1] / "fixtures" / "0.1.0" / "log"
    said = call("evaluate", log, "--model", "shared", "--policy", "CascadeLinUCB", "--resamples", 0)
    assert "at least" in said


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--policy", "CascadeHybrid,epsilon=2"], 2, "only gamma can be set"),
        (["--policy", "CascadeHybrid,gamma=much"], 2, "gamma must be a number"),
        (["--policy", "Nobody"], 1, "Nobody"),
        (["--policy", "nothing.rankfall"], 2, "the file nothing.rankfall does not exist"),
        (["--policy", "CascadeUCB1", "--learn-from", "0.9999"], 1, "0 lists can be used"),
        (["--policy", "CascadeUCB1", "--learn-from", "nan"], 1, "the share to learn from must be a number in [0, 1]"),
        (["--policy", "CascadeUCB1", "--out", "/dev/null/x"], 1, "cannot make the folder /dev/null/x: Not a directory"),
        ([], 2, "Missing option '--policy'"),
    ],
)
def test_what_cannot_be_judged(folder: Path, options: list[str], code: int, why: str) -> None:
    said = call("evaluate", folder / "clicks.parquet", "--catalog", folder / "items.parquet", *options, code=code)
    assert why in " ".join(said.split())
