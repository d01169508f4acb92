"""Studies give what version 0.1.0 gave, to the bit: shortened forms of all that come along."""

import json
import re
from pathlib import Path

import pytest

from rankfall.experiments import Study, paper_study, plan
from rankfall.experiments.chunks import read_chunk, simulate_chunk

ROOT = Path(__file__).parents[2]
FACTS = json.loads((ROOT / "tests" / "fixtures" / "0.1.0" / "studies.json").read_text())
FILES = sorted((ROOT / "studies" / "field").glob("*.toml"))


def shortened(text: str) -> str:
    """Few steps, three repeats, and changes of the user within them."""
    text = re.sub(r"(?m)^steps = \d+$", "steps = 400", text)
    text = re.sub(r"(?m)^repeats = \d+$", "repeats = 3", text)
    return re.sub(r"from = (\d+)000,", r"from = \g<1>0,", text)


def last_rows(study: Study) -> dict[tuple[str, int, str], list[list[float]]]:
    """Regret, clicks and reward of the best list after the last step, of each run of each case."""
    laid = plan(study)
    tables = {
        setup: [read_chunk(chunk, simulate_chunk(chunk, laid.data)) for chunk in setup.chunks] for setup in laid.setups
    }
    return {
        (entry.sweep, entry.point, entry.case.label): [
            list(row)
            for table in tables[setup]
            for row in table.filter(step=study.steps).select("regret", "clicks", "best").rows()
        ]
        for entry, setup in laid.rows
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_study_of_the_field(file: Path) -> None:
    study = Study.from_toml(shortened(file.read_text()))
    assert Study.from_toml(study.to_toml()) == study
    found = {label: rows for (_, _, label), rows in last_rows(study).items()}
    known = FACTS.get(file.stem, {})  # studies and policies that came later have no facts of 0.1.0: they just run
    assert {label: found[label] for label in known} == known


def test_every_study_of_0_1_0_is_still_here() -> None:
    assert FACTS.keys() - {"paper"} <= {file.stem for file in FILES}


def test_the_study_of_the_paper() -> None:
    small = {"users": 200, "items": 150, "threshold": 4.0, "rank": 5}
    study = paper_study("movielens-small", users=2, repeats=2, steps=300, preparation=small, gamma=0.5, seed=3)
    found = last_rows(study)
    assert {f"{sweep} {point} {label}": rows for (sweep, point, label), rows in found.items()} == FACTS["paper"]
