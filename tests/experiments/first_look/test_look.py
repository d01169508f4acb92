"""A first look: what it shows is what the simulations gave."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankfall import CascadeLinUCB, CascadeUser, prepare, simulate_many
from rankfall.cli import app
from rankfall.data import find
from rankfall.experiments.first_look import FirstLook, first_look, write_page


@pytest.fixture(scope="module")
def look() -> FirstLook:
    return first_look(users=3, steps=400)


def test_the_table_is_what_simulations_give(look: FirstLook) -> None:
    data = prepare(find("movielens-small"), threshold=4.0)
    people = [
        CascadeUser(data.user_coverage, data.relevance, data.theta[u], data.beta[u], tradeoff=0.5) for u in range(3)
    ]
    people.sort(key=lambda user: -user.reward(user.best(10)))
    runs = simulate_many(CascadeLinUCB(data.catalog(), gamma=0.5), people, 400, 10)
    row = look.last.filter(policy="CascadeLinUCB").row(0, named=True)
    assert row["regret"] == pytest.approx(np.mean([run.regret[-1] for run in runs]))
    assert row["topics"] == pytest.approx(np.mean([run.touched[-1] / 400 for run in runs]))
    assert look.best == people[0].reward(people[0].best(10))
    assert [moment.after for moment in look.moments] == [0, 100, 400]
    assert look.moments[-1].chance <= look.best
    np.testing.assert_allclose(look.truth, [people[0].reward([row]) for row in range(len(data.catalog()))])


def test_the_sentence_says_what_the_table_says(look: FirstLook) -> None:
    best, *others = look.last["regret"]
    said = [int(share) / 100 for share in re.findall(r"(\d+)% less than", look.sentence)]
    assert said == [pytest.approx(1 - best / other, abs=0.005) for other in others]
    assert look.last["policy"][0] in look.sentence


def test_the_page_is_one_file_that_needs_no_network(look: FirstLook, tmp_path: Path) -> None:
    write_page(look, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert look.sentence in text
    assert not re.findall(r"(?:src|href)=\"(?!data:)", text)
    assert text.count("<li>") == 30
    assert "Drama" in text


def test_without_movielens_a_generated_catalog_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.data.datasets.EMBEDDED", tmp_path / "none")
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path / "data"))
    out = tmp_path / "new" / "page.html"
    done = CliRunner().invoke(app, ["demo", "--users", "2", "--steps", "200", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1,000 generated items that look like MovieLens" in " ".join(done.output.split())
    assert done.output.rstrip().endswith(f"Open {out}")
    assert "Comedy no. " in out.read_text()


def test_the_page_must_be_called_one(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "look")])
    assert done.exit_code == 2
    assert "its name must end in .html" in " ".join(done.output.split())
