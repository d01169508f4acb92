"""Items as callers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from rankfall.arrays import FloatArray
from rankfall.attributes import attributes_of_rows, checked_attributes
from rankfall.catalog import Catalog, check_fits
from rankfall.errors import CatalogError, short
from rankfall.item_names import Id
from rankfall.journal.catalogs import CatalogItem, CatalogShape, CatalogState
from rankfall.policies.linear.columns import LARGEST_GIVEN
from rankfall.topic_cells import TOPIC_WEIGHT
from rankfall.wire import LONGEST_NAME, LONGEST_TITLE, Item, ItemBody, ItemPatch


def id_of(text: str, shape: CatalogShape) -> Id:
    """The id that a path names: digits are a whole number where the catalog's ids are."""
    if shape.whole_ids:
        if not re.fullmatch(r"-?(0|[1-9][0-9]*)", text, re.ASCII):
            raise CatalogError(f"no item with id {short(text)}: ids of this catalog are whole numbers")
        return int(text)
    return text


def item_of(item: Id, values: CatalogItem, topics: Sequence[str]) -> Item:
    """One item as callers see it."""
    return Item(
        id=item,
        title=values.title,
        coverage={topics[j]: float(values.coverage[j]) for j in np.flatnonzero(values.coverage).tolist()},
        relevance=values.relevance.tolist(),
        attributes=dict(values.attributes),
    )


def resolved(catalog: CatalogState, item: Id, body: ItemBody) -> ItemBody:
    """The item with coverage and relevance, where it was given by names of topics and values of columns.

    An item that is there keeps what was learned of it from a log: its coverage of topics it had, and its factors.
    """
    if body.topics is None and body.values is None:
        return body
    shape, old = catalog.shape, catalog.item(item) if item in catalog else None
    coverage, relevance = body.coverage, body.relevance
    if body.topics is not None:
        if coverage:
            raise CatalogError(f"item {short(item)} has topics and coverage; give one of them")
        usual = {} if shape.recipe is None else shape.recipe.topics
        had = {} if old is None else item_of(item, old, shape.topics).coverage
        coverage = {topic: had.get(topic) or usual.get(topic, TOPIC_WEIGHT) for topic in body.topics}
    if body.values is not None:
        if relevance:
            raise CatalogError(f"item {short(item)} has values and relevance; give one of them")
        relevance = _relevance(shape, item, body.values, coverage, old).tolist()
    return ItemBody(title=body.title, coverage=coverage, relevance=relevance, attributes=body.attributes)


def _relevance(
    shape: CatalogShape, item: Id, values: Mapping[str, Any], coverage: Mapping[str, float], old: CatalogItem | None
) -> FloatArray:
    """The features of an item, as the recipe of the catalog makes them of its values."""
    recipe = shape.recipe
    if recipe is None:
        raise CatalogError(
            f"item {short(item)} has values, and this catalog does not say how they become features: "
            "rankfall catalog build makes one that does; give relevance"
        )
    try:
        if old is not None:
            return recipe.changed(old.relevance, {name: values.get(name) for name in (*recipe.columns, *values)})
        made: FloatArray = recipe.relevance([values], [[topic for topic, weight in coverage.items() if weight > 0]])[0]
        return made
    except CatalogError as problem:
        raise CatalogError(f"item {short(item)}: {problem}") from None


def catalog_of(items: Iterable[tuple[Id, ItemBody]], shape: CatalogShape) -> Catalog:
    """Items as a catalog of this shape; whatever does not fit is an error that names the item."""
    ids: list[Id] = []
    coverage, relevance, titles, attributes = [], [], [], []
    column = {topic: j for j, topic in enumerate(shape.topics)}
    kind = int if shape.whole_ids else str
    for item, body in items:
        if shape.whole_ids is not None and not isinstance(item, kind):
            raise CatalogError(f"id {short(item)} is not a {kind.__name__}, as the other ids of this catalog are")
        unknown = next((topic for topic in body.coverage if topic not in column), None)
        if unknown is not None:
            raise CatalogError(
                f"item {short(item)} covers {short(unknown)}; the topics are {', '.join(shape.topics) or 'none'}"
            )
        if len(body.relevance) != len(shape.features):
            raise CatalogError(
                f"item {short(item)} has {len(body.relevance)} relevance features; {len(shape.features)} are expected"
            )
        row = np.zeros(len(shape.topics))
        for topic, weight in body.coverage.items():
            row[column[topic]] = weight
        ids.append(item)
        coverage.append(row)
        relevance.append(body.relevance)
        titles.append(str(item) if body.title is None else body.title)
        attributes.append(checked_attributes(body.attributes))
    return fitting(
        Catalog(
            np.array(coverage).reshape(len(ids), len(shape.topics)),
            np.array(relevance, dtype=float).reshape(len(ids), len(shape.features)),
            ids=ids,
            titles=titles if shape.titled else None,
            topics=shape.topics,
            features=shape.features,
            attributes=attributes_of_rows(attributes),
        ),
        shape,
    )


def fitting(items: Catalog, shape: CatalogShape) -> Catalog:
    """The same items, if they can take their place in a catalog of this shape; raises if not."""
    check_fits(items, shape.topics, shape.features)
    _check_words(items)
    largest = float(np.abs(items.relevance).max(initial=0.0))
    if largest > LARGEST_GIVEN:
        raise CatalogError(f"a relevance feature is {largest:g}; scale features to about 1 (at most {LARGEST_GIVEN:g})")
    if items.ids and shape.whole_ids not in (None, isinstance(items.ids[0], int)):
        kind = "whole numbers" if shape.whole_ids else "text"
        raise CatalogError(
            f"id {short(items.ids[0])} is of another kind than the ids of this catalog, which are {kind}"
        )
    if (items.titles is not None) == shape.titled:
        return items
    titles = [str(item) for item in items.ids] if shape.titled else None
    return Catalog(
        items.coverage,
        items.relevance,
        ids=items.ids,
        titles=titles,
        topics=items.topics,
        features=items.features,
        recipe=items.recipe,
        attributes=items.attributes,
    )


def _check_words(items: Catalog) -> None:
    """What a file can hold but callers could never name, or could not be shown."""
    for item in items.ids:
        if isinstance(item, str) and not (0 < len(item) <= LONGEST_NAME and item.isprintable()):
            raise CatalogError(f"id {short(item)} must have 1 to {LONGEST_NAME} characters, all printable")
    for item, title in zip(items.ids, items.titles or (), strict=False):
        if len(title) > LONGEST_TITLE:
            raise CatalogError(f"the title of item {short(item)} has {len(title)} characters; at most {LONGEST_TITLE}")


def checked_patch(catalog: CatalogState, item: Id, patch: ItemPatch) -> ItemPatch:
    """The patch with relevance where it has values; raises if the item cannot be changed so."""
    values = catalog.item(item)
    if patch.values is not None:
        if patch.relevance is not None:
            raise CatalogError(f"item {short(item)} has values and relevance; give one of them")
        if catalog.shape.recipe is None:
            _relevance(catalog.shape, item, patch.values, {}, values)
        else:
            changed = catalog.shape.recipe.changed(values.relevance, patch.values)
            patch = msgspec.structs.replace(patch, values=None, relevance=changed.tolist())
    old = item_of(item, values, catalog.shape.topics)
    body = ItemBody(
        title=old.title if patch.title is None else patch.title,
        coverage={**old.coverage, **(patch.coverage or {})},
        relevance=old.relevance if patch.relevance is None else patch.relevance,
    )
    catalog_of([(item, body)], catalog.shape)
    return patch
