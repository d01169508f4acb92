import json
import re
import runpy
from pathlib import Path

import polars as pl
import pytest
from studies import GRID, made

from rankfall.experiments import Folder, paper_study, plan
from rankfall.experiments.paper import PAPER
from rankfall.experiments.paper.claims import check_claims
from rankfall.experiments.paper.report import AXES, write_paper_report
from rankfall.experiments.report.panels import panels_of

Page = runpy.run_path(str(Path(__file__).parents[1] / "report" / "test_page.py"))["Page"]
SMALL = {"users": 100, "items": 60, "threshold": 4.0, "rank": 3}


@pytest.fixture(scope="module")
def runs() -> pl.DataFrame:
    return made(users=3)


@pytest.fixture(scope="module")
def out(runs: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Folder(tmp_path_factory.mktemp("report") / "out", plan(paper_study("movielens-small", preparation=SMALL)))
    write_paper_report(folder, runs)
    rows = panels_of(folder.plan, AXES)
    assert [(row.symbol, row.values[0], row.values[-1]) for row in rows] == [
        ("λ", 0.0, 1.0),
        ("d", 5, 20),
        ("K", 5, 20),
    ]
    return folder.path


def test_every_claim_with_its_verdict_is_there(out: Path, runs: pl.DataFrame) -> None:
    text = (out / "report.html").read_text()
    page = Page(text)
    assert [heading.strip() for heading in page.texts["h2"] if heading.strip()][:3] == [
        "Claims", "Figure", "Final regret"
    ]  # fmt: skip
    assert set(PAPER) <= {head.strip() for head in page.texts["th"]}
    said = " ".join(" ".join(texts) for texts in page.texts.values())
    for claim in check_claims(runs):
        assert claim.statement in said
        assert claim.detail in said
        assert f'id="claim-{claim.name}"' in text
    assert "✓" in page.texts["span"]
    assert "They end after 1,000 steps, the paper's after 50,000" in said
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers)) == 10
    links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert links == ["https://doi.org/10.1145/3383313.3412245"]


def test_the_numbers_are_in_files_too(out: Path, runs: pl.DataFrame) -> None:
    claims = json.loads((out / "claims.json").read_text())
    assert [claim["name"] for claim in claims] == [claim.name for claim in check_claims(runs)]
    assert claims[0]["parts"][0].keys() >= {"what", "verdict", "estimate", "low", "high", "users", "bound"}
    summary = pl.read_csv(out / "summary.csv")
    assert summary.height == len(GRID) * len(PAPER)
    row = summary.filter(sweep="tradeoff", point=5, case="CascadeHybrid").row(0, named=True)
    each = runs.filter(value=0.5, policy="CascadeHybrid", step=1000).group_by("user").agg(pl.col("regret").mean())
    assert row["units"] == 3
    assert row["regret"] == pytest.approx(each["regret"].mean())
    assert row["regret_error"] == pytest.approx(each["regret"].std() / 3**0.5)
    assert (row["touched"], row["covered"], row["click_rate"]) == (4.0, 1.5, 0.5)


def test_one_user_and_one_sweep_are_enough(tmp_path: Path) -> None:
    few = made(users=1, repeats=1, grid=[("positions", k) for k in (5.0, 10.0, 15.0, 20.0)], policies=["CascadeHybrid"])
    study = paper_study("movielens-small", ["positions"], policies=["CascadeHybrid"], preparation=SMALL)
    write_paper_report(Folder(tmp_path, plan(study)), few)
    text = (tmp_path / "report.html").read_text()
    assert not re.search(r"\bnan\b", re.sub(r"base64,[^\"]+", "", text), flags=re.IGNORECASE)
    assert "not tested" in text
    assert json.loads((tmp_path / "claims.json").read_text())[-1]["low"] is None
