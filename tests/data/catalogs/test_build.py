"""From a table of items and a click log to a catalog that knows how it was made."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankfall import CascadeHybrid, Catalog, CatalogError, FileError, build_catalog

N = 120


def shop(folder: Path) -> tuple[Path, Path]:
    """Two CSV files: items, and what people were shown and clicked. The last ten items were never shown."""
    rng = np.random.default_rng(5)
    topics = ["|".join(rng.choice(["art", "sea", "war"], rng.integers(1, 3), replace=False)) for _ in range(N)]
    items = {
        "id": [f"i{n}" for n in range(N)],
        "title": [f"Item {n}" for n in range(N)],
        "topics": topics,
        "price": np.exp(rng.normal(3, 1, N)).round(2),
        "brand": rng.choice(["acme", "bolt"], N, p=[0.7, 0.3]),
        "added": ["2024-03-01"] * N,
    }
    pl.DataFrame(items).write_csv(folder / "items.csv")
    rows = 4000
    log = {
        "list": rng.integers(0, 400, rows),
        "user": [f"u{n}" for n in rng.integers(0, 60, rows)],
        "item": [f"i{n}" for n in rng.integers(0, N - 10, rows)],
        "click": (rng.random(rows) < 0.2).astype(int),
    }
    pl.DataFrame(log).write_csv(folder / "clicks.csv")
    return folder / "items.csv", folder / "clicks.csv"


def test_from_two_files(tmp_path: Path) -> None:
    items, log = shop(tmp_path)
    built = build_catalog(items, log=log, rank=4)
    catalog = built.catalog
    own = ("constant", "log_price", "brand=acme", "brand=bolt", "brand=other")
    assert catalog.features == (*own, "factor_0", "factor_1", "factor_2", "factor_3")
    assert catalog.topics == ("art", "sea", "war")
    named = pl.read_csv(items)["topics"].to_list()
    member = np.array([[topic in cell.split("|") for topic in catalog.topics] for cell in named])
    assert ((catalog.coverage > 0) == member).all()
    assert 0.0 < catalog.coverage[member].min() <= catalog.coverage.max() < 1.0
    assert 0.7 < np.linalg.norm(catalog.relevance, axis=1).mean() < 1.1
    assert {each.column: each.rule is None for each in built.columns} == {"price": False, "brand": False, "added": True}
    assert "10 items never shown" in built.describe()
    catalog.write_parquet(tmp_path / "catalog.parquet")
    assert Catalog.read_parquet(tmp_path / "catalog.parquet") == catalog
    names = [weight.name for weight in CascadeHybrid(catalog).learned()]
    assert names == [*catalog.topics, *catalog.features]


def test_an_item_given_later_has_the_features_of_one_nobody_clicked(tmp_path: Path) -> None:
    items, log = shop(tmp_path)
    catalog = build_catalog(items, log=log, rank=4).catalog
    assert catalog.recipe is not None
    for row in range(N - 10, N):
        given = pl.read_csv(items).row(row, named=True)
        member = np.array([[topic in given["topics"].split("|") for topic in catalog.topics]], dtype=float)
        named = [given["topics"].split("|")]
        made = catalog.recipe.relevance([{"price": given["price"], "brand": given["brand"]}], named)
        np.testing.assert_allclose(made[0], catalog.relevance[row], atol=1e-12)
        usual = [catalog.recipe.topics[topic] * is_of for topic, is_of in zip(catalog.topics, member[0], strict=True)]
        np.testing.assert_allclose(catalog.coverage[row], usual, atol=1e-12)


def test_the_same_from_every_kind_of_file(tmp_path: Path) -> None:
    items, log = shop(tmp_path)
    pl.read_csv(items).write_parquet(tmp_path / "items.parquet")
    pl.read_csv(log).write_parquet(tmp_path / "clicks.parquet")
    one = build_catalog(items, log=log, rank=2).catalog
    other = build_catalog(tmp_path / "items.parquet", log=tmp_path / "clicks.parquet", rank=2, log_rows=333).catalog
    frames = build_catalog(pl.read_csv(items), log=pl.read_csv(log).reverse(), rank=2).catalog
    for catalog in (other, frames):
        assert (catalog.ids, catalog.topics, catalog.features) == (one.ids, one.topics, one.features)
        np.testing.assert_allclose(catalog.coverage, one.coverage, atol=1e-12)
        np.testing.assert_allclose(catalog.relevance, one.relevance, atol=1e-5)


def test_without_a_log_and_with_other_names(tmp_path: Path) -> None:
    items, _ = shop(tmp_path)
    frame = pl.read_csv(items).rename({"id": "sku", "topics": "genres", "title": "name"})
    catalog = build_catalog(
        frame, id="sku", title="name", topics="genres", features=["price"], kinds={"price": "number"}, topic_weight=0.3
    ).catalog
    assert catalog.features == ("constant", "price")
    assert set(catalog.coverage.ravel().tolist()) == {0.0, 0.3}
    assert catalog.titles is not None
    bare = build_catalog(frame, id="sku", features=[]).catalog
    assert (bare.n_topics, bare.n_features, bare.titles) == (0, 0, None)


def test_weights_of_the_table_stay(tmp_path: Path) -> None:
    _, log = shop(tmp_path)
    frame = pl.DataFrame({"id": ["i0", "i1"], "topics": [{"a": 0.9, "b": 0.0}, {"a": 0.1, "b": 0.4}]})
    built = build_catalog(frame, log=log, rank=0)
    assert built.catalog.coverage.tolist() == [[0.9, 0.0], [0.1, 0.4]]
    assert built.log is not None
    assert built.log.unknown > 3000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,price\na,1\na,2\n", r"items.csv, line 3: id 'a' is there already, at .*items.csv, line 2"),
        ("id,price\na,1\n,2\n", r"line 3: column 'id' is empty"),
        ("id,price\na,1\nb\n", r"line 3: 1 fields; expected 2"),
        ("sku,price\na,1\n", r"no column 'id'; it has sku, price\. --id NAME"),
        ("id,price\n", "has no rows"),
        ("id,price\na,1\nb,cheap\nc,3\n", "line 3: price is 'cheap'; expected a number"),
    ],
)
def test_bad_rows_of_items(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "items.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        build_catalog(tmp_path / "items.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,item,click\nu,i0,1\nu,i1,2\n", "clicks.csv, line 3: click is '2'; expected 0 or 1"),
        ("user,item,click\nu,i0,1\nu,,0\n", "line 3: column 'item' is empty"),
        ("item,click\ni0,1\n", "neither a column 'user' nor 'list'"),
        ("user,thing,click\nu,i0,1\n", r"no column 'item'.*--column item=NAME"),
        ("user,item,click\nu,x,1\n", "none of the 1 rows of the click log"),
        ("user,item,click\n", "the click log has no rows"),
    ],
)
def test_bad_rows_of_the_log(tmp_path: Path, text: str, message: str) -> None:
    items, _ = shop(tmp_path)
    (tmp_path / "clicks.csv").write_text(text)
    with pytest.raises((FileError, CatalogError), match=message):
        build_catalog(items, log=tmp_path / "clicks.csv", log_rows=1)


def test_a_line_far_down_is_named(tmp_path: Path) -> None:
    items, _ = shop(tmp_path)
    lines = ["user,item,click", *["u,i0,1"] * 50, "u,i1,often"]
    (tmp_path / "clicks.csv").write_text("\n".join(lines))
    with pytest.raises(FileError, match="line 52: click is 'often'"):
        build_catalog(items, log=tmp_path / "clicks.csv", log_rows=7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["prize"]}, "no column 'prize'"),
        ({"kinds": {"price": "wave"}}, "choose from number, log"),
    ],
)
def test_what_is_asked_for_must_be_there(tmp_path: Path, options: dict[str, object], message: str) -> None:
    items, _ = shop(tmp_path)
    with pytest.raises(CatalogError, match=message):
        build_catalog(items, **options)  # type: ignore[arg-type]
