"""Items as callers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from rankfall.catalog import Catalog, Id
from rankfall.errors import CatalogError
from rankfall.policies.linear.columns import LARGEST_GIVEN
from rankfall.wire import LONGEST_NAME, LONGEST_TITLE, Item, ItemBody, ItemPatch


def id_of(text: str, catalog: Catalog) -> Id:
    """The id that a path names: digits are a whole number where the catalog's ids are."""
    if whole_ids(catalog):
        if not re.fullmatch(r"-?(0|[1-9][0-9]*)", text, re.ASCII):
            raise CatalogError(f"no item with id {text!r}: ids of this catalog are whole numbers")
        return int(text)
    return text


def whole_ids(catalog: Catalog) -> bool:
    """Whether ids are whole numbers."""
    return bool(catalog.ids) and isinstance(catalog.ids[0], int)


def item_of(catalog: Catalog, row: int) -> Item:
    """One item as callers see it."""
    return Item(
        id=catalog.ids[row],
        title=None if catalog.titles is None else catalog.titles[row],
        coverage={catalog.topics[j]: float(catalog.coverage[row, j]) for j in np.flatnonzero(catalog.coverage[row])},
        relevance=catalog.relevance[row].tolist(),
    )


def catalog_of(items: Iterable[tuple[Id, ItemBody]], like: Catalog) -> Catalog:
    """Items as a catalog that fits another one; whatever does not fit is an error that names the item."""
    ids: list[Id] = []
    coverage, relevance, titles = [], [], []
    column = {topic: j for j, topic in enumerate(like.topics)}
    kind = int if whole_ids(like) else str
    for item, body in items:
        if like.ids and not isinstance(item, kind):
            raise CatalogError(f"id {item!r} is not a {kind.__name__}, as the other ids of this catalog are")
        unknown = next((topic for topic in body.coverage if topic not in column), None)
        if unknown is not None:
            raise CatalogError(f"item {item!r} covers {unknown!r}; the topics are {', '.join(like.topics) or 'none'}")
        if len(body.relevance) != like.n_features:
            raise CatalogError(
                f"item {item!r} has {len(body.relevance)} relevance features; {like.n_features} are expected"
            )
        row = np.zeros(like.n_topics)
        for topic, weight in body.coverage.items():
            row[column[topic]] = weight
        ids.append(item)
        coverage.append(row)
        relevance.append(body.relevance)
        titles.append(str(item) if body.title is None else body.title)
    return fitting(
        Catalog(
            np.array(coverage).reshape(len(ids), like.n_topics),
            np.array(relevance, dtype=float).reshape(len(ids), like.n_features),
            ids=ids,
            titles=None if like.titles is None else titles,
            topics=like.topics,
        ),
        like,
    )


def fitting(items: Catalog, like: Catalog) -> Catalog:
    """The same items, if they can take their place in a catalog; raises if not."""
    if items.topics != like.topics or items.n_features != like.n_features:
        raise CatalogError(
            f"items with topics {list(items.topics)} and {items.n_features} features do not fit a catalog "
            f"with topics {list(like.topics)} and {like.n_features} features"
        )
    _check_words(items)
    largest = float(np.abs(items.relevance).max(initial=0.0))
    if largest > LARGEST_GIVEN:
        raise CatalogError(f"a relevance feature is {largest:g}; scale features to about 1 (at most {LARGEST_GIVEN:g})")
    if items.ids and like.ids and type(items.ids[0]) is not type(like.ids[0]):
        raise CatalogError(f"id {items.ids[0]!r} is of another kind than the ids of this catalog ({like.ids[0]!r})")
    if (items.titles is None) == (like.titles is None):
        return items
    titles = None if like.titles is None else [str(item) for item in items.ids]
    return Catalog(items.coverage, items.relevance, ids=items.ids, titles=titles, topics=items.topics)


def _check_words(items: Catalog) -> None:
    """What a file can hold but callers could never name, or could not be shown."""
    for item in items.ids:
        if isinstance(item, str) and not (0 < len(item) <= LONGEST_NAME and item.isprintable()):
            raise CatalogError(f"id {item!r} must have 1 to {LONGEST_NAME} characters, all printable")
    for item, title in zip(items.ids, items.titles or (), strict=False):
        if len(title) > LONGEST_TITLE:
            raise CatalogError(f"the title of item {item!r} has {len(title)} characters; at most {LONGEST_TITLE}")


def patched(catalog: Catalog, item: Id, patch: ItemPatch) -> Catalog:
    """One item of the catalog with the patch applied, as a catalog of its own."""
    old = item_of(catalog, int(catalog.rows([item])[0]))
    body = ItemBody(
        title=old.title if patch.title is None else patch.title,
        coverage={**old.coverage, **(patch.coverage or {})},
        relevance=old.relevance if patch.relevance is None else patch.relevance,
    )
    return catalog_of([(item, body)], catalog)
