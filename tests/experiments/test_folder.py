"""A folder holds one study and nothing else, whole files or none."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_studies import ON_DATA

from rankfall import FileError, prepare
from rankfall.data import find
from rankfall.experiments import Folder, Plan, Study, plan, run_study


@pytest.fixture(scope="module")
def laid() -> Plan:
    return plan(ON_DATA)


@pytest.fixture(scope="module")
def whole(laid: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    run_study(laid, out, workers=1)
    return out


def test_what_lies_beside_the_results(laid: Plan, whole: Path) -> None:
    (fingerprint,) = {prepared.fingerprint for prepared in laid.data.values()}
    assert Study.read(whole / "study.toml") == replace(ON_DATA, data=(fingerprint,))
    said = json.loads((whole / "provenance.json").read_text())
    assert {"rankfall", "seed", "data", "python", "numpy", "numba"} <= said.keys()
    ((key, prepared),) = laid.data.items()
    assert said["data"] == {key: prepared.fingerprint}
    timings = Folder(whole, laid).timings()
    assert {row["chunk"] for row in timings} == {chunk.key for chunk in laid.chunks}
    assert sum(row["steps"] for row in timings) == laid.steps


def test_the_folder_of_another_study_is_refused(laid: Plan, whole: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    with pytest.raises(FileError, match=r"holds another study \(it differs in steps, seed\); give another folder"):
        run_study(plan(replace(ON_DATA, steps=61, seed=1), laid.data), whole)
    (key,) = laid.data
    other = prepare(find("movielens-small"), users=100, items=60, threshold=4.0, rank=3, seed=9)
    with pytest.raises(FileError, match="was begun with data dataset movielens-small"):
        run_study(plan(ON_DATA, {key: other}), whole)
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before
    (tmp_path / "runs.parquet").touch()
    with pytest.raises(FileError, match=r"results without a study\.toml"):
        run_study(laid, tmp_path)
    (tmp_path / "study.toml").write_text("nonsense")
    with pytest.raises(FileError, match="not TOML"):
        run_study(laid, tmp_path)
    (tmp_path / "study.toml").write_text('name = "a"\ndataset = "b"\n')
    with pytest.raises(FileError, match=r"how version 0\.1\.0 wrote a study"):
        run_study(laid, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot make the folder"):
        run_study(laid, tmp_path / "file" / "inside")


def test_other_versions(laid: Plan, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = Folder(tmp_path, laid)
    (tmp_path / "study.toml").write_text(ON_DATA.to_toml())
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
    (tmp_path / "timings.jsonl").write_text('[\n[1]\n{"chunk": 1}\n' + (whole / "timings.jsonl").read_text()[:-9])
    assert len(Folder(tmp_path, laid).timings()) == len(laid.chunks) - 1


def test_two_at_once_in_one_folder(laid: Plan, tmp_path: Path) -> None:
    with Folder(tmp_path, laid).opened(), pytest.raises(FileError, match="another process is at work"):
        run_study(laid, tmp_path)
    run_study(laid, tmp_path)
