import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from small_studies import OF_MANY_KINDS, ON_DATA

from rankfall import FileError, ProblemError
from rankfall.experiments import Case, Folder, Published, Study, Sweep, plan, run_study
from rankfall.experiments.report import write_report
from rankfall.experiments.statistics import differences

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


def headings(page: Page) -> list[str]:
    return [heading.strip() for heading in page.texts["h2"] if heading.strip()]


def reported(study: Study, out: Path) -> tuple[Folder, pl.DataFrame, Page]:
    folder = Folder(out, plan(study))
    runs = run_study(folder.plan, out, workers=1)
    write_report(folder, runs)
    return folder, runs, Page((out / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, pl.DataFrame, Page]:
    return reported(ON_DATA, tmp_path_factory.mktemp("swept"))


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, pl.DataFrame, Page]:
    named = replace(OF_MANY_KINDS, source="A & B <i>2020</i>", note="First.\nSecond.")
    published = Case("CascadeTS", published=Published(12.5, error=1.5))
    return reported(replace(named, cases=(*named.cases, published)), tmp_path_factory.mktemp("kinds"))


def test_the_page_is_well_formed_and_accessible(swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    page = swept[2]
    tags = [tag for tag, _ in page.tags]
    assert dict(page.tags)["html"] == {"lang": "en"}
    assert tags.count("h1") == tags.count("main") == 1
    assert headings(page) == [
        "Figure", "Final regret", "Paired differences", "Diversity", "Click rate", "Speed", "Settings"
    ]  # fmt: skip
    assert tags.count("table") == tags.count("caption") == 2 * 4 + 2
    assert all(attributes.get("scope") in {"row", "col"} for tag, attributes in page.tags if tag == "th")
    (image,) = [attributes for tag, attributes in page.tags if tag == "img"]
    assert "CascadeHybrid, CascadeLSB over steps" in str(image["alt"])


def test_the_claims_of_the_paper_are_in_its_own_report_only(swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    text = (swept[0].path / "report.html").read_text()
    assert "laim" not in re.sub(r"base64,[^\"]+", "", text)
    assert "ecsys" not in text.lower().replace("base64", "")
    assert not (swept[0].path / "claims.json").exists()


def test_the_page_needs_no_network(swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    folder, _, page = swept
    text = (folder.path / "report.html").read_text()
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert all(str(value).startswith(("#", "data:")) for value in links)
    assert {"script", "link", "iframe", "object"}.isdisjoint(tag for tag, _ in page.tags)
    assert "url(" not in text
    assert "@import" not in text
    encoded = re.search(r"data:image/svg\+xml;base64,([^\"]+)", text)
    assert encoded
    assert base64.b64decode(encoded[1]) == (folder.path / "figure.svg").read_bytes()


def test_the_lowest_regret_of_each_point_is_bold(swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    text = (swept[0].path / "report.html").read_text()
    section = text[text.index("<h2>Final regret") : text.index("<h2>Paired")]
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", section, flags=re.DOTALL)
    assert [re.findall(r"row\">(.*?)</th>", row)[0] for row in rows] == [
        "tradeoff = 0", "tradeoff = 0.5", "k = 4", "k = 3"
    ]  # fmt: skip
    assert all(row.count("<b>") == 1 for row in rows)
    assert all(row.count(" to ") == 2 for row in rows)  # an interval for each case


def test_differences_are_on_the_page_and_in_a_file(swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    folder, runs, page = swept
    found = differences(folder.plan, runs)
    table = pl.read_csv(folder.path / "differences.csv")
    assert table["estimate"].to_list() == pytest.approx([each.estimate for each in found])
    captions = [text.strip() for text in page.texts["caption"]]
    assert "Final regret less that of CascadeHybrid: tradeoff" in captions


def test_a_study_without_sweeps_has_a_table_of_cases(kinds: tuple[Folder, pl.DataFrame, Page]) -> None:
    folder, runs, page = kinds
    assert headings(page) == ["Figure", "Final regret", "Paired differences", "Speed", "Settings"]
    lines = (folder.path / "table.md").read_text().splitlines()
    assert lines[:5] == [f"# {OF_MANY_KINDS.name}", "", "A & B <i>2020</i>", "", "First."]
    assert "3 runs of 60 steps." in lines
    heads = "| case | regret | lists clicked | of the best, at the end | slope | published | difference |"
    assert heads in lines
    rows = [line for line in lines[lines.index(heads) + 2 :] if line]
    assert len(rows) == len(folder.plan.study.all_cases)
    mean = runs.filter(case="CascadeTS", step=60)["regret"].mean()
    assert isinstance(mean, float)
    assert rows[-1].startswith(f"| CascadeTS | {mean:.1f} ± ")
    assert rows[-1].endswith(f"| 12.5 ± 1.5 | {mean - 12.5:+.1f} |".replace("-", "\N{MINUS SIGN}"))
    drifting = next(row for row in rows if row.startswith("| CascadeSWUCB"))
    assert drifting.split(" | ")[3] == ""  # of whom no share of one best list can be said


def test_what_users_write_is_escaped(tmp_path: Path, kinds: tuple[Folder, pl.DataFrame, Page]) -> None:
    assert "A &amp; B &lt;i&gt;2020" in (kinds[0].path / "report.html").read_text()
    evil = '"><script>alert(1)</script>'
    study = Study(
        evil,
        {"attraction": [0.5, 0.2, 0.1]},
        cases=(Case("CascadeUCB1", evil), Case("CascadeTS", "'&")),
        sweeps=(Sweep({"k": [1, 2]}, evil),),
        note=evil,
        users=2,
        steps=20,
    )
    _, _, page = reported(study, tmp_path)
    assert "script" not in {tag for tag, _ in page.tags}


def test_the_same_runs_give_the_same_bytes_in_any_order(swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    folder, runs, _ = swept
    before = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    said, page, written = write_report(folder, runs.reverse())
    assert {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()} == before
    assert {path.name for path in written} == {
        *("figure.png", "figure.svg", "figure.pdf"),
        *("summary.csv", "differences.csv", "report.html"),
    }
    assert ElementTree.parse(folder.path / "figure.svg").getroot().tag.endswith("svg")
    assert said in page.read_text(encoding="utf-8")


def test_one_user_one_repeat_and_one_point_are_enough(tmp_path: Path) -> None:
    study = Study("one", {"attraction": [0.5, 0.2]}, ("CascadeUCB1",), sweeps=(Sweep({"k": [1]}),), users=1, steps=9)
    reported(study, tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert not re.search(r"\bnan\b", re.sub(r"base64,[^\"]+", "", text), flags=re.IGNORECASE)
    assert "Paired differences" not in text
    assert (tmp_path / "differences.csv").read_text().count("\n") <= 1


def test_settings_of_policies_are_axes_like_any_other(tmp_path: Path) -> None:
    study = Study(
        "axes",
        {"generate": {"items": 12}},
        ("CascadeHybrid", "CascadeUCB1"),
        sweeps=(
            Sweep({"settings.gamma": [0.1, 1.0], "user.tradeoff": [0.2, 0.5, 0.8]}, "both"),
            Sweep({"settings.forgetting": [{"discount": 0.9}, {"window": 5}]}),
            Sweep({"user": [{"clicks": "cascade"}, {"clicks": "document_based"}]}, "clicks"),
        ),
        k=3,
        users=2,
        steps=30,
    )
    _, runs, page = reported(study, tmp_path)
    assert runs["gamma"].unique().drop_nulls().sort().to_list() == [0.1, 1.0]
    assert runs["forgetting"].unique().drop_nulls().sort().to_list() == ["discount 0.9", "window 5"]
    rows = [text.strip() for text in page.texts["th"]]
    assert "gamma = 0.1, tradeoff = 0.8" in rows
    assert "forgetting = window 5" in rows
    assert "clicks document_based" in rows


def test_what_cannot_be_written_is_said(tmp_path: Path, swept: tuple[Folder, pl.DataFrame, Page]) -> None:
    folder, runs, _ = swept
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        write_report(Folder(tmp_path / "file" / "out", folder.plan), runs)
    with pytest.raises(ProblemError, match="no column regret"):
        write_report(folder, runs.drop("regret"))
