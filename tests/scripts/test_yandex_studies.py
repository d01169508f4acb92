"""The studies on fitted queries, on a made-up file of the same form."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

SCRIPT = Path(__file__).parents[2] / "scripts" / "yandex_studies.py"


@pytest.fixture
def studies(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("yandex_studies", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def queries(tmp_path):
    rng = np.random.default_rng(0)
    made = {
        model: {f"q{n}": {"args": [rng.random(10).tolist(), np.linspace(1, 0.3, 10).tolist(), 1]} for n in range(12)}
        for model in ("DCM", "PBM")
    }
    made["CM"] = {f"q{n}": {"args": [rng.random(10).tolist(), 1]} for n in range(12)}
    table = np.tril(rng.random((10, 10)), -1)
    table[:, -1] = 0.9  # nothing clicked above
    made["UBM"] = {f"q{n}": {"args": [rng.random(10).tolist(), table.tolist(), 1]} for n in range(12)}
    made["DBN"] = {f"q{n}": {"args": [rng.random(10).tolist(), rng.random(10).tolist(), 0.1, 1]} for n in range(12)}
    made["CCM"] = {f"q{n}": {"args": [rng.random(10).tolist(), 0.9, 0.8, 0.1, 1]} for n in range(12)}
    file = tmp_path / "queries.json"
    file.write_text(json.dumps(made))
    return file


def test_every_policy_runs_once_on_every_query_and_what_is_there_is_kept(studies, queries, tmp_path):
    asked = [str(queries), "--out", str(tmp_path / "out"), "--steps", "300", "--queries", "2"]
    said = CliRunner().invoke(studies.main, asked)
    assert said.exit_code == 0, said.output
    rows = [json.loads(line) for line in (tmp_path / "out" / "runs.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * (6 * len(studies.policies(300)) + len(studies.forgetting(300)))
    assert len({tuple(row["case"]) for row in rows}) == len(rows)
    again = CliRunner().invoke(studies.main, [*asked, "--queries", "3", "--users", "PBM"])
    more = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in more[: len(rows)]] == rows
    assert len(more) == len(rows) + len(studies.policies(300))
    assert "| PBM | TopRank | 3 |" in again.output


def test_the_first_documents_lose_what_the_best_list_earns_beyond_them(studies, queries, tmp_path):
    asked = [str(queries), "--out", str(tmp_path / "out"), "--steps", "50", "--queries", "1", "--users", "PBM"]
    said = CliRunner().invoke(studies.main, asked)
    alpha, examination, _ = json.loads(queries.read_text())["PBM"]["q0"]["args"]
    lost = 50 * float(np.dot(np.sort(alpha)[::-1][:5] - alpha[:5], examination[:5]))
    assert f"| PBM | the first five documents | 1 | {lost:,.0f}" in said.output


def test_users_who_change_go_through_different_queries(studies, queries):
    people = studies.users(json.loads(queries.read_text()), "changing CM", 1000)
    seen = {id(people[0].at(step)) for step in range(0, 1000, 100)}
    assert len(seen) == studies.CHANGES


def test_browsing_is_by_position_and_last_click(studies, queries):
    models = json.loads(queries.read_text())
    user = studies.users(models, "UBM", 1000)[0]
    alpha, table, _ = models["UBM"]["q0"]["args"]
    first, second = 0.9 * alpha[3], table[1][0] * alpha[7]
    assert user.reward([3, 7]) == pytest.approx(first + first * second + (1 - first) * 0.9 * alpha[7])
