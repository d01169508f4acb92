"""The items that can be shown: what topics they cover, how relevant they are, and who they are."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import FloatArray, IntArray, finite, frozen
from rankfall.attribute_columns import MIXED, column_values, read_columns, written_columns
from rankfall.attributes import Attributes
from rankfall.errors import CatalogError, FileError
from rankfall.files import reading_parquet, replacing
from rankfall.frames import Frame, html_table
from rankfall.item_names import RELEVANCE, Id, feature_columns, ids_of, names_of, numbered, unique_names
from rankfall.recipe import Recipe
from rankfall.topic_cells import TOPIC_WEIGHT, coverage_of, weight_of

if TYPE_CHECKING:
    import polars as pl

_COVERAGE = "coverage:"
FEATURES = "rankfall.features"
"""Metadata by which a Parquet file with columns of features says their names, as JSON."""
_LINEAGE, _RECIPE = "rankfall.lineage", "rankfall.recipe"


class Catalog:
    """Items with topic coverage ``x``, relevance features ``z``, ids, titles and topic names.

    A catalog never changes; :meth:`add`, :meth:`replace` and :meth:`withdraw` give a new one. Row numbers
    belong to one catalog; ids keep their meaning from one to the next.

    Parameters
    ----------
    coverage : array (items, topics), values in [0, 1]
        Probability that the item covers the topic, the paper's ``x``. None for no topics.
    relevance : array (items, features)
        The paper's ``z``. None for no features. With neither, ``ids`` say which items there are, for policies that
        learn item by item.
    ids : whole numbers or strings, one kind, unique; 0, 1, 2, ... when not given.
    titles : one string for each item, optional.
    topics : one unique name for each column of ``coverage``; "topic 0", "topic 1", ... when not given.
    features : one unique name for each column of ``relevance``; "feature 0", "feature 1", ... when not given.
    recipe : how columns of a table became the features, if it is known; see :mod:`rankfall.recipe`.
    attributes : what else is known of the items, by name: for each a value that is text, a number, true or false, or
        None. No policy learns from them; rules of lists look at them (docs/rules.md).

    >>> catalog = Catalog(coverage=[[0.9, 0.0], [0.8, 0.1]], relevance=[[1.0], [0.5]], ids=["a", "b"])
    >>> catalog
    Catalog(2 items, 2 topics, 1 features)
    >>> catalog.withdraw(["a"]).ids
    ('b',)
    """

    def __init__(
        self,
        coverage: ArrayLike | None = None,
        relevance: ArrayLike | None = None,
        *,
        ids: Iterable[Id] | None = None,
        titles: Iterable[str] | None = None,
        topics: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
        recipe: Recipe | None = None,
        attributes: Mapping[str, Iterable[Any]] | None = None,
        _lineage: str | None = None,
    ) -> None:
        if coverage is None and relevance is None and ids is None:
            raise CatalogError("a catalog needs coverage, relevance or ids; got none of them")
        x = None if coverage is None else finite("coverage", coverage, 2, CatalogError)
        z = None if relevance is None else finite("relevance", relevance, 2, CatalogError)
        if ids is not None:
            if isinstance(ids, str) or not isinstance(ids, Iterable):
                raise CatalogError(f"ids must be a sequence of whole numbers or strings, got {ids!r}")
            ids = tuple(ids)
        n_items = len(x if x is not None else z if z is not None else ids)  # type: ignore[arg-type]
        self.coverage: FloatArray = frozen(np.empty((n_items, 0))) if x is None else x
        self.relevance: FloatArray = frozen(np.empty((n_items, 0))) if z is None else z
        if len(self.coverage) != len(self.relevance):
            raise CatalogError(
                f"coverage has {len(self.coverage)} rows and relevance {len(self.relevance)}; "
                "both need one row for each item"
            )
        outside = (self.coverage < 0) | (self.coverage > 1)
        if outside.any():
            row, column = (int(i) for i in np.argwhere(outside)[0])
            raise CatalogError(
                f"coverage is {self.coverage[row, column]} at row {row}, topic {column}; "
                "it is a probability and must lie in [0, 1]"
            )
        self.ids: tuple[Id, ...] = ids_of(range(n_items) if ids is None else ids, n_items)
        self.titles: tuple[str, ...] | None = None if titles is None else names_of("titles", titles, n_items)
        self.topics: tuple[str, ...] = unique_names("topics", topics, numbered("topic", self.n_topics))
        if features is None and recipe is not None:
            features = recipe.features
        self.features: tuple[str, ...] = unique_names("features", features, numbered("feature", self.n_features))
        if recipe is not None and recipe.features != self.features:
            raise CatalogError(f"the recipe gives features {list(recipe.features)}, not {list(self.features)}")
        self.recipe: Recipe | None = recipe
        self.attributes: Attributes = (
            attributes if isinstance(attributes, Attributes) else Attributes.of(attributes, n_items)
        )
        self._lineage: str | None = _lineage

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, item: object) -> bool:
        return _known(item, self._row_of)

    def __repr__(self) -> str:
        return f"Catalog({len(self)} items, {self.n_topics} topics, {self.n_features} features)"

    def _repr_html_(self) -> str:
        """The first items, for notebooks."""
        first = [self._described(row) for row in range(min(5, len(self)))]
        return html_table(repr(self), ("id", "title", "topics"), first)

    def _described(self, row: int) -> tuple[Id, str, str]:
        covered = [(name, x) for name, x in zip(self.topics, self.coverage[row].tolist(), strict=True) if x]
        title = "" if self.titles is None else self.titles[row]
        return self.ids[row], title, ", ".join(f"{name} {x:.2g}" for name, x in covered)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalog):
            return NotImplemented
        return (
            self.ids == other.ids
            and self.titles == other.titles
            and self.topics == other.topics
            and self.features == other.features
            and self.recipe == other.recipe
            and np.array_equal(self.coverage, other.coverage)
            and np.array_equal(self.relevance, other.relevance)
            and self.attributes == other.attributes
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_topics(self) -> int:
        """Columns of ``coverage``, the paper's d."""
        return int(self.coverage.shape[1])

    @property
    def n_features(self) -> int:
        """Columns of ``relevance``, the paper's m."""
        return int(self.relevance.shape[1])

    @cached_property
    def lineage(self) -> str:
        """A fingerprint of the first catalog of this line, kept by add, replace and withdraw.

        Feedback is accepted for a ranking made from any catalog of the same line, however old.
        """
        if self._lineage is not None:
            return self._lineage
        digest = hashlib.blake2b(digest_size=12)
        digest.update(repr((self.coverage.shape, self.relevance.shape, self.ids, self.topics)).encode())
        digest.update(self.coverage.data)
        digest.update(self.relevance.data)
        return digest.hexdigest()

    def title(self, row: int) -> str:
        """What to call the item in this row: its title, or else its id."""
        return str(self.ids[row]) if self.titles is None else self.titles[row]

    def title_of(self, item: Id) -> str:
        """What to call the item with this id, also if it is not here any more."""
        row = self.row(item)
        return str(item) if row is None else self.title(row)

    def label(self, row: int) -> str:
        """What to call the item where names must differ: its title, with its id where others have the same."""
        title = self.title(row)
        return f"{title} ({self.ids[row]})" if title in self._repeated else title

    @cached_property
    def _repeated(self) -> frozenset[str]:
        return frozenset(title for title, count in Counter(self.titles or ()).items() if count > 1)

    @cached_property
    def _row_of(self) -> dict[Id, int]:
        return {item: row for row, item in enumerate(self.ids)}

    @property
    def row_of(self) -> Mapping[Id, int]:
        """Row by id."""
        return self._row_of

    def row(self, item: Id) -> int | None:
        """Row number of one id, or None."""
        return self._row_of.get(item)

    def rows(self, ids: Iterable[Id]) -> IntArray:
        """Row numbers of these ids, in their order.

        >>> Catalog(relevance=[[1.0], [2.0]], ids=["a", "b"]).rows(["b", "c"])
        Traceback (most recent call last):
        rankfall.errors.CatalogError: no item with id 'c' in this catalog of 2 items
        """
        wanted = list(ids)
        try:
            return np.array([self._row_of[item] for item in wanted], dtype=np.int64)
        except (KeyError, TypeError):
            missing = next(item for item in wanted if not _known(item, self._row_of))
            raise CatalogError(f"no item with id {missing!r} in this catalog of {len(self)} items") from None

    def add(self, items: Catalog) -> Catalog:
        """A catalog with these items after the present ones; their ids must be new."""
        self._check_fits(items)
        known = [item for item in items.ids if item in self._row_of]
        if known:
            raise CatalogError(f"id {known[0]!r} is in the catalog already; use replace to change an item")
        if self.ids and items.ids and type(self.ids[0]) is not type(items.ids[0]):
            raise CatalogError("ids must be all whole numbers or all strings, got both")
        catalog = self._like(
            np.concatenate([self.coverage, items.coverage]),
            np.concatenate([self.relevance, items.relevance]),
            self.ids + items.ids,
            None if self.titles is None else self.titles + (items.titles or ()),
            self.attributes.with_values(
                np.arange(len(self), len(self) + len(items)), items.attributes, len(self) + len(items)
            ),
        )
        catalog._row_of = self._row_of | {item: row for row, item in enumerate(items.ids, len(self))}
        return catalog

    def replace(self, items: Catalog) -> Catalog:
        """A catalog in which these items take the rows of the ones with the same ids."""
        self._check_fits(items)
        rows = self.rows(items.ids)
        coverage, relevance = self.coverage.copy(), self.relevance.copy()
        coverage[rows], relevance[rows] = items.coverage, items.relevance
        titles = None
        if self.titles is not None and items.titles is not None:
            renamed = list(self.titles)
            for row, title in zip(rows, items.titles, strict=True):
                renamed[row] = title
            titles = tuple(renamed)
        attributes = self.attributes.with_values(rows, items.attributes, len(self))
        catalog = self._like(coverage, relevance, self.ids, titles, attributes)
        catalog._row_of = self._row_of
        return catalog

    def withdraw(self, ids: Iterable[Id]) -> Catalog:
        """A catalog without these items; the others keep their order."""
        keep = np.ones(len(self), dtype=bool)
        keep[self.rows(ids)] = False
        left, stays = np.flatnonzero(keep), keep.tolist()
        titles = None if self.titles is None else tuple(compress(self.titles, stays))
        ids = tuple(compress(self.ids, stays))
        coverage, relevance = self.coverage.take(left, axis=0), self.relevance.take(left, axis=0)
        return self._like(coverage, relevance, ids, titles, self.attributes.take(left))

    def with_topics(self, names: Iterable[str]) -> Catalog:
        """The same items with further topics, which none of them covers.

        >>> Catalog([[0.5]], topics=["war"]).with_topics(["art"]).coverage.tolist()
        [[0.5, 0.0]]
        """
        added = tuple(names)
        topics = unique_names("topics", (*self.topics, *added), numbered("topic", self.n_topics + len(added)))
        coverage = np.hstack([self.coverage, np.zeros((len(self), len(added)))])
        catalog = self._like(coverage, self.relevance, self.ids, self.titles, self.attributes)
        catalog.topics = topics
        if "_row_of" in self.__dict__:
            catalog._row_of = self._row_of
        return catalog

    def with_recipe(self, recipe: Recipe) -> Catalog:
        """The same items with another recipe, by which later ones become features; names of features are its names."""
        if len(recipe.features) != self.n_features:
            raise CatalogError(f"a recipe of {len(recipe.features)} features for a catalog of {self.n_features}")
        catalog = self._like(self.coverage, self.relevance, self.ids, self.titles, self.attributes)
        catalog.features, catalog.recipe = recipe.features, recipe
        if "_row_of" in self.__dict__:
            catalog._row_of = self._row_of
        return catalog

    def with_attributes(self, attributes: Mapping[str, Iterable[Any]]) -> Catalog:
        """The same items with other attributes.

        >>> Catalog(ids=["a", "b"]).with_attributes({"brand": ["Lego", None]}).attributes["brand"]
        ('Lego', None)
        """
        made = Attributes.of(attributes, len(self))
        catalog = self._like(self.coverage, self.relevance, self.ids, self.titles, made)
        if "_row_of" in self.__dict__:
            catalog._row_of = self._row_of
        return catalog

    def _like(
        self,
        coverage: FloatArray,
        relevance: FloatArray,
        ids: tuple[Id, ...],
        titles: tuple[str, ...] | None,
        attributes: Attributes,
    ) -> Catalog:
        """A catalog of the same line, from parts of catalogs, which were checked when those were made."""
        catalog = object.__new__(Catalog)
        catalog.coverage, catalog.relevance = frozen(coverage), frozen(relevance)
        catalog.ids, catalog.titles, catalog.topics = ids, titles, self.topics
        catalog.features, catalog.recipe, catalog.attributes = self.features, self.recipe, attributes
        catalog._lineage = self.lineage
        return catalog

    def _check_fits(self, items: Catalog) -> None:
        check_fits(items, self.topics, self.features)
        if (items.titles is None) != (self.titles is None):
            which, other = ("items", "catalog") if self.titles is None else ("catalog", "items")
            raise CatalogError(f"the {which} have titles and the {other} do not; give titles to both or neither")

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        id: str = "id",  # noqa: A002 - the name of the column is what a caller thinks of
        title: str | None = None,
        topics: str | None = None,
        features: Sequence[str] = (),
        topic_names: Sequence[str] | None = None,
        topic_weight: float = TOPIC_WEIGHT,
        attributes: Sequence[str] = (),
    ) -> Catalog:
        """A catalog from a polars or pandas frame, its numbers as they are.

        :func:`rankfall.build_catalog` also scales them, and takes categories, embeddings and a click log.

        Parameters
        ----------
        id, title : names of columns.
        topics : name of one column that holds, for each item, topic names (a list, or a string with ``|``
            between names), or weights by name (a dict or struct), or as many weights as ``topic_names``.
        features : names of the numeric columns that become relevance features. Without topics and features only
            policies that learn item by item can rank the catalog.
        topic_names : the topics, in the order wanted; by default those that occur, sorted.
        topic_weight : coverage of a topic that is merely named. At 1 a second item of the same topic
            gains nothing; lower values let a list come back to a topic. docs/catalogs.md has measurements.
        attributes : names of the columns that become attributes: text, numbers, true and false, dates and moments.

        >>> import polars as pl
        >>> frame = pl.DataFrame({"id": [7, 9], "genres": ["Drama|War", "Drama"], "score": [0.1, 0.4]})
        >>> catalog = Catalog.from_frame(frame, topics="genres", features=["score"])
        >>> catalog.topics, catalog.coverage.tolist()
        (('Drama', 'War'), [[0.5, 0.5], [0.5, 0.0]])
        """
        columns = list(frame.columns)
        for name in (id, title, topics, *features, *attributes):
            if name is not None and name not in columns:
                raise CatalogError(f"the frame has no column {name!r}; it has {columns}")
        ids = frame[id].to_list()
        coverage, names = None, None
        if topics is not None:
            coverage, names = coverage_of(frame[topics].to_list(), topic_names, topic_weight)
        relevance = None
        if features:
            block = [frame[name].to_list() for name in features]
            for name, values in zip(features, block, strict=True):
                if any(value is None for value in values):
                    raise CatalogError(f"feature column {name!r} has missing values; fill or drop them first")
            relevance = np.array([[weight_of(v, f) for v in values] for f, values in zip(features, block, strict=True)])
            relevance = relevance.reshape(len(features), len(ids)).T
        titles = None if title is None else ["" if t is None else str(t) for t in frame[title].to_list()]
        known = {name: column_values(frame[name].to_list()) for name in attributes}
        return cls(
            coverage, relevance, ids=ids, titles=titles, topics=names, features=features or None, attributes=known
        )

    def to_frame(self) -> pl.DataFrame:
        """A polars frame: ``id``, ``title`` if there are any, one column a topic, one a feature, one an attribute."""
        import polars as pl

        columns: dict[str, Any] = {"id": pl.Series(list(self.ids), dtype=_id_type(self.ids))}
        if self.titles is not None:
            columns["title"] = pl.Series(list(self.titles), dtype=pl.String)
        columns |= {f"{_COVERAGE}{name}": self.coverage[:, j] for j, name in enumerate(self.topics)}
        columns |= {name: self.relevance[:, j] for j, name in enumerate(feature_columns(self.features))}
        return pl.DataFrame(columns | written_columns(self.attributes).columns)

    def write_parquet(self, path: str | Path) -> None:
        """Write everything to one Parquet file, which :meth:`read_parquet` gives back exactly."""
        with replacing(path) as temporary:
            known = {_LINEAGE: self.lineage, FEATURES: json.dumps(self.features)}
            if self.recipe is not None:
                known[_RECIPE] = self.recipe.encode().decode()
            if mixed := written_columns(self.attributes).mixed:
                known[MIXED] = json.dumps(mixed)
            self.to_frame().write_parquet(temporary, metadata=known)

    @classmethod
    def read_parquet(cls, path: str | Path) -> Catalog:
        """The catalog in a file of :meth:`write_parquet`."""
        import polars as pl

        with reading_parquet(path):
            frame = pl.read_parquet(path)
            known = pl.read_parquet_metadata(path)
        topics = [name for name in frame.columns if name.startswith(_COVERAGE)]
        features = [name for name in frame.columns if name.startswith(RELEVANCE)]
        if "id" not in frame.columns or not (topics or features or _LINEAGE in known):
            raise FileError(
                f"{path} has columns {frame.columns}, which Catalog.write_parquet did not write; "
                "read it with polars and use Catalog.from_frame"
            )
        return cls(
            frame.select(topics).to_numpy() if topics else None,
            frame.select(features).to_numpy() if features else None,
            ids=frame["id"].to_list(),
            titles=frame["title"].to_list() if "title" in frame.columns else None,
            topics=[name.removeprefix(_COVERAGE) for name in topics],
            features=json.loads(known[FEATURES]) if FEATURES in known else None,
            recipe=Recipe.decode(known[_RECIPE]) if _RECIPE in known else None,
            attributes=read_columns(frame, json.loads(known.get(MIXED, "[]"))),
            _lineage=known.get(_LINEAGE),
        )


def check_fits(items: Catalog, topics: tuple[str, ...], features: tuple[str, ...]) -> None:
    """Raise if items have other topics or features than the catalog they are for.

    Where one of them has no names for its features, their number counts.
    """
    unnamed = numbered("feature", len(features))
    alike = items.features == features or (
        items.n_features == len(features) and (features == unnamed or items.features == unnamed)
    )
    if items.topics != topics or not alike:
        raise CatalogError(
            f"items with topics {list(items.topics)} and {_told(items.features)} do not fit a catalog "
            f"with topics {list(topics)} and {_told(features)}"
        )


def _told(features: tuple[str, ...]) -> str:
    unnamed = numbered("feature", len(features))
    return f"{len(features)} features" if features == unnamed else f"features {list(features)}"


def _known(item: Any, row_of: dict[Id, int]) -> bool:
    try:
        return item in row_of
    except TypeError:
        return False


def _id_type(ids: tuple[Id, ...]) -> Any:
    import polars as pl

    return pl.String if ids and isinstance(ids[0], str) else pl.Int64
