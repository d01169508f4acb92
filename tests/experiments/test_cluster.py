"""Chunks on a real cluster of several processes."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankfall import ProblemError
from rankfall.experiments import Case, Plan, Status, Study, Sweep, plan, run_study

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.stress,
    pytest.mark.filterwarnings("default"),
]  # what the cluster says when its workers are killed

STUDY = Study(
    "on a cluster",
    {
        "dataset": "movielens-small",
        "topics": 5,
        "preparation": {"users": 200, "items": 150, "threshold": 4.0, "rank": 5},
    },
    policies=("CascadeHybrid", "CascadeLinUCB"),
    cases=(Case("CascadeUCB1", user={"clicks": "document_based"}),),
    sweeps=(Sweep({"user.tradeoff": tuple(i / 4 for i in range(5))}),),
    k=5,
    users=3,
    repeats=2,
    steps=1500,
    checkpoints=5,
)


@pytest.fixture(scope="module")
def laid() -> Plan:
    return plan(STUDY)


@pytest.fixture(scope="module")
def here(laid: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("here")
    run_study(laid, out, workers=1)
    return out


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


def same(out: Path, here: Path) -> None:
    assert (out / "runs.parquet").read_bytes() == (here / "runs.parquet").read_bytes()
    for chunk in (here / "chunks").iterdir():
        assert (out / "chunks" / chunk.name).read_bytes() == chunk.read_bytes()


def test_a_worker_killed_in_the_middle_changes_nothing(laid: Plan, here: Path, tmp_path: Path, cluster: Any) -> None:
    from killed_worker import KilledOnce

    mark = tmp_path / "killed"
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        pids = client.run(os.getpid)
        assert len(pids) == 2
        assert os.getpid() not in pids.values()
        client.register_plugin(KilledOnce(mark), name="killed-once")
        run_study(laid, tmp_path / "out", scheduler=cluster.scheduler_address)
        client.unregister_worker_plugin("killed-once")
    assert mark.exists()
    same(tmp_path / "out", here)


def test_begun_on_a_cluster_and_ended_here(laid: Plan, here: Path, tmp_path: Path, cluster: Any) -> None:
    def stop(status: Status) -> None:
        if status.chunks_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(laid, tmp_path, scheduler=cluster.scheduler_address, watch=stop)
    assert len(list((tmp_path / "chunks").glob("*.parquet"))) == 3
    run_study(laid, tmp_path)
    same(tmp_path, here)
    run_study(laid, tmp_path, scheduler="tcp://127.0.0.1:9")  # nothing is missing, so nobody is asked


def test_no_cluster_there(laid: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.experiments.cluster._PATIENCE", "1s")
    with pytest.raises(ProblemError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        run_study(laid, tmp_path, scheduler="tcp://127.0.0.1:9")


def test_without_the_extra(laid: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ProblemError, match=r"pip install 'rankfall\[cluster\]'"):
        run_study(laid, tmp_path, scheduler="tcp://127.0.0.1:9")


def test_workers_of_another_version(laid: Plan, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.experiments.cluster.__version__", "9.9.9")
    other = plan(replace(STUDY, seed=1), laid.data)
    with pytest.raises(ProblemError, match=r"the workers have rankfall .*, and this is 9\.9\.9"):
        run_study(other, tmp_path, scheduler=cluster.scheduler_address)
