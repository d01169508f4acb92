"""The studies on fitted queries, on a made-up file of the same form."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from yandex_queries import write_queries

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # last: names of tests/support come first

import yandex_studies as studies


@pytest.fixture
def queries(tmp_path):
    return write_queries(tmp_path / "queries.json")


def test_every_policy_runs_once_on_every_query_and_what_is_there_is_kept(queries, tmp_path):
    asked = [str(queries), "--out", str(tmp_path / "out"), "--steps", "300", "--queries", "2"]
    said = CliRunner().invoke(studies.main, asked)
    assert said.exit_code == 0, said.output
    rows = [json.loads(line) for line in (tmp_path / "out" / "runs.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * (6 * len(studies.policies(300)) + len(studies.forgetting(300)))
    assert len({tuple(row["case"]) for row in rows}) == len(rows)
    CliRunner().invoke(studies.main, [*asked, "--queries", "3", "--users", "PBM", "--workers", "1"])
    more = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in more[: len(rows)]] == rows
    assert len(more) == len(rows) + len(studies.policies(300))


def test_workers_change_nothing_but_the_order(queries, tmp_path):
    kept = []
    for workers in ("1", "3"):
        out = tmp_path / workers
        asked = [str(queries), "--out", str(out), "--steps", "200", "--queries", "2", "--users", "DCM"]
        CliRunner().invoke(studies.main, [*asked, "--workers", workers])
        kept.append(sorted((out / "runs.jsonl").read_text().splitlines()))
    assert kept[0] == kept[1]


def test_users_who_change_go_through_different_queries(queries):
    people = studies.users(json.loads(queries.read_text()), "changing CM", 1000)
    seen = {id(people[0].at(step)) for step in range(0, 1000, 100)}
    assert len(seen) == studies.CHANGES


def test_browsing_is_by_position_and_last_click(queries):
    models = json.loads(queries.read_text())
    user = studies.users(models, "UBM", 1000)[0]
    alpha, table, _ = models["UBM"]["q0"]["args"]
    first, second = 0.9 * alpha[3], table[1][0] * alpha[7]
    assert user.reward([3, 7]) == pytest.approx(first + first * second + (1 - first) * 0.9 * alpha[7])
