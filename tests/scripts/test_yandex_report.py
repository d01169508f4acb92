"""Tables and the figure of the studies on fitted queries, on runs over a made-up file of the same form."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from yandex_queries import write_queries

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # last: names of tests/support come first

import yandex_report as report
import yandex_studies as studies

STEPS = 200


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The file of queries, and a folder with runs on two of them, but for one policy on the second under DCM."""
    folder = tmp_path_factory.mktemp("yandex")
    file = write_queries(folder / "queries.json")
    studies.run(json.loads(file.read_text()), ("CM", "DCM", "PBM", "changing CM"), 2, STEPS, folder, 1)
    runs = folder / "runs.jsonl"
    lines = runs.read_text().splitlines()
    runs.write_text("".join(f"{line}\n" for line in lines if json.loads(line)["case"][:3] != ["DCM", "TopRank", 1]))
    return file, folder


def regret(folder, kind, name):
    rows = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    return np.array([row["regret"][-1] for row in rows if row["case"][:2] == [kind, name]])


def test_the_table_has_means_over_the_queries_that_every_policy_has(made):
    file, folder = made
    asked = [str(file), "--out", str(folder), "--steps", str(STEPS), "--short", "1"]
    said = CliRunner().invoke(report.main, asked)
    assert said.exit_code == 0, said.output
    ours = regret(folder, "PBM", "TopRank")
    error = abs(ours[0] - ours[1]) / 2
    assert f"| PBM | TopRank | 2 | {ours.mean():,.0f} ± {error:,.0f} |" in said.output
    assert f"| DCM | BatchRank | 1 | {regret(folder, 'DCM', 'BatchRank')[0]:,.0f} ±" in said.output


def test_lists_that_stay_the_same_lose_what_the_best_one_earns_beyond_them(made):
    file, folder = made
    models = json.loads(file.read_text())
    found = report.found(models, folder / "runs.jsonl", STEPS)["PBM"]
    for number, (first, attractive) in enumerate(zip(found[report.FIRST], found[report.ATTRACTIVE], strict=True)):
        alpha, examination, _ = models["PBM"][f"q{number}"]["args"]
        lost = STEPS * float(np.dot(np.sort(alpha)[::-1][:5] - alpha[:5], examination[:5]))
        assert first["regret"][-1] == pytest.approx(lost)
        assert attractive["regret"][-1] == pytest.approx(0.0, abs=1e-9)


def test_who_is_still_losing():
    run = {"marks": [900, 1000], "best": 0.5}
    assert report.losing({**run, "regret": [10.0, 10.06]})
    assert not report.losing({**run, "regret": [10.0, 10.04]})


def test_counts_are_of_queries_on_which_the_first_lost_less(made):
    file, folder = made
    found = report.found(json.loads(file.read_text()), folder / "runs.jsonl", STEPS)
    one, other = (regret(folder, "changing CM", name) for name in ("CascadeSWUCB", "CascadeUCB1"))
    cell = f"{(one < other).sum()} of 2, {other.mean() / one.mean():.1f} x"
    assert f"| CascadeSWUCB | CascadeUCB1 |  |  |  | {cell} |" in report.counts(found)


def test_page_and_figure_are_written(made, tmp_path, monkeypatch):
    file, folder = made
    page = tmp_path / "yandex.md"
    page.write_text("Before.\n<!-- long runs -->\nold\n<!-- end of long runs -->\nBehind.\n")
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(report, "PAGE", page)
    asked = [str(file), "--out", str(folder), "--steps", str(STEPS), "--short", "1", "--write"]
    assert CliRunner().invoke(report.main, asked).exit_code == 0
    text = page.read_text()
    assert text.startswith("Before.\n<!-- long runs -->\n| users |")
    assert "old" not in text
    assert (tmp_path / "images" / "yandex.png").stat().st_size > 10_000


def test_the_figure_has_a_panel_for_each_click_model_and_a_line_for_each_policy(made):
    file, folder = made
    drawn = report.figure(report.found(json.loads(file.read_text()), folder / "runs.jsonl", STEPS))
    assert [axes.get_title() for axes in drawn.axes] == ["CM, 2 queries", "PBM, 2 queries", "DCM, 1 queries"]
    assert all(len(axes.lines) == len(studies.policies(STEPS)) for axes in drawn.axes)
