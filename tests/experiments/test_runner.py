"""Stopped at any moment and started again, with any number of workers, a study ends with the same bytes."""

import logging
from pathlib import Path

import polars as pl
import pytest
from small_studies import ON_DATA, STUDIES

from rankfall.experiments import Plan, Status, Study, plan, run_study
from rankfall.experiments.chunks import SCHEMA, parquet


@pytest.fixture(scope="module", params=STUDIES)
def laid(request: pytest.FixtureRequest) -> Plan:
    return plan(STUDIES[request.param])


@pytest.fixture(scope="module")
def whole(laid: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run with one worker."""
    out = tmp_path_factory.mktemp("whole")
    run_study(laid, out, workers=1)
    return out


def same(out: Path, whole: Path) -> None:
    for file in ("runs.parquet", "study.toml", "provenance.json"):
        assert (out / file).read_bytes() == (whole / file).read_bytes()
    for chunk in (whole / "chunks").iterdir():
        assert (out / "chunks" / chunk.name).read_bytes() == chunk.read_bytes()


@pytest.mark.stress
def test_workers_do_not_change_the_results(laid: Plan, whole: Path, tmp_path: Path) -> None:
    run_study(laid, tmp_path, workers=2)  # compiled policies in threads, the others in processes
    same(tmp_path, whole)


def test_the_table_of_all_runs(laid: Plan, whole: Path) -> None:
    runs = pl.read_parquet(whole / "runs.parquet")
    assert runs.columns[:4] == ["sweep", "point", "case", "policy"]
    assert runs.columns[-len(SCHEMA) :] == SCHEMA.names()
    assert runs.select("sweep", "point", "case").unique(maintain_order=True).rows() == [
        (entry.sweep, entry.point, entry.case.label) for entry, _ in laid.rows
    ]


def test_what_coincides_is_simulated_once_and_shown_in_each_sweep(tmp_path: Path) -> None:
    laid = plan(ON_DATA)
    assert (len(laid.rows), len(laid.setups)) == (8, 6)
    runs = run_study(laid, tmp_path)
    assert len(list((tmp_path / "chunks").iterdir())) == 6
    one, other = (runs.filter(sweep=s, point=p).drop("sweep", "point") for s, p in (("tradeoff", 1), ("positions", 0)))
    assert one.equals(other)
    assert one["k"].unique().to_list() == [4]
    assert one["tradeoff"].unique().to_list() == [0.5]


@pytest.mark.parametrize("damage", ["cut", "overwritten", "swapped", "empty", "nonsense", "changed"])
def test_a_damaged_chunk_is_simulated_again(
    laid: Plan, whole: Path, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    run_study(laid, tmp_path, workers=1)
    first, other = (tmp_path / "chunks" / f"{chunk.key}.parquet" for chunk in laid.chunks[:2])
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
    (tmp_path / "chunks" / ".left.part").write_text("of a run that was killed")
    (tmp_path / "runs.parquet").unlink()
    with caplog.at_level(logging.WARNING, "rankfall"):
        seen: list[Status] = []
        run_study(laid, tmp_path, workers=1, watch=seen.append)
    assert seen[0].chunks_done == len(laid.chunks) - 1
    assert "it is simulated again" in caplog.text
    same(tmp_path, whole)
    assert list(tmp_path.rglob("*.part")) == []


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.stress
def test_stopped_in_the_middle_it_goes_on(laid: Plan, whole: Path, tmp_path: Path, workers: int) -> None:
    def stop(status: Status) -> None:
        if status.chunks_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(laid, tmp_path, workers=workers, watch=stop)
    kept = list((tmp_path / "chunks").glob("*.parquet"))
    assert len(kept) == 2
    assert not (tmp_path / "runs.parquet").exists()
    seen: list[Status] = []
    run_study(laid, tmp_path, workers=workers, watch=seen.append)
    assert (seen[0].total, seen[0].chunks_done, seen[0].chunks) == (laid.steps, 2, len(laid.chunks))
    assert [status.done for status in seen] == sorted(status.done for status in seen)
    assert (seen[-1].done, seen[-1].chunks_done) == (laid.steps, len(laid.chunks))
    same(tmp_path, whole)


def test_a_study_of_users_in_context(tmp_path: Path) -> None:
    """From a file, by policies that are told of the context and that are not; in processes as in one."""
    words = """
        name = "told or not"
        k = 3
        users = 3
        repeats = 2
        steps = 150
        checkpoints = 3
        [user]
        generate = { items = 20, seed = 1 }
        [user.context]
        factors = { device = { kind = "category", levels = ["tv", "phone"] } }
        seed = 4
        [[case]]
        policy = "CascadeHybrid"
        label = "not told"
        [[case]]
        policy = "CascadeHybrid"
        label = "told"
        settings = { context = { device = { kind = "category", levels = ["tv", "phone"] } } }
        """
    study = Study.from_toml(words)
    assert Study.from_toml(study.to_toml()) == study
    runs = run_study(plan(study), tmp_path / "one", workers=1)
    assert run_study(plan(study), tmp_path / "two", workers=2).equals(runs)
    last = runs.filter(pl.col("step") == 150).sort("user", "repeat", "case")
    told, untold = (last.filter(pl.col("case") == case)["regret"] for case in ("told", "not told"))
    assert len(told) == len(untold) == 6
    assert (told != untold).all()
    best = last.filter(pl.col("case") == "told")["best"]
    assert best.to_list() == last.filter(pl.col("case") == "not told")["best"].to_list()
