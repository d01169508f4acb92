"""Studies of the field: from a file to a table beside published figures."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankfall.catalog import Catalog
from rankfall.cli import app
from rankfall.errors import FileError, ProblemError
from rankfall.experiments.field import FieldStudy, compared, frame_of, is_field, markdown, run_field, write_field
from rankfall.experiments.simulation import simulate
from rankfall.policies import LINEAR, POLICIES, check_policy
from rankfall.users import Drifting, Intents, PerItem, PositionBased, User, restaurant
from rankfall.users.fitting import Fitted, draw_log

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "studies" / "field").glob("*.toml"))

SMALL = """
name = "Two policies"
source = "nobody, nowhere"
steps = 400
runs = 3
k = 2

[user]
attraction = { best = 2, good = 0.6, rest = 4, bad = 0.1 }
clicks = "cascade"

[[case]]
label = "KL"
policy = "CascadeKLUCB"
[case.published]
value = 10.0
error = 1.0

[[case]]
label = "UCB1"
policy = "CascadeUCB1"
"""


def results(study: FieldStudy, workers: int = 1) -> pl.DataFrame:
    return frame_of(study, {(c, r): run for c, r, run in run_field(study, workers=workers)})


def test_a_study_from_text_to_table(tmp_path: Path) -> None:
    study = FieldStudy.from_toml(SMALL)
    runs = results(study)
    assert runs["case"].unique(maintain_order=True).to_list() == ["KL", "UCB1"]
    catalog, user = study.cases[0].world()
    seed = np.random.SeedSequence(0, spawn_key=(0, 1))
    alone = simulate(study.cases[0].make(catalog, 400), user, 400, 2, seed)
    same = runs.filter((pl.col("case") == "KL") & (pl.col("run") == 1) & (pl.col("step") == 400))
    assert same["regret"].item() == alone.regret[-1]
    table = compared(study, runs)
    assert table["difference"].to_list() == [pytest.approx(table["regret"][0] - 10.0), None]
    assert "| KL |" in markdown(study, table)
    files = write_field(study, runs, tmp_path / "out")
    assert [file.name for file in files] == ["runs.parquet", "table.md", "regret.png", "regret.svg"]
    assert pl.read_parquet(files[0]).equals(runs)


def test_workers_change_nothing() -> None:
    study = FieldStudy.from_toml(SMALL)
    assert results(study, workers=2).equals(results(study))


def test_users_that_drift_and_users_with_features() -> None:
    drifting = FieldStudy.from_toml(
        SMALL.replace("[[case]]", "drift = [{ from = 200, attraction = [0.1, 0.1, 0.1, 0.1, 0.6, 0.6] }]\n[[case]]", 1)
    )
    assert isinstance(drifting.cases[0].world()[1], Drifting)
    assert compared(drifting, results(drifting))["late"].to_list() == [None, None]
    for attraction in ("hybrid", "linear", "coverage"):
        text = f"""
        name = "x"
        steps = 50
        k = 3
        policies = ["CascadeHybrid"]
        settings = {{ CascadeHybrid = {{ gamma = 0.1 }} }}
        [user]
        generate = {{ items = 12, topics = 3, features = 2 }}
        attraction = "{attraction}"
        clicks = "position_based"
        examination = [0.9, 0.5, 0.3]
        """
        (case,) = FieldStudy.from_toml(text).cases
        catalog, user = case.world()
        assert len(catalog) == user.n_items == 12
        assert case.make(catalog, 50).gamma == 0.1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("CascadeUCB1", "Cascade", "no policy 'Cascade'"),
        ("k = 2", "k = 0", "k must be a whole number"),
        ("steps = 400", "steps = 'many'", "steps must be a whole number"),
        ("cascade", "guess", "clicks is 'guess'"),
        ("good = 0.6, ", "", "attraction needs best, good, rest and bad"),
        ("value = 10.0", "value = 10.0\nwhat = 'luck'", "what must be regret or clicks"),
        ('label = "UCB1"', 'label = "KL"', "labels of their own"),
        ("clicks =", "mood =", "a user has no 'mood'"),
        ("source =", "sauce =", "has no 'sauce'"),
        ('label = "UCB1"\n', "", "a case needs label"),
        ("[[case]]", "[[case", "not TOML"),
    ],
)
def test_what_makes_no_sense_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        results(FieldStudy.from_toml(SMALL.replace(old, new)))


def test_the_command_runs_studies_of_both_kinds(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SMALL)
    assert is_field(file)
    assert not is_field(tmp_path / "none.toml")
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "table.md" in done.output
    dry = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "dry"), "--dry-run"])
    assert "2 cases, 3 runs of 400 steps, 2,400 lists in all" in dry.output
    assert not (tmp_path / "dry").exists()
    with pytest.raises(FileError, match="cannot read"):
        FieldStudy.read(tmp_path / "none.toml")


INTENTS = """
name = "Many intents"
steps = 200
runs = 3
k = 2
policies = ["RankedUCB1"]

[user]
intents = { users = 8, documents = 6, alpha = 2.0, relevant = 0.9, other = 0.05, seed = [4, 7] }
"""


def test_users_with_intents_and_another_population_in_each_run() -> None:
    study = FieldStudy.from_toml(INTENTS)
    runs, table = results(study), compared(study, results(study))
    for r, seed in enumerate([4, 7, 4]):
        catalog, user = study.cases[0].world(r)
        expected = restaurant(8, 6, 2.0, relevant=0.9, other=0.05, seed=seed)
        assert isinstance(user, Intents)
        assert (user.wanted == expected.wanted).all()
        assert (len(catalog), user.relevant, user.other) == (6, 0.9, 0.05)
        assert runs.filter(pl.col("run") == r)["best"].unique().to_list() == [user.reward(user.best(2))]
    last = runs.filter(pl.col("step").is_in([180, 200])).sort("run", "step")
    lost = last["regret"].to_numpy().reshape(3, 2) @ [-1.0, 1.0]
    assert table["late"].item() == pytest.approx(np.mean(1 - lost / 20 / last["best"].to_numpy()[::2]))
    assert f"| {table['late'].item():.1%} |" in markdown(study, table)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("users = 8", "people = 8", "intents makes no sense: .*people"),
        ("users = 8", "users = 0", "users must be a whole number from 1 on, got 0"),
        ("[4, 7]", "[]", "seed of intents is an empty list"),
        ("[user]", '[user]\nclicks = "cascade"', "a user with 'intents' is complete; leave 'clicks' away"),
    ],
)
def test_intents_that_make_no_sense_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        FieldStudy.from_toml(INTENTS.replace(old, new)).cases[0].world()


FITTED = """
name = "Which policy suits my users?"
steps = 300
runs = 2
k = 3
policies = ["CascadeKLUCB", "CascadeLinUCB", "TopRank"]

[user]
fitted = "fits/model.parquet"
reward = "any"
"""


def test_policies_on_a_user_fitted_from_a_log(tmp_path: Path) -> None:
    """From a log through two commands to a table, with the user that the fit found."""
    true = User(PerItem([0.6, 0.1, 0.3, 0.2, 0.5]), PositionBased([1.0, 0.6, 0.3]))
    shown = np.random.default_rng(0).permuted(np.tile(np.arange(5), (3000, 1)), axis=1)[:, :3]
    log = draw_log(true, shown).with_columns(pl.col("item").replace_strict(range(5), list("abcde")))
    log.write_parquet(tmp_path / "clicks.parquet")
    (tmp_path / "fits").mkdir()
    study, model = tmp_path / "study.toml", tmp_path / "fits" / "model.parquet"
    study.write_text(FITTED)

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    run("fit", tmp_path / "clicks.parquet", "--model", "position_based", "--out", model)
    out = tmp_path / "out"
    run("run", study, "--out", out, "--workers", 1)
    catalog, user = FieldStudy.read(study).cases[0].world()
    fitted = Fitted.read_parquet(model)
    assert isinstance(user, User)
    assert len(catalog) == user.n_items == 5
    assert user.rewarded == "any"
    assert user.best(3).tolist() == true.best(3).tolist() == [0, 4, 2]
    assert user.reward([0, 4, 2]) == fitted.user(3, "any").reward([0, 4, 2])
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs["best"].unique().to_list() == [user.reward([0, 4, 2])]
    assert "| TopRank |" in (out / "table.md").read_text()


def test_policies_learn_by_the_features_of_a_catalog(tmp_path: Path) -> None:
    ones = np.ones(3)
    log = pl.Series("item", [7, 8, 9])
    Fitted("cascade", log, np.array([0.1, 0.2, 0.3]), ones, ones, ones, -1.0, 10).write_parquet(tmp_path / "m.parquet")
    known = Catalog([[0.9], [0.8], [0.7], [0.6]], [[9.0], [8.0], [7.0], [1.0]], ids=[9, 8, 7, 1], topics=["t"])
    known.write_parquet(tmp_path / "items.parquet")
    study = tmp_path / "study.toml"
    text = FITTED.replace("fits/model.parquet", "m.parquet") + 'catalog = "items.parquet"'
    study.write_text(text)
    catalog, user = FieldStudy.read(study).cases[0].world()
    assert catalog == Catalog([[0.7], [0.8], [0.9]], [[7.0], [8.0], [9.0]], ids=[7, 8, 9], topics=["t"])
    assert user.best(1).tolist() == [2]
    known.withdraw([8]).write_parquet(tmp_path / "items.parquet")
    with pytest.raises(ProblemError, match=r"the log has an item that .*items\.parquet has not: no item with id 8"):
        FieldStudy.read(study).cases[0].world()
    with pytest.raises(ProblemError, match="a catalog only beside fitted"):
        FieldStudy.from_toml(INTENTS + 'catalog = "items.parquet"')


def test_a_user_does_not_change_to_one_of_other_items(tmp_path: Path) -> None:
    ones = np.ones(3)
    for name, items in (("m", ["a", "b", "c"]), ("n", ["a", "b", "d"])):
        model = Fitted("cascade", pl.Series("item", items), np.full(3, 0.5), ones, ones, ones, -1.0, 10)
        model.write_parquet(tmp_path / f"{name}.parquet")
    text = FITTED.replace("fits/model.parquet", "m.parquet")
    study = FieldStudy.from_toml(text + 'drift = [{ from = 5, fitted = "n.parquet" }]', tmp_path)
    with pytest.raises(ProblemError, match="from step 5 on the user knows other items"):
        study.cases[0].world()
    with pytest.raises(ProblemError, match="does not drift"):
        FieldStudy.from_toml(text + 'drift = [{ from = 5, catalog = "n.parquet" }]', tmp_path)
    for wrong in ("5", "[5]", '"ab"'):
        with pytest.raises(ProblemError, match="drift must be a list"):
            FieldStudy.from_toml(f"{text}drift = {wrong}", tmp_path)
    with pytest.raises(ProblemError, match="intents must be a table of words, got 5"):
        FieldStudy.from_toml(INTENTS.replace("{ users = 8", "5 # ")).cases[0].world()


def test_what_makes_no_sense_of_a_fitted_user_is_refused(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(FITTED)
    with pytest.raises(FileError, match=r"fits/model\.parquet does not exist"):
        FieldStudy.read(study).cases[0].world()
    with pytest.raises(ProblemError, match="a user with 'fitted' is complete; leave 'clicks' away"):
        FieldStudy.from_toml(FITTED + 'clicks = "cascade"')
    with pytest.raises(ProblemError, match="a user has no 'mood'"):
        FieldStudy.from_toml(FITTED + "drift = [{ from = 10, mood = 1 }]")
    with pytest.raises(ProblemError, match="from must be a whole number from 1 on, got None"):
        FieldStudy.from_toml(FITTED + 'drift = [{ fitted = "other.parquet" }]')
    with pytest.raises(ProblemError, match="fitted must be the path of a file, got 3"):
        FieldStudy.from_toml(FITTED.replace('"fits/model.parquet"', "3")).cases[0].world()
    (tmp_path / "fits").mkdir()
    ones = np.ones(2)
    few = Fitted("cascade", pl.Series("item", [7, 8, 9]), np.full(3, 0.5), ones, ones, np.ones(3), -1.0, 10)
    few.write_parquet(tmp_path / "fits" / "model.parquet")
    with pytest.raises(ProblemError, match=r"k is 3, and .*model\.parquet was fitted on lists of up to 2 items"):
        FieldStudy.read(study).cases[0].world()


def test_a_fitted_user_may_become_another(tmp_path: Path) -> None:
    for name, alpha in (("one", [0.1, 0.5, 0.3]), ("other", [0.5, 0.1, 0.3])):
        ones = np.ones(2)
        fitted = Fitted("cascade", pl.Series("item", [7, 8, 9]), np.array(alpha), ones, ones, np.ones(3), -1.0, 10)
        fitted.write_parquet(tmp_path / f"{name}.parquet")
    text = FITTED.replace("k = 3", "k = 2").replace("fits/model", "one")
    text += 'drift = [{ from = 100, fitted = "other.parquet" }]'
    _, user = FieldStudy.from_toml(text, tmp_path).cases[0].world()
    assert isinstance(user, Drifting)
    assert (user.at(99).best(1).tolist(), user.at(100).best(1).tolist()) == ([1], [0])


def test_many_items_need_no_column_each() -> None:
    text = SMALL.replace("rest = 4", "rest = 30_000")
    catalog, user = FieldStudy.from_toml(text).cases[0].world()
    assert (len(catalog), catalog.n_features, user.n_items) == (30_002, 0, 30_002)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_study_that_comes_along_can_be_made(file: Path) -> None:
    study = FieldStudy.read(file)
    for case in study.cases:
        catalog, user = case.world()
        policy = case.make(catalog, study.steps)
        simulate(policy, user, 5, case.k)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_keeps_the_contract_and_says_what_it_is(name: str) -> None:
    kind = POLICIES[name]
    assert kind.name == name
    assert kind.summary
    assert kind.paper
    catalog, _ = FieldStudy.read(ROOT / "studies" / "field" / "all.toml").cases[0].world()
    check_policy(kind.make(catalog, k=3, steps=1000))


def test_the_list_of_policies() -> None:
    shown = CliRunner().invoke(app, ["policies", "--plain"])
    assert shown.output.split() == list(POLICIES)
    table = CliRunner().invoke(app, ["policies"], env={"COLUMNS": "200"})
    assert table.exit_code == 0
    assert f"{len(POLICIES)} policies" in table.output
    assert set(LINEAR) <= set(POLICIES)
