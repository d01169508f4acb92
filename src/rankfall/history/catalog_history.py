"""The items of a catalog as they come, change and go, one change after the other."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog, Id
from rankfall.service.items import applied, unpacked
from rankfall.stores import Entry


@dataclass(frozen=True)
class Kept:
    """One item without its id."""

    title: str | None
    coverage: FloatArray
    relevance: FloatArray


class Shelf:
    """Items in the order of their rows. A change costs what it touches, however many items there are.

    >>> shelf = Shelf(("drama",))
    >>> shelf.put("a", Kept(None, np.array([0.5]), np.array([1.0])))
    >>> shelf.catalog()
    Catalog(1 items, 1 topics, 1 features)
    """

    def __init__(self, topics: tuple[str, ...] = ()) -> None:
        self.topics = topics
        self.items: dict[Id, Kept] = {}

    def put(self, item: Id, kept: Kept) -> None:
        """A new item after the others; a known one in its place."""
        self.items[item] = kept

    def take(self, item: Id) -> None:
        """Take an item away."""
        del self.items[item]

    def apply(self, entry: Entry) -> tuple[list[Id], list[Id]]:
        """Change the catalog as an entry of the journal says; the ids that went, and those put after that."""
        change = json.loads(entry.body)
        if "patch" in change:
            there = change["id"] in self.items
            return [], self._put_all(applied(self.catalog([change["id"]]), entry.body, None)) if there else []
        gone: list[Id] = []
        put: list[Id] = []
        if change.get("replace"):
            gone = list(self.items)
            self.items.clear()
        known = set(self.items)
        if entry.blob is not None:
            items = unpacked(entry.blob)
            self.topics = items.topics
            put = self._put_all(items)
        deleted = [item for item in change.get("delete", ()) if item in self.items]
        for item in deleted:
            self.take(item)
        return gone + [item for item in deleted if item in known], [item for item in put if item in self.items]

    def _put_all(self, items: Catalog) -> list[Id]:
        for row, item in enumerate(items.ids):
            title = None if items.titles is None else items.titles[row]
            self.put(item, Kept(title, items.coverage[row], items.relevance[row]))
        return list(items.ids)

    def catalog(self, ids: list[Id] | None = None) -> Catalog:
        """The items as a catalog: all, or these."""
        wanted = list(self.items) if ids is None else ids
        kept = [self.items[item] for item in wanted]
        titles = [one.title for one in kept if one.title is not None]
        return Catalog(
            np.array([one.coverage for one in kept]).reshape(len(kept), -1),
            np.array([one.relevance for one in kept]).reshape(len(kept), -1),
            ids=wanted,
            titles=titles if kept and len(titles) == len(kept) else None,
            topics=self.topics,
        )
