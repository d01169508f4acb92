"""Services that learn with a policy of the operator's own, named by whoever starts them and by nobody else."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner
from served import FEED, PATCH, RANK, Served, make_catalog, problem, serve

from rankfall import cli
from rankfall.policies import SERVED

SHY = '''
from rankfall import CascadeHybrid


class Shy(CascadeHybrid):
    """CascadeHybrid that explores half as much."""

    @classmethod
    def served_settings(cls, gamma, forgetting, feedback):
        return {**super().served_settings(gamma, forgetting, feedback), "gamma": gamma / 2}


class Closed(CascadeHybrid):
    """Not for services."""

    why_not_served = "it is kept for experiments"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shy_policies.py").write_text(SHY)
    return tmp_path


def served(folder: Path, **options: object) -> Served:
    paths = {"log": folder / "log", "data": folder / "data", "catalog": make_catalog(folder / "items.parquet")}
    return Served(**paths, environment={"PYTHONPATH": str(folder)}, **options)  # type: ignore[arg-type]


def test_a_policy_of_ones_own_is_served_and_restored(folder: Path) -> None:
    with served(folder, policy="shy_policies:Shy", workers=2) as server:
        for _ in range(5):
            event = server.client.post(RANK, json={"k": 3}).raise_for_status().json()["event_id"]
            answer = server.client.post(FEED, json={"event_id": event, "clicked": 2})
            assert answer.json()["accepted"] == 1
        before = server.settled(5)
        assert before["settings"]["policy"] == "shy_policies:Shy"
        shown = server.client.post(RANK, json={"k": 3}).json()["items"]
        server.restart()
        assert server.settled(5)["weights"] == before["weights"]
        assert server.client.post(RANK, json={"k": 3}).json()["items"] == shown
        # It learns what CascadeHybrid learns, so that either can take over from the other.
        assert server.patch(PATCH, policy="CascadeHybrid")["policy"] == "CascadeHybrid"
        assert server.patch(PATCH, policy="shy_policies:Shy")["policy"] == "shy_policies:Shy"


def test_callers_cannot_name_code_to_import(folder: Path) -> None:
    with served(folder) as server:
        for name in ("shy_policies:Shy", "os:system", "antigravity:x"):
            message = problem(server.client.patch(PATCH, json={"policy": name}), 422, "invalid")
            assert "that can be served" in message
            problem(server.client.put("/v1/models/other", json={"policy": name}), 422, "invalid")


def test_a_start_without_the_policy_says_what_to_give(folder: Path) -> None:
    with served(folder, policy="shy_policies:Shy"):
        pass
    done = serve("--data", str(folder / "data"), "--port", "0")
    assert done.returncode == 1
    assert "names a policy that this server was not given: give --own-policy shy_policies:Shy" in done.stderr


def test_a_policy_that_goes_missing_stops_learning_and_nothing_else(folder: Path) -> None:
    with served(folder, own_policy="shy_policies:Shy") as server:
        server.patch(PATCH, policy="shy_policies:Shy")
    with ExitStack() as stack:
        without = stack.push(served(folder))
        without.spawn()
        without.wait_listening()
        ready = without.client.get("/health/ready")
        assert ready.status_code == 503
        assert "give --own-policy shy_policies:Shy" in ready.text
        assert len(without.client.post(RANK, json={"k": 3}).raise_for_status().json()["items"]) == 3


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shy_policies:Closed", "shy_policies:Closed cannot be served: it is kept for experiments"),
        ("shy_policies:Nobody", "cannot import the policy 'shy_policies:Nobody'"),
        ("CascadeNothing", "no policy 'CascadeNothing'"),
    ],
)
def test_names_of_nothing_are_refused(folder: Path, name: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for option in ("--policy", "--own-policy"):
        done = CliRunner().invoke(cli.app, ["serve", option, name])
        assert done.exit_code == 2
        assert reason in " ".join(done.output.replace("│", " ").split())
    assert name not in SERVED
