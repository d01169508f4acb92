"""The catalog as the journal has it: how it is stored, and how it changes from entry to entry."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfall.array_container import pack, unpack
from rankfall.arrays import FloatArray
from rankfall.attributes import Attributes, Value, attributes_of_rows, checked_attributes
from rankfall.catalog import Catalog, check_fits
from rankfall.errors import CatalogError
from rankfall.item_names import Id
from rankfall.journal.entries import CatalogChanged, ItemPatched
from rankfall.recipe import Recipe


def encode_catalog(catalog: Catalog) -> bytes:
    """A catalog as bytes: in entries of the journal and in checkpoints alike."""
    header: dict[str, Any] = {
        "ids": catalog.ids,
        "titles": catalog.titles,
        "topics": catalog.topics,
        "features": catalog.features,
        "recipe": None if catalog.recipe is None else catalog.recipe.encode().decode(),
        "lineage": catalog.lineage,
    }
    arrays: dict[str, NDArray[Any]] = {"coverage": catalog.coverage, "relevance": catalog.relevance}
    if len(catalog.attributes):
        header["attributes"], arrays["attributes"] = catalog.attributes.stored()
    return pack(header, arrays)


def decode_catalog(data: bytes) -> Catalog:
    """The catalog in these bytes."""
    header, arrays = unpack(data)
    recipe = header.get("recipe")  # catalogs of earlier versions have no recipe, names of features or attributes
    levels = header.get("attributes")
    return Catalog(
        arrays["coverage"],
        arrays["relevance"],
        ids=header["ids"],
        titles=header["titles"],
        topics=header["topics"],
        features=header.get("features"),
        recipe=None if recipe is None else Recipe.decode(recipe),
        attributes=None if levels is None else Attributes.restored(levels, arrays["attributes"]),
        _lineage=header["lineage"],
    )


class CatalogItem(NamedTuple):
    """One item without its id."""

    title: str | None
    coverage: FloatArray
    relevance: FloatArray
    attributes: Mapping[str, Value] = MappingProxyType({})


def item_in(catalog: Catalog, row: int) -> CatalogItem:
    """The item in a row of a catalog."""
    title = None if catalog.titles is None else catalog.titles[row]
    return CatalogItem(title, catalog.coverage[row], catalog.relevance[row], catalog.attributes.of_row(row))


class Difference(NamedTuple):
    """What a change did: the ids that went, and those put after that, in order."""

    gone: list[Id]
    put: list[Id]


@dataclass
class _Changes:
    """What happened to the items of a catalog since it was laid out.

    ``gone`` are ids that left it. ``put`` has the items that came or changed: one that the catalog has, and that is not
    gone, keeps its row; the others come after its rows, in order.
    """

    put: dict[Id, CatalogItem] = field(default_factory=dict)
    gone: set[Id] = field(default_factory=set)


class CatalogShape(NamedTuple):
    """What items must be like to take their place in a catalog; ``whole_ids`` is None while there is no item."""

    topics: tuple[str, ...]
    features: tuple[str, ...]
    titled: bool
    whole_ids: bool | None
    recipe: Recipe | None = None


def shape_of(catalog: Catalog) -> CatalogShape:
    """What items must be like to take their place in this catalog."""
    whole = isinstance(catalog.ids[0], int) if catalog.ids else None
    return CatalogShape(catalog.topics, catalog.features, catalog.titles is not None, whole, catalog.recipe)


class CatalogState:
    """The catalog up to an entry of the journal. Used by the service, by exports and by replays.

    A change costs what it changes, however many items there are, and so does looking at one item. :meth:`current` lays
    the items out as a :class:`~rankfall.catalog.Catalog`, once for all the changes since the last time. One thread may
    apply changes while others ask. Items that come with a recipe of features bring it to the catalog.

    >>> state = CatalogState(Catalog(relevance=[[1.0], [2.0]], ids=["a", "b"]))
    >>> state.apply(CatalogChanged(patch=ItemPatched("b", relevance=(3.0,)), delete=("a",)), version=7)
    Difference(gone=['a'], put=['b'])
    >>> state.current().relevance.tolist(), state.version
    ([[3.0]], 7)
    """

    def __init__(
        self, catalog: Catalog | None = None, version: int = 0, growth: Iterable[tuple[int, int]] | None = None
    ) -> None:
        self._lock = threading.RLock()  # held for moments only
        self._laying_out = threading.Lock()
        self._catalog = catalog
        self._changes = _Changes()
        self._size = 0 if catalog is None else len(catalog)
        self.version = version
        beginning = [] if catalog is None else [(0, catalog.n_topics)]
        self.growth: list[tuple[int, int]] = beginning if growth is None else list(growth)
        """Versions from which on there were so many topics, in order."""
        self.last = Difference([], [])
        """What the last change did."""

    def __len__(self) -> int:
        return self._size

    def __contains__(self, item: Id) -> bool:
        with self._lock:
            return item in self._changes.put or self._has_row(item)

    def _has_row(self, item: Id) -> bool:
        """Whether the catalog that was laid out last has the item, and it has not left since."""
        return self._catalog is not None and item in self._catalog and item not in self._changes.gone

    @property
    def there(self) -> bool:
        """Whether there is a catalog yet."""
        return self._catalog is not None

    @property
    def shape(self) -> CatalogShape:
        """What items must be like. Fixed by the first items, but for topics that are added later."""
        return shape_of(self._there())

    def _there(self) -> Catalog:
        if self._catalog is None:
            raise CatalogError("there is no catalog yet")
        return self._catalog

    def topics_at(self, version: int) -> int:
        """How many topics there were at a version: the first so many of those there are now.

        >>> state = CatalogState(Catalog([[0.5]], topics=["war"]), version=3)
        >>> state.apply(CatalogChanged(topics=("art", "war")), version=7)
        Difference(gone=[], put=[])
        >>> state.topics_at(6), state.topics_at(7), state.shape.topics
        (1, 2, ('war', 'art'))
        """
        counts = [count for since, count in self.growth if since <= version]
        return counts[-1] if counts else self.growth[0][1]

    def current(self) -> Catalog:
        """All items as they are now, laid out."""
        return self.current_version()[0]

    def current_version(self) -> tuple[Catalog, int]:
        """All items as they are now, laid out, and the version of the catalog this is."""
        with self._laying_out:  # for one at a time; whoever changes the catalog meanwhile does not wait
            with self._lock:
                before, version = self._there(), self.version
                changes = _Changes(dict(self._changes.put), set(self._changes.gone))
            if not changes.put and not changes.gone:
                return before, version
            catalog = _laid_out(before, changes)
            with self._lock:
                if self.version == version:
                    self._catalog, self._changes = catalog, _Changes()
            return catalog, version

    def laying_out(self) -> Callable[[], Catalog]:
        """What lays out all items as they are now, whatever is changed before it is called; in any thread."""
        with self._lock:
            before, changes = self._there(), _Changes(dict(self._changes.put), set(self._changes.gone))
        return lambda: _laid_out(before, changes)

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that items have, sorted."""
        with self._lock:
            known = set(self._there().attributes)
            for put in self._changes.put.values():
                known.update(put.attributes)
            return sorted(known)

    def item(self, item: Id) -> CatalogItem:
        """One item as it is now."""
        with self._lock:
            changed = self._changes.put.get(item)
            if changed is not None:
                return changed
            catalog, row = self._catalog, None
            if catalog is not None and self._has_row(item):
                row = catalog.row(item)
            if catalog is None or row is None:
                raise CatalogError(f"no item with id {item!r} in this catalog of {len(self)} items")
            return item_in(catalog, row)

    def apply(self, change: CatalogChanged, version: int) -> Difference:
        """Change the catalog as an entry says. Never fails on what was accepted, however entries are interleaved."""
        items = None if change.items is None else decode_catalog(change.items)
        with self._lock:
            self.last = self._applied(change, items)
            self.version = version
            topics = self._there().n_topics
            if not self.growth or self.growth[-1][1] != topics:
                self.growth.append((version, topics))
            return self.last

    def _applied(self, change: CatalogChanged, items: Catalog | None) -> Difference:
        if self._catalog is None or change.replace:
            gone = self._ids()
            if items is None:
                raise CatalogError("the first entry on the catalog has no items")
            self._catalog, self._changes, self._size = items, _Changes(), len(items)
            return Difference(gone, list(items.ids))
        self._grow([topic for topic in dict.fromkeys(change.topics) if topic not in self.shape.topics])
        known = {item for item in change.delete if item in self}
        put = []
        if change.patch is not None and change.patch.id in self:
            self._put(change.patch.id, self._patched(change.patch))
            put.append(change.patch.id)
        if items is not None:
            put += self._put_all(items)
        deleted = [item for item in dict.fromkeys(change.delete) if item in self]
        if len(deleted) == self._size:
            deleted = []  # the last item always stays
        for item in deleted:
            self._take(item)
        return Difference([item for item in deleted if item in known], [item for item in put if item in self])

    def _grow(self, topics: list[str]) -> None:
        """Have further topics, which no item covers."""
        if topics:
            self._catalog = self._there().with_topics(topics)
            nothing = np.zeros(len(topics))
            for item, put in self._changes.put.items():
                self._changes.put[item] = put._replace(coverage=np.concatenate([put.coverage, nothing]))

    def _ids(self) -> list[Id]:
        """All ids, in the order of rows."""
        rows = () if self._catalog is None else self._catalog.ids
        stay = [item for item in rows if item not in self._changes.gone]
        return stay + [item for item in self._changes.put if not self._has_row(item)]

    def _put_all(self, items: Catalog) -> list[Id]:
        topics = self.shape.topics
        before = {count for _, count in self.growth}
        if items.n_topics in before and items.topics == topics[: items.n_topics]:  # written before others came
            items = items.with_topics(topics[items.n_topics :])
        check_fits(items, topics, self.shape.features)
        if items.recipe is not None and items.recipe != self.shape.recipe:
            self._catalog = self._there().with_recipe(items.recipe)
        for row, item in enumerate(items.ids):
            self._put(item, item_in(items, row))
        return list(items.ids)

    def _put(self, item: Id, put: CatalogItem) -> None:
        self._size += item not in self
        self._changes.put[item] = put

    def _take(self, item: Id) -> None:
        self._size -= 1
        self._changes.put.pop(item, None)
        if self._has_row(item):
            self._changes.gone.add(item)

    def _patched(self, patch: ItemPatched) -> CatalogItem:
        old = self.item(patch.id)
        if patch.relevance is not None and len(patch.relevance) != len(old.relevance):
            raise CatalogError(
                f"item {patch.id!r} is patched with {len(patch.relevance)} relevance features; "
                f"{len(old.relevance)} are expected"
            )
        coverage = old.coverage.copy()
        for topic, weight in (patch.coverage or {}).items():
            coverage[self.shape.topics.index(topic)] = weight
        return CatalogItem(
            old.title if patch.title is None or old.title is None else patch.title,
            coverage,
            old.relevance if patch.relevance is None else np.array(patch.relevance, dtype=float),
            checked_attributes({**old.attributes, **(patch.attributes or {})}),
        )


def _laid_out(catalog: Catalog, changes: _Changes) -> Catalog:
    """The catalog with the changes made."""
    if changes.gone:
        catalog = catalog.withdraw(changes.gone)
    known = [item for item in changes.put if item in catalog]
    if known:
        catalog = catalog.replace(_catalog_of(known, changes.put, catalog))
    fresh = [item for item in changes.put if item not in catalog]
    return catalog.add(_catalog_of(fresh, changes.put, catalog)) if fresh else catalog


def _catalog_of(ids: list[Id], items: dict[Id, CatalogItem], like: Catalog) -> Catalog:
    """Items as a catalog that fits another one."""
    return Catalog(
        np.array([items[item].coverage for item in ids]).reshape(len(ids), like.n_topics),
        np.array([items[item].relevance for item in ids]).reshape(len(ids), like.n_features),
        ids=ids,
        titles=None if like.titles is None else [items[item].title or "" for item in ids],
        topics=like.topics,
        features=like.features,
        attributes=attributes_of_rows([items[item].attributes for item in ids]),
    )
