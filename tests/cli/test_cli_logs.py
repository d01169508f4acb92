"""The offline commands, as they are called, beside a server that runs."""

import json
import signal
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ending import run_until
from logged import CATALOG, batch_state, clicks, drive, running, same, state_of
from served import Served, make_catalog
from waiting import wait_until

import rankfall
from rankfall.cli import app
from rankfall.service.http.api_keys import Keys


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.mark.stress
def test_beside_a_server(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path / "catalog.parquet", items=30)
    ids = rankfall.Catalog.read_parquet(catalog).ids
    path = tmp_path / "clicks.csv"
    lines = [f"l{n},{i},{ids[(n + i) % 30]},{int(i == n % 4 + 1)}" for n in range(300) for i in (1, 2, 3)]
    path.write_text("\n".join(["list,position,item,click", *lines]))
    data = tmp_path / "data"
    with Served(log=tmp_path / "log", data=data, catalog=catalog) as server:
        before = call("snapshot", "make", "default", "--data", data, "--name", "empty").output.strip()
        said = call("import", path, "--data", data).output
        assert said == "300 lists imported into 'default', 225 of them clicked.\n"
        assert "300 lists had been imported before" in call("import", path, "--data", data).output
        learned = server.settled(300)
        assert learned["learned"] == 300
        assert learned["arms"]["imported"]["with_feedback"] == 300
        call("export", "--data", data, "--out", tmp_path / "out")
        call("snapshot", "save", "default", "--data", data, "--out", tmp_path / "now.rankfall")
        policy = rankfall.load(tmp_path / "now.rankfall")
        assert same(policy.state(), batch_state(tmp_path / "out"))
        assert [w["weight"] for w in learned["weights"]] == policy.weights.tolist()
        assert before in call("snapshot", "list", "default", "--data", data).output
        assert "is back at snapshot" in call("snapshot", "restore", "default", before, "--data", data).output
        assert server.settled(0)["learned"] == 0
        call("snapshot", "save", "default", before, "--data", data, "--out", tmp_path / "then.rankfall")
        assert rankfall.load(tmp_path / "then.rankfall").n_updates == 0


def test_an_import_begins_a_store(tmp_path: Path) -> None:
    catalog, data = make_catalog(tmp_path / "catalog.parquet", items=30), tmp_path / "data"
    path = tmp_path / "clicks.csv"
    path.write_text("list,position,item,click\n" + "\n".join(f"l{n},1,{n},{n % 2}" for n in range(30)))
    said = call("import", path, "--data", data, code=1).output
    assert "holds no store (rankfall.sqlite is not there); give --catalog FILE to make one" in said
    said = call("import", path, "--data", data, "--catalog", catalog, "--policy", "CascadeLSB", "--gamma", 0.4).output
    assert said.splitlines() == [
        "Model 'default': CascadeLSB, 30 items, mode online.",
        "30 lists imported into 'default', 15 of them clicked.",
    ]
    said = call("import", path, "--data", data, "--catalog", catalog).output
    assert "The catalog is the one in the store (30 items); --catalog was not read." in said
    (tmp_path / "other.csv").write_text("list,position,item,click\nnew,1,3,1\nl4,1,5,1\n")
    said = " ".join(call("import", tmp_path / "other.csv", "--data", data, code=1).output.split())
    assert (
        "Error: list 'l4' has item 5 at position 1, and a list of this name that was imported before has item 4" in said
    )
    assert "so rename the list. 0 lists were imported before that and stay; the same command then goes on" in said
    with Served(log=tmp_path / "log", data=data, catalog=catalog) as server:
        found = server.settled(30)
    assert (found["settings"]["policy"], found["settings"]["gamma"], found["learned"]) == ("CascadeLSB", 0.4, 30)
    assert found["arms"] == {"imported": {"with_feedback": 30, "clicked": 15, "rate": 0.5}}


@pytest.mark.stress
def test_an_import_that_was_killed_goes_on(tmp_path: Path) -> None:
    path = clicks(tmp_path / "clicks.parquet", 12_000)
    data = tmp_path / "data"
    with running(str(data)):
        pass
    ended = run_until("insert", 2_500, "import", str(path), "--data", str(data))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    with running(str(data)) as server:
        there = server.store.ranked("default")
        assert there % 1_000 == 0
        assert 0 < there < 12_000
        said = call("import", path, "--data", data).output
        assert f"{12_000 - there:,} lists imported" in said
        assert f"{there:,} lists had been imported before" in said
        wait_until(lambda: server.state.position >= server.store.end())
        killed = state_of(server)
    with running(str(tmp_path / "other")) as other:
        call("import", path, "--data", tmp_path / "other")
        wait_until(lambda: other.state.position >= other.store.end())
        assert same(killed, state_of(other))


def test_replay_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(str(data), randomize=0.5) as engine:
        drive(engine, 40, candidates=list(CATALOG.ids[:3]), k=2)
    call("export", "--data", data, "--out", tmp_path / "out")
    said = call(
        "replay", tmp_path / "out", "--policy", "CascadeLSB", "--gamma", 0.5, "--out", tmp_path / "a.json"
    ).output
    for words in ("learned from", "same top item", f"weight of {CATALOG.topics[0]}", "IPS", "self-normalised"):
        assert words in said
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["estimate"]["lists"] == found["counts"]["random"] == found["counts"]["learned"]
    assert found["support"] == 1.0
    many = call(
        "replay", tmp_path / "out", "--policy", "CascadeLSB", "--scope", "user", "--forgetting", "window=9"
    ).output
    assert "4 states, one for each user" in " ".join(many.split())


def test_rewards_from_the_first_model_to_a_replay(tmp_path: Path) -> None:
    catalog, data, out = make_catalog(tmp_path / "catalog.parquet", items=4), tmp_path / "data", tmp_path / "out"
    ids = rankfall.Catalog.read_parquet(catalog).ids
    path = tmp_path / "clicks.csv"
    lines = [f"l{n},1,{ids[n % 4]},{n % 2},0.25" for n in range(40)]
    path.write_text("\n".join(["list,position,item,click,propensity", *lines]))
    call("import", path, "--data", data, "--catalog", catalog, "--rewards", "click=2, purchase=8")
    assert f"{out / 'outcomes.parquet'}: 0 outcomes" in call("export", "--data", data, "--out", out).output
    said = call("replay", out, "--policy", "CascadeHybrid", "--out", tmp_path / "replay.json").output
    assert "reward of a list" in said
    found = json.loads((tmp_path / "replay.json").read_text())
    assert found["rewards"] == {"click": 2.0, "purchase": 8.0}
    assert found["reward_estimate"]["logged"] == 2 * found["estimate"]["logged"] == 1.0
    call("replay", out, "--policy", "CascadeHybrid", "--rewards", "click=1", "--out", tmp_path / "other.json")
    assert json.loads((tmp_path / "other.json").read_text())["reward_estimate"]["logged"] == 0.5
    for wrong, said in (("purchase=5", "what a click is worth"), ("click", "is not like click=1,purchase=5")):
        assert said in " ".join(
            call("replay", out, "--policy", "CascadeHybrid", "--rewards", wrong, code=2).output.split()
        )


def test_replay_a_policy_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(str(tmp_path / "data")) as engine:
        drive(engine, 20)
    call("export", "--data", tmp_path / "data", "--out", tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "replayed_module.py").write_text(
        "from rankfall import CascadeLSB, TopRank\n"
        "class Mine(CascadeLSB):\n    'Of my own.'\n"
        "class Other(TopRank):\n    'Of my own.'\n"
    )
    for name in ("replayed_module:Mine", "CascadeLSB"):
        call("replay", "out", "--policy", name, "--out", name)
    mine, known = (json.loads(Path(name).read_text()) for name in ("replayed_module:Mine", "CascadeLSB"))
    assert mine["counts"]["learned"]
    assert {**mine, "policy": ""} == {**known, "policy": ""}
    for name, why in (
        ("replayed_module:Other", "replayed_module:Other cannot be served: it compares items of blocks"),
        ("collections:Counter", "collections:Counter cannot be served: it is no subclass of rankfall.Policy"),
        ("Nobody", "no policy 'Nobody'; choose from BatchRank"),
    ):
        assert why in " ".join(call("replay", "out", "--policy", name, code=2).output.split())


def test_replay_says_why_there_is_no_estimate(tmp_path: Path) -> None:
    for name, settings, said in (
        ("never", {}, "no list with feedback is known to be chosen at random"),
        ("all", {"randomize": 1.0}, "too many possible"),
    ):
        with running(str(tmp_path / name), **settings) as engine:
            drive(engine, 20)
        call("export", "--data", tmp_path / name, "--out", tmp_path / "out" / name)
        told = " ".join(call("replay", tmp_path / "out" / name, "--policy", "CascadeLinUCB").output.split())
        assert "No estimate" in told
        assert said in told


def test_a_key_opens_what_its_block_says(tmp_path: Path) -> None:
    made = call("key", "--name", 'the "shop"', "--right", "rank", "--right", "feedback", "--model", "m")
    key = made.stderr.split()[-1]
    assert key not in made.stdout
    (tmp_path / "keys.toml").write_text(made.stdout + call("key", "--name", "b", "--right", "admin").stdout)
    grant = Keys.read(tmp_path / "keys.toml").grant(key)
    assert grant is not None
    assert (grant.name, grant.models, grant.rights) == ('the "shop"', ("m",), ("rank", "feedback"))
    assert Keys.read(tmp_path / "keys.toml").grant("another") is None
    block = tomllib.loads(made.stdout)["key"][0]
    assert set(block) == {"name", "sha256", "models", "rights"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "--data", "nowhere", "--out", "x"], "nowhere holds no store"),
        (["export", "--data", "d", "--store", "postgresql://x", "--out", "x"], "give --data or --store, not both"),
        (["import", "none.parquet", "--data", "{data}"], "none.parquet does not exist"),
        (["import", "none.parquet", "--data", "{data}", "--model", "m"], "no model 'm'; there is: default"),
        (["snapshot", "restore", "default", "s-1", "--data", "{data}"], "has no snapshot 's-1'"),
        (["snapshot", "save", "default", "--data", "{data}", "--out", "no/a"], "the folder no does not exist"),
        (["replay", "nowhere", "--policy", "CascadeLSB"], "give a folder that rankfall export wrote"),
        (["replay", "x", "--policy", "CascadeLSB", "--forgetting", "slowly"], "neither discount=0.999 nor window=1000"),
        (
            ["replay", "x", "--policy", "CascadeLSB", "--forgetting", "discount=2"],
            "rho must be a number between 0 and 1",
        ),
        (["key", "--name", "a\nb", "--right", "rank"], "--name must be printable characters"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with running("data"):
        pass
    result = CliRunner().invoke(app, [one.format(data="data") for one in arguments])
    assert result.exit_code in (1, 2)
    assert said in " ".join(result.output.split())
    assert [one.name for one in tmp_path.iterdir()] == ["data"]
