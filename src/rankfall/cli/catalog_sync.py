"""What a catalog in a file and that of a running service differ in, and the calls that make the service the same."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankfall.attributes import Value, key_of
from rankfall.catalog import Catalog
from rankfall.client import Client
from rankfall.errors import CatalogError
from rankfall.item_names import Id
from rankfall.wire import Item

AT_ONCE = 20_000
"""Items in one call."""


@dataclass(frozen=True)
class Changes:
    """What must change in the service.

    Attributes
    ----------
    added, changed, removed : ids.
    topics : new ones.
    recipe : whether the recipe of features is another.
    same : how many items stay as they are.
    """

    added: tuple[Id, ...]
    changed: tuple[Id, ...]
    removed: tuple[Id, ...]
    topics: tuple[str, ...]
    recipe: bool
    same: int

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.topics or self.recipe)

    def describe(self) -> str:
        """In a line or two."""
        counts = f"{len(self.added):,} items to add, {len(self.changed):,} to change, {len(self.removed):,} to remove"
        lines = [f"{counts}; {self.same:,} are the same."]
        lines += [f"New topics: {', '.join(self.topics)}."] if self.topics else []
        lines += ["Another recipe of features."] if self.recipe else []
        return "\n".join(lines)


def difference(client: Client, catalog: Catalog, *, keep: bool = False) -> Changes:
    """What must change for the service to have this catalog; ``keep`` lets other items stay."""
    now = client.catalog()
    new = tuple(topic for topic in catalog.topics if topic not in now.topics)
    names = now.feature_names
    if now.features != catalog.n_features or (catalog.recipe is not None and list(catalog.features) != names):
        raise CatalogError(
            f"the service has features {names or now.features} and the file {list(catalog.features)}; what was learned "
            "would mean something else: start a service with a store of its own"
        )
    seen: set[Id] = set()
    changed, removed = [], []
    for item in client.items(page_size=1000):
        row = catalog.row(item.id)
        if row is None:
            removed.append(item.id)
        else:
            seen.add(item.id)
            if not _same(item, catalog, row, titled=now.titles):
                changed.append(item.id)
    added = tuple(item for item in catalog.ids if item not in seen)
    recipe = catalog.recipe is not None and catalog.recipe.digest != now.recipe
    kept = len(removed) if keep else 0
    return Changes(added, tuple(changed), () if keep else tuple(removed), new, recipe, len(seen) - len(changed) + kept)


def _same(item: Item, catalog: Catalog, row: int, *, titled: bool) -> bool:
    here = {catalog.topics[j]: float(catalog.coverage[row, j]) for j in np.flatnonzero(catalog.coverage[row])}
    same_title = not titled or item.title == catalog.title(row)
    same_attributes = _keys(item.attributes) == _keys(catalog.attributes.of_row(row))
    same_features = item.coverage == here and item.relevance == catalog.relevance[row].tolist()
    return same_title and same_features and same_attributes


def _keys(attributes: dict[str, Value]) -> dict[str, object]:
    return {name: key_of(value) for name, value in attributes.items()}


def synchronise(client: Client, catalog: Catalog, changes: Changes) -> None:
    """Make the changes: topics, then items that are put, then those that are removed. Doing it again does no harm."""
    if changes.topics:
        client.add_topics(changes.topics)
    order = client.catalog().topics
    put = [*changes.added, *changes.changed]
    if changes.recipe and not put:  # a recipe comes with items; one that is the same does
        put = list(catalog.ids[:1])
    for first in range(0, len(put), AT_ONCE):
        _put(client, _part(catalog, put[first : first + AT_ONCE], order))
    for first in range(0, len(changes.removed), AT_ONCE):
        client.put_items({"id": item, "delete": True} for item in changes.removed[first : first + AT_ONCE])


def _part(catalog: Catalog, ids: Sequence[Id], topics: Sequence[str]) -> Catalog:
    """Some items, with the topics of the service in their order; those that the file does not have are not covered."""
    rows = catalog.rows(ids)
    coverage = np.zeros((len(rows), len(topics)))
    for j, topic in enumerate(topics):
        if topic in catalog.topics:
            coverage[:, j] = catalog.coverage[rows, catalog.topics.index(topic)]
    return Catalog(
        coverage,
        catalog.relevance[rows],
        ids=ids,
        titles=None if catalog.titles is None else [catalog.titles[row] for row in rows],
        topics=topics,
        features=catalog.features,
        recipe=catalog.recipe,
        attributes=catalog.attributes.take(rows),
    )


def _put(client: Client, items: Catalog) -> None:
    with tempfile.TemporaryDirectory(prefix="rankfall-") as folder:
        path = Path(folder) / "items.parquet"
        items.write_parquet(path)
        client.put_catalog(path)
