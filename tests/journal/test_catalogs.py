"""The catalog as it changes by entries: as a plain list of items says, at a cost of what changes."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import Catalog, CatalogError
from rankfall.array_container import pack
from rankfall.journal.catalogs import CatalogState, decode_catalog, encode_catalog, shape_of
from rankfall.journal.entries import CatalogChanged, ItemPatched

Plain = dict[str, tuple[str, list[float], list[float], dict[str, Any]]]
"""Items by id, in the order of rows: title, coverage, relevance, attributes."""


def catalog_of(items: Plain) -> Catalog:
    return Catalog(
        np.array([coverage for _, coverage, _, _ in items.values()]).reshape(-1, 2),
        np.array([relevance for _, _, relevance, _ in items.values()]).reshape(-1, 1),
        ids=list(items),
        titles=[title for title, _, _, _ in items.values()],
        topics=["x", "y"],
        attributes={name: [known.get(name) for _, _, _, known in items.values()] for name in ("brand", "new")},
    )


START: Plain = {f"i{n}": (f"Title {n}", [n / 10, 0.5], [float(n)], {"brand": f"b{n % 2}"}) for n in range(4)}


def applied(items: Plain, change: dict[str, Any]) -> Plain:
    """What a change means, in plain Python."""
    items = {} if change.get("replace") else dict(items)
    if (patch := change.get("patch")) and patch["id"] in items:
        title, (x, y), relevance, known = items[patch["id"]]
        merged = {**known, **patch.get("attributes", {})}
        known = {name: value for name, value in merged.items() if value is not None}
        items[patch["id"]] = (patch.get("title") or title, [patch.get("x", x), y], relevance, known)
    items |= change.get("put", {})
    left = {item: values for item, values in items.items() if item not in change.get("delete", [])}
    return left or items  # the last item always stays


def record_of(change: dict[str, Any]) -> CatalogChanged:
    put, patch = change.get("put"), change.get("patch")
    patched = None
    if patch:
        coverage = {"x": patch["x"]} if "x" in patch else None
        patched = ItemPatched(patch["id"], patch.get("title"), coverage, attributes=patch.get("attributes"))
    return CatalogChanged(
        replace=change.get("replace", False),
        items=encode_catalog(catalog_of(put)) if put else None,
        patch=patched,
        delete=tuple(change.get("delete", [])),
    )


ids = st.sampled_from([f"i{n}" for n in range(7)])
units = st.integers(0, 10).map(lambda n: n / 10)
brands, news = st.sampled_from(["b0", "b1", 7]), st.booleans()
known = st.fixed_dictionaries({}, optional={"brand": brands, "new": news})
changed = st.fixed_dictionaries({}, optional={"brand": brands | st.none(), "new": news | st.none()})
items = st.dictionaries(
    ids, st.tuples(st.sampled_from(["A", "B"]), st.tuples(units, units).map(list), st.just([1.0]), known)
)
changes = st.one_of(
    st.fixed_dictionaries({"put": items.filter(bool)}, optional={"delete": st.lists(ids, max_size=3)}),
    st.fixed_dictionaries({"delete": st.lists(ids, min_size=1, max_size=7)}),
    st.fixed_dictionaries(
        {
            "patch": st.fixed_dictionaries(
                {"id": ids}, optional={"title": st.just("P"), "x": units, "attributes": changed}
            )
        }
    ),
    st.fixed_dictionaries({"replace": st.just(True), "put": items.filter(bool)}),
)


@given(st.lists(st.tuples(changes, st.booleans()), max_size=12))
def test_any_changes_give_the_catalog_of_plain_python(history: list[tuple[dict[str, Any], bool]]) -> None:
    state, plain = CatalogState(catalog_of(START)), START
    for version, (change, look) in enumerate(history, 1):
        before, plain = plain, applied(plain, change)
        gone, put = state.apply(record_of(change), version)
        assert (len(state), state.version) == (len(plain), version)
        if change.get("replace"):
            assert (gone, put) == (list(before), list(plain))
        else:
            assert set(gone) == set(before) - set(plain)
            assert {item for item in plain if before.get(item) != plain[item]} <= set(put) <= set(plain)
        for item in [*START, "i5"]:
            assert (item in state) == (item in plain)
            if item in plain:
                title, coverage, relevance, attributes = state.item(item)
                assert (title, coverage.tolist(), relevance.tolist(), dict(attributes)) == plain[item]
        assert set(state.attributes) >= {name for one in plain.values() for name in one[3]}
        if look:
            assert state.current() == catalog_of(plain)
            assert state.attributes == sorted(state.current().attributes)
    assert state.current() == catalog_of(plain)
    assert state.current() is state.current()


def test_a_catalog_keeps_its_line_and_its_bytes() -> None:
    first = catalog_of(START)
    state = CatalogState(first)
    state.apply(record_of({"delete": ["i0"]}), 1)
    state.apply(record_of({"put": {"i0": START["i0"]}}), 2)
    assert state.current().ids == ("i1", "i2", "i3", "i0")
    assert state.current().lineage == first.lineage
    again = decode_catalog(encode_catalog(state.current()))
    assert again == state.current()
    assert again.lineage == first.lineage


def test_items_that_do_not_fit() -> None:
    state = CatalogState(catalog_of(START))
    other = Catalog(relevance=[[1.0]], ids=["a"], titles=["A"])
    with pytest.raises(CatalogError, match="do not fit a catalog"):
        state.apply(CatalogChanged(items=encode_catalog(other)), 1)
    with pytest.raises(CatalogError, match="2 relevance features; 1 are expected"):
        state.apply(CatalogChanged(patch=ItemPatched("i1", relevance=(1.0, 2.0))), 1)
    with pytest.raises(CatalogError, match="no item with id 'none' in this catalog of 4 items"):
        state.item("none")
    assert (state.version, state.current()) == (0, catalog_of(START))
    with pytest.raises(CatalogError, match="there is no catalog yet"):
        CatalogState().current()
    with pytest.raises(CatalogError, match="has no items"):
        CatalogState().apply(CatalogChanged(), 1)
    assert shape_of(other).whole_ids is False


def test_the_catalog_can_change_while_it_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes it does not wait, and nothing of the change is lost."""
    state = CatalogState(catalog_of(START))
    state.apply(record_of({"delete": ["i0"]}), 1)
    replace, changed = Catalog.withdraw, threading.Event()

    def slow(self: Catalog, gone: Any) -> Catalog:
        if not changed.is_set():
            thread = threading.Thread(target=change)
            thread.start()
            thread.join()  # it must get through while this one is under way
        return replace(self, gone)

    def change() -> None:
        state.apply(record_of({"put": {"i6": START["i3"]}, "delete": ["i1"]}), 2)
        changed.set()

    monkeypatch.setattr(Catalog, "withdraw", slow)
    catalog, version = state.current_version()
    assert (catalog.ids, version) == (("i1", "i2", "i3"), 1)
    assert state.current_version()[1] == 2
    assert state.current().ids == ("i2", "i3", "i6")


def test_catalogs_that_0_1_0_wrote_are_read() -> None:
    """It had a length, a text and the arrays, without a check sum."""
    import json

    catalog = catalog_of(START)
    header = {"ids": catalog.ids, "titles": catalog.titles, "topics": catalog.topics, "lineage": catalog.lineage}
    arrays = {"coverage": catalog.coverage, "relevance": catalog.relevance}
    shapes = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    text = json.dumps({"header": header, "arrays": shapes}).encode()
    old = b"".join([len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays.values())])
    assert old != pack(header, arrays)
    assert decode_catalog(old) == catalog.with_attributes({})


def test_items_that_were_written_before_a_topic_came_do_not_cover_it() -> None:
    """Two servers: one adds a topic while the other has items on their way that do not know of it."""
    state = CatalogState(Catalog([[0.5]], [[1.0]], ids=["a"], topics=["war"]), version=1)
    late = encode_catalog(Catalog([[0.25], [0.75]], [[2.0], [3.0]], ids=["a", "b"], topics=["war"]))
    state.apply(CatalogChanged(topics=("art",)), version=2)
    state.apply(CatalogChanged(items=late), version=3)
    assert state.current().topics == ("war", "art")
    assert state.current().coverage.tolist() == [[0.25, 0.0], [0.75, 0.0]]
    state.apply(CatalogChanged(patch=ItemPatched("b", coverage={"art": 0.5}), topics=("sea",)), version=4)
    assert state.item("b").coverage.tolist() == [0.75, 0.5, 0.0]
    assert [state.topics_at(version) for version in (1, 2, 3, 4, 9)] == [1, 2, 2, 3, 3]
