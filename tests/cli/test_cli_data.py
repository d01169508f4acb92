from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rankfall import Prepared
from rankfall.cli import app
from rankfall.data import DATASETS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["data", *arguments])


def test_list_names_every_data_set() -> None:
    result = call("list")
    assert result.exit_code == 0
    for name in DATASETS:
        assert name in result.output
    assert "part of rankfall" in result.output
    assert "not for commercial use" in result.output


def test_info_shows_terms_citation_and_counts(folder: Path) -> None:
    said = call("info", "movielens-small").output
    assert "Counted: 671 users, 9,066 items, 100,004 ratings" in said
    assert "no commercial or revenue-bearing use" in said
    assert "Harper" in said
    said = call("info", "yahoo-r2").output
    assert "on request" in said
    assert "Counted" not in said
    (folder / "ratings.csv").write_text("user,item,rating\n1,1,5\n")
    (folder / "items.csv").write_text("item,topics\n1,x|y\n")
    assert "Counted: 1 users, 1 items, 1 ratings\nTopics: x, y\n" in call("info", str(folder)).output


def test_prepare_writes_what_it_describes(folder: Path) -> None:
    out = folder / "small.npz"
    result = call("prepare", "movielens-small", "--items", "100", "--topics", "5", "--rank", "4", "--out", str(out))
    assert result.exit_code == 0, result.output
    prepared = Prepared.load(out)
    assert prepared.describe() in result.stdout
    assert str(out) in result.stdout
    assert (len(prepared.item_ids), prepared.n_topics, prepared.settings.rank) == (100, 5, 4)


def test_prepare_tables_of_your_own(folder: Path) -> None:
    lines = [f"{u},p{i},{5 - (u + i) % 2}" for u in range(10) for i in range(6)]
    (folder / "r.csv").write_text("\n".join(["customer,product,stars", *lines]))
    (folder / "p.csv").write_text("\n".join(["product,kind", *[f"p{i},{'ab'[i % 2]}" for i in range(6)]]))
    given = ["--column", "user=customer", "--column", "item=product", "--column", "rating=stars"]
    asked = ["--items-table", str(folder / "p.csv"), *given, "--column", "topics=kind", "--rank", "2"]
    result = call("prepare", str(folder / "r.csv"), *asked, "--out", str(folder / "out.npz"))
    assert result.exit_code == 0, result.output
    assert Prepared.load(folder / "out.npz").catalog().ids == tuple(f"p{i}" for i in range(6))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "nonsense"], "nonsense is neither a folder, nor a zip, nor a data set"),
        (["info", "movielens-1m/"], "movielens-1m/ is neither"),
        (["get", "nonsense"], "no data set is called 'nonsense'; choose from movielens-small"),
        (["get", "yahoo-r2"], "ask for R2 at Yahoo! Webscope"),
        (["get", "movielens-small"], "is part of rankfall"),
        (["prepare", "movielens-small"], "Missing option '--out'"),
        (["prepare", "movielens-small", "--out", "/no/folder/x"], "the folder /no/folder does not exist"),
        (["prepare", "movielens-1m", "--out", "x"], "get it with: rankfall data get movielens-1m"),
        (["prepare", "movielens-small", "--topics", "21", "--out", "x"], "from 1 to 20, got 21"),
        (["prepare", "movielens-small", "--threshold", "nan", "--out", "x"], "threshold must be a number"),
        (["prepare", "movielens-small", "--users", "1", "--out", "x"], "1 is not in the range x>=2"),
        (["prepare", "movielens-small", "--column", "user=u", "--out", "x"], "--column needs --items-table"),
        (["prepare", "r.csv", "--column", "nonsense", "--out", "x"], "'nonsense' is not of the form what=name"),
        (["prepare", "r.csv", "--items-table", "i.csv", "--out", "x"], "i.csv does not exist"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_nonsense_is_answered_in_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(folder)
    result = call(*arguments)
    assert result.exit_code != 0
    assert said in result.output
    assert "Traceback" not in result.output
    assert list(folder.iterdir()) == []
