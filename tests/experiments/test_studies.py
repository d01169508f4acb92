"""Studies as data, cells as pure functions, folders that can be left at any moment."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import POLICIES, CascadeUser, FileError, Prepared, ProblemError, prepare, simulate_many
from rankfall.data import find
from rankfall.experiments import (
    SCALES,
    STUDIES,
    Folder,
    Plan,
    Preparation,
    Setting,
    Status,
    Study,
    carry_out,
    forecast,
    paper_study,
    plan,
)
from rankfall.experiments.cells import SCHEMA, parquet, read_cell, simulate_cell

SMALL = Preparation(users=100, items=60, threshold=4.0, rank=3)
TINY = Study(
    "tiny",
    "movielens-small",
    (
        Setting("tradeoff", 0.0, tradeoff=0.0, topics=5, k=4),
        Setting("tradeoff", 0.5, tradeoff=0.5, topics=5, k=4),
        Setting("mine", 7.0, tradeoff=0.5, topics=5, k=4),
        Setting("mine", 9.0, tradeoff=0.5, topics=None, k=3),
    ),
    policies=("CascadeHybrid", "CascadeLSB"),
    users=3,
    repeats=2,
    steps=60,
    checkpoints=4,
    preparation=SMALL,
)
COLUMNS = ["study", "value", *SCHEMA.names()]


@pytest.fixture(scope="module")
def laid() -> Plan:
    return plan(TINY)


@pytest.fixture(scope="module")
def whole(laid: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    carry_out(laid, out, workers=1)
    return out


line = st.text(min_size=1).filter(lambda text: text.strip() and text.isprintable())
count = st.integers(1, 10**9)


@settings(max_examples=25)
@given(
    line,
    st.floats(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none() | count,
    count,
    st.booleans(),
    st.lists(st.sampled_from(list(POLICIES)), min_size=1, max_size=6, unique=True),
)
def test_a_study_survives_its_file_exactly(
    text: str, tradeoff: float, value: float, topics: int | None, n: int, flag: bool, policies: list[str]
) -> None:
    study = Study(
        text,
        text,
        (Setting(text, value, tradeoff, topics, n), Setting("other", 1)),
        policies=tuple(policies),
        gamma=abs(value),
        users=n,
        steps=n,
        seed=n,
        preparation=Preparation(users=n + 1, unit_preferences=flag, perfect_coverage=not flag, seed=n),
    )
    assert Study.from_toml(study.to_toml()) == study


def test_what_a_file_leaves_out_has_its_default() -> None:
    study = Study.from_toml('name = "a"\ndataset = "b"\n[[grid]]\nstudy = "c"\nvalue = 1\n')
    assert study == Study("a", "b", (Setting("c", 1.0),))


GOOD = 'name = "a"\ndataset = "b"\n'
GRID = '[[grid]]\nstudy = "c"\nvalue = 1\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD, "grid is empty"),
        ("name = ", "not TOML"),
        (GRID, "a study needs 'name'"),
        (GOOD + "step = 5\n" + GRID, "a study has no 'step'; it has name, dataset, grid, policies"),
        (GOOD + "steps = 0\n" + GRID, "steps must be a whole number from 1 on, got 0"),
        (GOOD + "steps = 1.5\n" + GRID, "steps must be a whole number"),
        (GOOD + "gamma = nan\n" + GRID, "gamma must be a number"),
        (GOOD + 'policies = ["CascadeHybird"]\n' + GRID, "no policy 'CascadeHybird'; choose from CascadeHybrid, Cas"),
        (GOOD + 'policies = "CascadeHybrid"\n' + GRID, "policies must be a list"),
        (GOOD + "policies = []\n" + GRID, "policies is empty"),
        (GOOD + "policies = [1]\n" + GRID, "policies holds 1; expected a str"),
        (GOOD + 'policies = ["CascadeLSB", "CascadeLSB"]\n' + GRID, "policies holds 'CascadeLSB' twice"),
        (GOOD + GRID + "tradeoff = 1.5\n", "tradeoff must be a number in [0, 1], got 1.5"),
        (GOOD + GRID + "topics = 0\n", "topics must be a whole number from 1 on"),
        (GOOD + GRID + "d = 5\n", "a setting of the grid has no 'd'; it has study, value, tradeoff, topics, k"),
        (GOOD + GRID + GRID + "k = 5\n", "the grid has c = 1 twice"),
        (GOOD + "grid = 5", "grid must be a list of settings"),
        (GOOD + GRID + "[preparation]\nusers = 1\n", "users must be a whole number from 2 on, got 1"),
        (GOOD + GRID + "[preparation]\nperfect_coverage = 1\n", "perfect_coverage must be true or false"),
        ('name = "a\\nb"\ndataset = "b"\n' + GRID, "name must be a line of text"),
    ],
)
def test_nonsense_in_a_file_is_answered_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ProblemError) as caught:
        Study.read(tmp_path / "study.toml")
    assert said in str(caught.value)
    assert "study.toml: " in str(caught.value)


def test_a_study_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        Study.read(tmp_path / "nothing.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="cannot read"):
        Study.read(tmp_path / "bytes.toml")


def test_the_grid_of_the_paper() -> None:
    study = paper_study("movielens-1m", scale="paper")
    assert (study.users, study.repeats, study.steps) == (500, 2, 50_000)
    assert [s.value for s in study.grid] == [i / 10 for i in range(11)] + 2 * [5, 10, 15, 20]
    assert {(s.topics, s.k) for s in STUDIES["tradeoff"]} == {(20, 10)}
    assert {(s.tradeoff, s.k) for s in STUDIES["topics"]} == {(0.5, 10)}
    assert {(s.tradeoff, s.topics) for s in STUDIES["positions"]} == {(0.5, 20)}
    assert list(SCALES) == ["quick", "standard", "paper"]
    for name, allowed in (("studies", ["nonsense"]), ("scale", "nonsense")):
        with pytest.raises(ProblemError, match="nonsense'; choose from"):
            paper_study("movielens-small", **{name: allowed})  # type: ignore[arg-type]


def test_shared_settings_are_simulated_once_and_shown_in_each_study(laid: Plan, whole: Path) -> None:
    assert (len(laid.rows), len(laid.cells)) == (8, 6)
    assert len(list((whole / "cells").iterdir())) == 6
    runs = pl.read_parquet(whole / "runs.parquet")
    assert runs.columns == COLUMNS
    one, other = (runs.filter(study=s, value=v).drop("study", "value") for s, v in (("tradeoff", 0.5), ("mine", 7.0)))
    assert one.equals(other)
    assert runs.height == 8 * 3 * 2 * 4
    assert runs.select("study", "value", "policy").unique(maintain_order=True).rows() == [
        (s.study, s.value, policy) for s in TINY.grid for policy in TINY.policies
    ]


def test_results_are_those_of_simulate_many(laid: Plan, whole: Path) -> None:
    data = prepare(find("movielens-small"), users=100, items=60, threshold=4.0, rank=3, topics=5)
    users = [CascadeUser(data.user_coverage, data.relevance, data.theta[u], data.beta[u], 0.5) for u in range(3)]
    expected = simulate_many(POLICIES["CascadeLSB"](data.catalog()), users, 60, 4, repeats=2, checkpoints=[60])
    runs = pl.read_parquet(whole / "runs.parquet").filter(study="mine", value=7.0, policy="CascadeLSB", step=60)
    assert runs["user"].to_list() == [0, 0, 1, 1, 2, 2]
    assert runs["repeat"].to_list() == [0, 1] * 3
    assert runs["regret"].to_list() == [run.regret[-1] for run in expected]
    assert runs["clicks"].to_list() == [run.clicks[-1] for run in expected]
    assert runs["best"].to_list() == [run.best for run in expected]


def test_more_than_there_is_becomes_all_there_is_and_a_note(laid: Plan) -> None:
    study = replace(TINY, users=10_000, grid=(Setting("topics", 90, topics=90), Setting("topics", 3, topics=3)))
    asked = plan(study, laid.prepared)
    topics = laid.prepared.with_topics(None).n_topics
    assert {cell.topics for cell in asked.cells} == {topics, 3}
    assert {cell.users for cell in asked.cells} == {len(laid.prepared.user_ids)}
    assert f"90 topics asked for, {topics} there are: all are taken" in asked.notes
    assert any(note.startswith("10000 test users asked for") for note in asked.notes)
    assert laid.notes == ()
    with pytest.raises(ProblemError, match="k is 61 and there are 60 items"):
        plan(replace(TINY, grid=(Setting("positions", 61, k=61),)), laid.prepared)


def test_perfect_coverage_is_another_cell(laid: Plan) -> None:
    perfect = replace(TINY, preparation=replace(SMALL, perfect_coverage=True))
    cells = laid.cells[0], plan(perfect, laid.prepared).cells[0]
    assert cells[0].key != cells[1].key
    tables = [read_cell(cell, simulate_cell(cell, laid.prepared)) for cell in cells]
    assert not tables[0]["regret"].equals(tables[1]["regret"])


def test_the_same_cell_gives_the_same_bytes(laid: Plan, tmp_path: Path) -> None:
    cell = laid.cells[-1]
    laid.prepared.save(tmp_path / "data.npz")
    again = Prepared.load(tmp_path / "data.npz")
    contents = {simulate_cell(cell, data, workers=workers) for data in (laid.prepared, again) for workers in (1, 2, 5)}
    assert len(contents) == 1


def test_workers_do_not_change_the_results(laid: Plan, whole: Path, tmp_path: Path) -> None:
    carry_out(laid, tmp_path, workers=2)
    for file in ("runs.parquet", "study.toml", "provenance.json"):
        assert (tmp_path / file).read_bytes() == (whole / file).read_bytes()
    for cell in (whole / "cells").iterdir():
        assert (tmp_path / "cells" / cell.name).read_bytes() == cell.read_bytes()


def test_what_lies_beside_the_results(laid: Plan, whole: Path) -> None:
    assert Study.read(whole / "study.toml") == TINY
    said = json.loads((whole / "provenance.json").read_text())
    assert {"rankfall", "seed", "data", "python", "numpy", "numba"} <= said.keys()
    assert said["data"] == laid.prepared.fingerprint
    timings = json.loads((whole / "timings.json").read_text())
    assert timings.keys() == {cell.key for cell in laid.cells}


@pytest.mark.parametrize("damage", ["cut", "overwritten", "swapped", "empty", "nonsense", "changed"])
def test_a_damaged_cell_is_simulated_again(
    laid: Plan, whole: Path, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    carry_out(laid, tmp_path)
    first, other = (tmp_path / "cells" / f"{cell.key}.parquet" for cell in laid.cells[:2])
    content = first.read_bytes()
    middle = len(content) // 3
    first.write_bytes(
        {
            "cut": content[:-30],
            "overwritten": content[:middle] + bytes(40) + content[middle + 40 :],
            "swapped": other.read_bytes(),
            "empty": b"",
            "nonsense": b"PAR1nonsensePAR1",
            "changed": parquet(
                pl.read_parquet(first).with_columns(pl.col("regret") + 1), **pl.read_parquet_metadata(first)
            ),
        }[damage]
    )
    (tmp_path / "cells" / ".left.part").write_text("of a run that was killed")
    (tmp_path / "runs.parquet").unlink()
    with caplog.at_level(logging.WARNING, "rankfall"):
        seen: list[Status] = []
        carry_out(laid, tmp_path, watch=seen.append)
    assert seen[0].cells_done == 5
    assert "it is simulated again" in caplog.text
    assert (tmp_path / "runs.parquet").read_bytes() == (whole / "runs.parquet").read_bytes()
    assert first.read_bytes() == content
    assert list(tmp_path.rglob("*.part")) == []


def test_stopped_in_the_middle_it_goes_on(laid: Plan, whole: Path, tmp_path: Path) -> None:
    def stop(status: Status) -> None:
        if status.cells_done == 2 and status.done > 2 * 360:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(laid, tmp_path, watch=stop)
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == 2
    assert not (tmp_path / "runs.parquet").exists()
    seen: list[Status] = []
    carry_out(laid, tmp_path, watch=seen.append)
    assert (seen[0].done, seen[0].total, seen[0].cells_done, seen[0].cells) == (2 * 360, 6 * 360, 2, 6)
    assert [status.done for status in seen] == sorted(status.done for status in seen)
    assert (seen[-1].done, seen[-1].cells_done) == (6 * 360, 6)
    assert (tmp_path / "runs.parquet").read_bytes() == (whole / "runs.parquet").read_bytes()


def test_the_folder_of_another_study_is_refused(laid: Plan, whole: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    with pytest.raises(FileError, match=r"holds another study \(it differs in steps, seed\); give another folder"):
        carry_out(plan(replace(TINY, steps=61, seed=1), laid.prepared), whole)
    other = prepare(find("movielens-small"), users=100, items=60, threshold=4.0, rank=3, seed=9)
    with pytest.raises(FileError, match="was begun with data with the fingerprint"):
        carry_out(plan(TINY, other), whole)
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before
    (tmp_path / "runs.parquet").touch()
    with pytest.raises(FileError, match=r"results without a study\.toml"):
        carry_out(laid, tmp_path)
    (tmp_path / "study.toml").write_text("nonsense")
    with pytest.raises(FileError, match="not TOML"):
        carry_out(laid, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot make the folder"):
        carry_out(laid, tmp_path / "file" / "inside")


def test_other_versions(laid: Plan, whole: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = Folder(tmp_path, laid)
    (tmp_path / "study.toml").write_text(TINY.to_toml())
    folder.check()  # stopped before provenance.json was written
    (tmp_path / "provenance.json").write_text(json.dumps({**folder.provenance(), "numba": "0.1"}))
    folder.check()
    assert "was begun with numba 0.1" in caplog.text
    (tmp_path / "provenance.json").write_text(json.dumps({**folder.provenance(), "rankfall": "0.0.1"}))
    with pytest.raises(FileError, match=r"was begun with version 0\.0\.1"):
        folder.check()
    (tmp_path / "provenance.json").write_text("[")
    with pytest.raises(FileError, match="cannot read"):
        folder.check()


def test_damaged_timings_stop_nothing(laid: Plan, whole: Path, tmp_path: Path) -> None:
    for text in ("[", "[1]", '{"a": 1, "b": {}}'):
        (tmp_path / "timings.json").write_text(text)
        assert Folder(tmp_path, laid).timings() == {}
    assert Folder(whole, laid).timings().keys() == {cell.key for cell in laid.cells}


def test_two_at_once_in_one_folder(laid: Plan, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with Folder(tmp_path, laid).opened(), pytest.raises(FileError, match="another process is at work"):
        carry_out(laid, tmp_path)
    carry_out(laid, tmp_path)


def test_a_forecast_grows_with_the_work(laid: Plan) -> None:
    told = forecast(laid, workers=2, probes=1)
    assert len(told.paces) == 2
    assert told.crowding >= 1
    once = told.seconds(laid.cells)
    assert 0 < once < 60
    assert told.seconds(replace(cell, users=30) for cell in laid.cells) == pytest.approx(10 * once)
    later = told.seconds(replace(cell, steps=50_000_000) for cell in laid.cells)
    latest = told.seconds(replace(cell, steps=100_000_000) for cell in laid.cells)
    assert latest == pytest.approx(2 * later, rel=0.02)
    for policy in TINY.policies:
        early, late = told.per_step(policy)
        assert 0 < late < 1e-2
        assert 0 < early < 1e-2


def test_the_example_in_the_docs_is_a_study() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
    study = Study.from_toml(page.partition("```toml\n")[2].partition("```")[0])
    assert [setting.value for setting in study.grid] == [0.2, 0.8]
    for name, scale in SCALES.items():
        work = 17 * 5 * scale.users * scale.repeats * scale.steps
        row = f"| `{name}` | {scale.users} | {scale.repeats} | {scale.steps:,} | {work:,} |"
        assert row in page
