"""``rankfall catalog``, as it is called: from two files to a service, and on to the next file."""

import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from logged import CATALOG as LOGGED
from logged import drive, running
from served import Served

from rankfall import Catalog
from rankfall.cli import app
from rankfall.history.export import export

ITEMS = "id,title,topics,price,brand\n" + "".join(
    f"i{n},Item {n},{'art|sea' if n % 3 else 'war'},{1.5**n:.2f},{'acme' if n % 2 else 'bolt'}\n" for n in range(20)
)
CLICKS = "user,sku,click\n" + "".join(f"u{n % 12},i{n * 7 % 18},{int(n * n % 5 == 1)}\n" for n in range(200))


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "clicks.csv").write_text(CLICKS)
    return tmp_path


def test_build_writes_what_it_says(files: Path) -> None:
    out, page = files / "catalog.parquet", files / "report.html"
    options = ["--column", "item=sku", "--factors", 2, "--as", "price=log", "--report", page]
    said = call(
        "catalog", "build", "--items", files / "items.csv", "--log", files / "clicks.csv", "--out", out, *options
    )
    catalog = Catalog.read_parquet(out)
    names = ("constant", "log_price", "brand=acme", "brand=bolt", "brand=other", "factor_0", "factor_1")
    assert catalog.features == names
    assert "20 items, 3 topics, 7 features" in said.output
    assert "2 items never shown" in said.output
    text = page.read_text()
    assert "data:image/svg+xml" in text
    assert all(word in text for word in ("log_price", "factor_1", "12", "items never shown"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--items", "none.csv"], "none.csv does not exist"),
        (["--items", "items.csv", "--as", "price"], "not of the form column=kind"),
        (["--items", "items.csv", "--as", "prize=log"], "no column 'prize'"),
        (["--items", "items.csv", "--log", "clicks.csv"], "--column item=NAME"),
        (["--items", "items.csv", "--out", "nowhere/c.parquet"], "the folder nowhere does not exist"),
    ],
)
def test_what_is_wrong_is_said(files: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str) -> None:
    monkeypatch.chdir(files)
    result = CliRunner().invoke(app, ["catalog", "build", "--out", "c.parquet", *options])
    assert result.exit_code != 0
    assert message in result.output
    assert not (files / "c.parquet").exists()


def test_a_model_that_an_export_does_not_have_is_refused_with_those_it_has(files: Path) -> None:
    with running(str(files / "data")) as engine:
        drive(engine, 6)
        export(engine.store, files / "log")
    items = {"id": LOGGED.ids, "price": range(len(LOGGED))}
    pl.DataFrame(items).write_parquet(files / "items.parquet")
    build = ["catalog", "build", "--items", files / "items.parquet", "--out", files / "c.parquet"]
    build += ["--log", files / "log"]
    said = " ".join(call(*build, "--log-model", "nope", code=1).output.split())
    assert "has no list of model 'nope'; there are lists of: default" in said
    assert not (files / "c.parquet").exists()
    call(*build, "--log-model", "default", "--factors", 1)


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "catalogs.md").read_text()
    items, clicks = re.findall(r"^```csv\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "items.csv").write_text(items)
    (tmp_path / "clicks.csv").write_text(clicks)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^rankfall (catalog build .*)$", page, flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        call(*shlex.split(command))
    assert Catalog.read_parquet("catalog.parquet").topics == ("art", "home", "sea")
    assert "log_price" in Catalog.read_parquet("plain.parquet").features
    assert (tmp_path / "report.html").exists()


@pytest.mark.stress
def test_sync_brings_a_service_to_a_file_and_then_changes_nothing(files: Path) -> None:
    first, second = files / "first.parquet", files / "second.parquet"
    build = ["catalog", "build", "--log", files / "clicks.csv", "--column", "item=sku", "--factors", 2]
    call(*build, "--items", files / "items.csv", "--out", first)
    table = pl.read_csv(files / "items.csv")
    new = pl.DataFrame({"id": ["new"], "title": ["New"], "topics": ["war"], "price": [7.0], "brand": ["acme"]})
    renamed = pl.when(pl.col("id") == "i3").then(pl.lit("Third")).otherwise("title").alias("title")
    pl.concat([table.filter(pl.col("id") != "i0").with_columns(renamed), new]).write_csv(files / "items2.csv")
    call(*build, "--items", files / "items2.csv", "--out", second)
    with Served(log=files / "log", data=files / "data", catalog=first) as served:
        sync = ["catalog", "sync", "--url", served.url]
        assert "0 items to add, 0 to change, 0 to remove; 20 are the same" in call(*sync, first).output
        told = call(*sync, second, "--dry-run").output
        assert "1 items to add" in told
        assert "1 to remove" in told
        assert "Another recipe of features" in told
        assert served.client.get("/v1/catalog/items/i0").status_code == 200
        assert "Done" in call(*sync, second).output
        assert served.client.get("/v1/catalog/items/i0").status_code == 404
        assert served.client.get("/v1/catalog/items/i3").json()["title"] == "Third"
        wanted = Catalog.read_parquet(second)
        assert wanted.recipe is not None
        assert served.client.get("/v1/catalog").json()["recipe"] == wanted.recipe.digest
        version = served.client.get("/v1/catalog").json()["version"]
        assert "0 items to add, 0 to change, 0 to remove; 20 are the same" in call(*sync, second).output
        assert served.client.get("/v1/catalog").json()["version"] == version
        kept = call(*sync, first, "--keep", "--dry-run").output
        assert "1 items to add" in kept
        assert "0 to remove" in kept
        grown, table = files / "grown.csv", pl.read_csv(files / "items2.csv")
        garden = pl.when(pl.col("id") == "i3").then(pl.lit("art|garden")).otherwise("topics").alias("topics")
        table.with_columns(garden).write_csv(grown)
        call(*build, "--items", grown, "--out", files / "third.parquet")
        assert "New topics: garden." in call(*sync, files / "third.parquet").output
        assert served.client.get("/v1/catalog").json()["topics"] == ["art", "sea", "war", "garden"]
        assert set(served.client.get("/v1/catalog/items/i3").json()["coverage"]) == {"art", "garden"}
        assert "0 items to add, 0 to change, 0 to remove" in call(*sync, files / "third.parquet").output
        other = files / "other.parquet"
        call("catalog", "build", "--items", files / "items.csv", "--out", other)
        assert "would mean something else" in call(*sync, other, code=1).output
