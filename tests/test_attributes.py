"""Attributes of items: what they may be, and that they stay with their items through every change of a catalog."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import CascadeLinUCB, Catalog, CatalogError, build_catalog, load
from rankfall.attributes import Attributes, as_number, attributes_of_rows

value = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2)
item = st.dictionaries(st.sampled_from(["brand", "price", "new"]), value.filter(lambda one: one is not None))


def catalog_of(items: dict[str, dict[str, Any]]) -> Catalog:
    names = dict.fromkeys(name for known in items.values() for name in known)
    attributes = {name: [known.get(name) for known in items.values()] for name in names}
    return Catalog(relevance=np.ones((len(items), 1)), ids=list(items), attributes=attributes)


def told(catalog: Catalog) -> list[tuple[Any, list[tuple[str, str, Any]]]]:
    """Items in order with what is known of them; types count, but 1 is 1.0."""
    return [
        (one, sorted((name, str(isinstance(v, bool)), v) for name, v in catalog.attributes.of_row(row).items()))
        for row, one in enumerate(catalog.ids)
    ]


@given(st.lists(st.tuples(st.sampled_from(["add", "replace", "withdraw"]), st.integers(0, 9), item), max_size=12))
def test_attributes_follow_their_items_through_every_change(steps: list[tuple[str, int, dict[str, Any]]]) -> None:
    model: dict[str, dict[str, Any]] = {"0": {"brand": "a"}, "1": {}}
    catalog = catalog_of(model)
    for what, number, known in steps:
        one = str(number)
        if what == "add" and one not in model:
            catalog, model[one] = catalog.add(catalog_of({one: known})), known
        elif what == "replace" and one in model:
            catalog, model[one] = catalog.replace(catalog_of({one: known})), known
        elif what == "withdraw" and one in model and len(model) > 1:
            catalog = catalog.withdraw([one])
            del model[one]
    assert told(catalog) == told(catalog_of(model))
    assert catalog.attributes == catalog_of(model).attributes
    assert set(catalog.attributes) == {name for known in model.values() for name in known}
    assert told(catalog.with_topics(["t"])) == told(catalog)


@given(st.lists(item, min_size=1, max_size=5))
def test_files_give_attributes_back(tmp_path_factory: pytest.TempPathFactory, items: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("files")
    catalog = catalog_of({str(i): known for i, known in enumerate(items)})
    catalog.write_parquet(folder / "catalog.parquet")
    assert Catalog.read_parquet(folder / "catalog.parquet") == catalog
    CascadeLinUCB(catalog).save(folder / "policy")
    assert load(folder / "policy").catalog == catalog
    stored = catalog.attributes.stored()
    assert Attributes.restored(stored.levels, stored.codes) == catalog.attributes
    assert attributes_of_rows(items) == catalog.attributes


def test_catalogs_differ_by_attributes_and_their_line_does_not() -> None:
    plain, with_brand = Catalog(ids=["a"]), Catalog(ids=["a"], attributes={"brand": ["Lego"]})
    assert plain != with_brand
    assert plain.lineage == with_brand.lineage
    assert Catalog(ids=["a"], attributes={"n": [1]}) != Catalog(ids=["a"], attributes={"n": [True]})


def test_values_that_nobody_has_any_more_are_let_go() -> None:
    catalog = Catalog(ids=["a", "b"], attributes={"at": [0, 1]})
    for at in range(3000):
        catalog = catalog.replace(Catalog(ids=["a"], attributes={"at": [at]}))
    assert catalog.attributes["at"] == (2999, 1)
    assert len(catalog.attributes.column("at").levels) < 1100


def test_moments_are_kept_as_text_and_compared_as_moments() -> None:
    moment = datetime(2026, 11, 18, 8, tzinfo=UTC)
    given = [moment, moment.replace(tzinfo=None), date(2026, 11, 18), np.float64(2.0), np.bool_(True)]
    values = Catalog(ids=range(5), attributes={"at": given}).attributes["at"]
    assert values == ("2026-11-18T08:00:00Z", "2026-11-18T08:00:00Z", "2026-11-18", 2.0, True)
    assert as_number("2026-11-18T08:00:00Z") == moment.timestamp() == as_number("2026-11-18T10:00:00+02:00")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"brand": ["a"]}, "attribute 'brand' has 1 values for 2 items"),
        ({"brand": "ab"}, "attribute 'brand' must have one value for each item, got 'ab'"),
        ({"brand": 3}, "one value for each item, got 3"),
        ({"price": [1.0, float("nan")]}, "a finite number, true or false, or None where an item has none; got nan"),
        ({"price": [1.0, float("inf")]}, "got inf"),
        ({"price": [1, 2**60]}, "got 1152921504606846976"),
        ({"brand": ["a", ["b"]]}, r"got \['b'\]"),
        ({"brand": ["a", "b\n"]}, "must be printable text"),
        ({"brand": ["a", "b" * 1001]}, "at most 1000 characters"),
        ({"": ["a", "b"]}, "the name of an attribute must be text of 1 to 200 printable characters, got ''"),
        ({3: ["a", "b"]}, "got 3"),
        ([["a", "b"]], "attributes must map names to values"),
    ],
)
def test_what_cannot_be_an_attribute_is_refused(given: Any, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        Catalog(ids=["x", "y"], attributes=given)


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_columns_of_a_frame_become_attributes(frame: Any) -> None:
    table = frame({"id": ["a", "b"], "brand": ["Lego", None], "price": [1.5, None], "new": [True, False]})
    catalog = Catalog.from_frame(table, attributes=["brand", "price", "new"])
    assert dict(catalog.attributes) == {"brand": ("Lego", None), "price": (1.5, None), "new": (True, False)}
    with pytest.raises(CatalogError, match="no column 'colour'"):
        Catalog.from_frame(table, attributes=["colour"])


def test_columns_of_a_table_become_attributes_and_no_features(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("id,price,brand,in_stock,rating\na,10,Lego,true,4\nb,20,,false,\nc,30,7up,TRUE,3.5\n")
    built = build_catalog(path, attributes=["brand", "in_stock", "rating"])
    assert built.catalog.features == ("constant", "price")
    assert dict(built.catalog.attributes) == {
        "brand": ("Lego", None, "7up"),
        "in_stock": (True, False, True),
        "rating": (4, None, 3.5),
    }
    assert "attribute  brand  2 values, text; 1 items have none" in built.describe()
    assert build_catalog(path, attributes=["rating"], features=["rating"]).catalog.features[-1].startswith("rating")
    with pytest.raises(CatalogError, match="no column 'colour' to make an attribute of"):
        build_catalog(path, attributes=["colour"])
