import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from studies import GRID, made

from rankfall import FileError, ProblemError
from rankfall.experiments.paper.claims import check_claims
from rankfall.experiments.report import write_report
from rankfall.policies import PAPER

SETTINGS: dict[str, object] = {
    "dataset": "movies & <b>songs</b>",
    "seed": 12345,
    "prepared": {"threshold": 5.0, "topics": None},
    "policies": list(PAPER),
    "timings": {"interactions per second": 12345.678},
}
VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """Every tag, with complaints about those that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.fixture(scope="module")
def runs() -> pl.DataFrame:
    return made(users=3)


@pytest.fixture(scope="module")
def out(runs: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("report") / "not" / "there yet"
    write_report(folder, runs, SETTINGS)
    return folder


@pytest.fixture(scope="module")
def text(out: Path) -> str:
    return (out / "report.html").read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_accessible(text: str) -> None:
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert text.startswith("<!DOCTYPE html>")
    assert dict(page.tags)["html"] == {"lang": "en"}
    assert tags.count("h1") == tags.count("main") == 1
    assert [heading for heading in page.texts["h2"] if heading.strip()] == [
        "Claims",
        "Figure",
        "Final regret",
        "Diversity",
        "Click rate",
        "Speed",
        "Settings",
    ]
    assert tags.count("table") == tags.count("caption") > 9
    assert all(attributes.get("scope") in {"row", "col"} for tag, attributes in page.tags if tag == "th")
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(images) == 1
    assert all(name in str(images[0]["alt"]) for name in PAPER)
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers)) == 10


def test_the_page_needs_no_network(text: str, out: Path) -> None:
    page = Page(text)
    links = [
        (name, value) for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")
    ]
    outside = [str(value) for _, value in links if not str(value).startswith(("#", "data:"))]
    assert outside == ["https://doi.org/10.1145/3383313.3412245"]
    assert {"script", "link", "iframe", "object"}.isdisjoint(tag for tag, _ in page.tags)
    assert "url(" not in text
    assert "@import" not in text
    encoded = re.search(r"data:image/svg\+xml;base64,([^\"]+)", text)
    assert encoded
    assert base64.b64decode(encoded[1]) == (out / "figure.svg").read_bytes()


def test_every_policy_and_every_claim_with_its_verdict_is_there(text: str, runs: pl.DataFrame) -> None:
    page = Page(text)
    assert set(PAPER) <= {head.strip() for head in page.texts["th"]}
    said = " ".join(" ".join(texts) for texts in page.texts.values())
    for claim in check_claims(runs):
        assert claim.statement in said
        assert claim.detail in said
        assert f'id="claim-{claim.name}"' in text
    assert "✓" in page.texts["span"]
    assert "They end after 1,000 steps, the paper's after 50,000" in said


def test_the_lowest_regret_of_each_setting_is_bold(text: str) -> None:
    section = text[text.index("<h2>Final regret") : text.index("<h2>Diversity")]
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", section)
    assert len(rows) == len(GRID)
    assert all(row.count("<b>") == 1 for row in rows)
    assert re.search(r"λ = 0\.5</th><td class=\"n\"><b>", rows[5])
    assert rows[0].index("<b>") > rows[0].index("</td>")  # at 0 it is CascadeLSB


def test_what_users_write_is_escaped(text: str) -> None:
    assert "<b>songs" not in text
    assert "movies &amp; &lt;b&gt;songs&lt;/b&gt;" in text
    assert "12,345" in text
    assert "prepared.threshold" in text


def test_names_of_policies_and_studies_are_escaped(tmp_path: Path, runs: pl.DataFrame) -> None:
    evil = '"><script>alert(1)</script>'
    strange = runs.filter(study="topics").with_columns(policy=pl.col("policy").replace("CascadeLSB", evil))
    more = strange.with_columns(study=pl.lit(evil))
    write_report(tmp_path, pl.concat([strange, more]), {evil: {evil: evil}, "timings": evil})
    page = Page((tmp_path / "report.html").read_text())
    assert "script" not in {tag for tag, _ in page.tags}


def test_the_other_files_hold_the_numbers(out: Path, runs: pl.DataFrame) -> None:
    claims = json.loads((out / "claims.json").read_text())
    assert [claim["name"] for claim in claims] == [claim.name for claim in check_claims(runs)]
    assert claims[0]["parts"][0].keys() >= {"what", "verdict", "estimate", "low", "high", "users", "bound"}
    summary = pl.read_csv(out / "summary.csv")
    assert summary.height == len(GRID) * len(PAPER)
    row = summary.row(by_predicate=(pl.col("value") == 0.5) & (pl.col("policy") == "CascadeHybrid"), named=True)
    each = runs.filter(value=0.5, policy="CascadeHybrid", step=1000).group_by("user").agg(pl.col("regret").mean())
    assert row["users"] == 3
    assert row["regret"] == pytest.approx(each["regret"].mean())
    assert row["regret_error"] == pytest.approx(each["regret"].std() / 3**0.5)
    assert (row["touched"], row["covered"], row["click_rate"]) == (4.0, 1.5, 0.5)
    assert ElementTree.parse(out / "figure.svg").getroot().tag.endswith("svg")
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_runs_give_the_same_bytes_in_any_order(out: Path, runs: pl.DataFrame, tmp_path: Path) -> None:
    written = write_report(tmp_path, runs.reverse(), SETTINGS)
    assert sorted(path.name for path in written) == sorted(path.name for path in tmp_path.iterdir())
    for path in written:
        assert path.read_bytes() == (out / path.name).read_bytes(), path.name


def test_one_user_one_study_and_unknown_diversity_are_enough(tmp_path: Path) -> None:
    few = made(users=1, repeats=1, grid=[("positions", 5.0)], policies=["CascadeHybrid", "Mine"]).with_columns(
        touched=float("nan"), covered=float("nan")
    )
    write_report(tmp_path, few, {})
    text = (tmp_path / "report.html").read_text()
    Page(text)
    assert "nan" not in re.sub(r"base64,[^\"]+", "", text).lower()
    assert "not tested" in text
    assert json.loads((tmp_path / "claims.json").read_text())[-1]["low"] is None


def test_what_cannot_be_written_is_said(tmp_path: Path, runs: pl.DataFrame) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        write_report(tmp_path / "file" / "out", runs, {})
    with pytest.raises(ProblemError, match="no column regret"):
        write_report(tmp_path, runs.drop("regret"), {})
