"""A catalog from a table of items and, if there is one, a click log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, number, whole
from rankfall.catalog import Catalog
from rankfall.click_logs.streaming import ROWS, shown_in_parts
from rankfall.click_logs.tables import Table, table_of
from rankfall.data.catalogs.attributes import attributes_of, told
from rankfall.data.catalogs.columns import Finding, check_kind, look_at
from rankfall.data.catalogs.coverage import Audience, coverage_from_clicks
from rankfall.data.catalogs.factors import learned_factors
from rankfall.data.catalogs.interactions import Interactions, interactions
from rankfall.data.catalogs.items_table import ItemsTable, read_items
from rankfall.errors import CatalogError, ProblemError
from rankfall.recipe import Constant, Factors, Recipe
from rankfall.topic_cells import TOPIC_WEIGHT


@dataclass(frozen=True, eq=False)
class Built:
    """A catalog, and how it came about.

    Attributes
    ----------
    catalog : it has its recipe.
    columns : what became of each column of the table, dropped ones too.
    log : what the click log says; None without one.
    factors : what became of the factors, in words; empty without a log.
    coverage : where coverage comes from, in words.
    """

    catalog: Catalog
    columns: tuple[Finding, ...]
    log: Interactions | None
    factors: str
    coverage: str

    def describe(self) -> str:
        """What was done, in lines."""
        catalog, log = self.catalog, self.log
        lines = [f"{len(catalog):,} items, {catalog.n_topics} topics, {catalog.n_features} features"]
        if log is not None:
            lines.append(
                f"log        {log.rows:,} rows, {log.people:,} people, {log.clicked.nnz:,} pairs of a person and an "
                f"item they clicked; {int((log.shown == 0).sum()):,} items never shown"
                + (f"; {log.unknown:,} rows show items that are not in the table" if log.unknown else "")
            )
        lines.append(f"coverage   {self.coverage}")
        width = max([len(each.column) for each in self.columns] + [len("factors")])
        lines += [f"feature    {each.column:{width}}  {each.note}" for each in self.columns if each.rule is not None]
        lines += [f"feature    {'factors':{width}}  {self.factors}"] if self.factors else []
        lines += [f"attribute  {line}" for line in told(catalog.attributes)]
        lines += [f"dropped    {each.column:{width}}  {each.note}" for each in self.columns if each.rule is None]
        return "\n".join(lines)


def build_catalog(
    items: str | Path | pl.DataFrame,
    *,
    log: str | Path | pl.DataFrame | None = None,
    id: str = "id",  # noqa: A002 - the name of the column is what a caller thinks of
    title: str | None = None,
    topics: str | None = None,
    features: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    rank: int = 10,
    topic_weight: float = TOPIC_WEIGHT,
    smoothing: float | None = None,
    audience: Audience = "shown",
    log_columns: Mapping[str, str] | None = None,
    log_model: str | None = None,
    log_rows: int = ROWS,
    attributes: Sequence[str] = (),
) -> Built:
    """Build a catalog from a table of items and, if there is one, a click log.

    Every column of the table counts the same, and the features of an item have a length of about 1, as those of the
    paper have. The catalog keeps how its columns were scaled (``catalog.recipe``), so that a service can take later
    items in the units of the table.

    Parameters
    ----------
    items : a CSV, TSV or Parquet file, or a polars frame, with a row for each item.
    log : a click log, as for :func:`rankfall.read_click_log`; only who, item and click are used, in parts, so that it
        may be larger than memory.
    id, title, topics : columns of the table. Without a title, the column ``title`` is used if there is one, and
        without topics the column ``topics``. Topics are names with ``|`` between them, lists of names, or weights by
        name, which are kept as they are.
    features : the columns that become features, with a constant; by default all others. See
        :mod:`rankfall.data.catalogs.columns`.
    kinds : what to take columns for: ``{"price": "log", "year": "category"}``; one of number (no logarithm), log,
        category, embedding, drop.
    rank : factors from the log; 0 for none.
    topic_weight : how well an item covers a topic that it names, without a log.
    smoothing, audience : see :func:`rankfall.data.catalogs.coverage.coverage_from_clicks`.
    log_columns, log_model : as ``columns`` and ``model`` of :func:`rankfall.read_click_log`.
    log_rows : rows of the log in memory at a time.
    attributes : columns that become attributes, which rules of lists look at (docs/rules.md). They become features only
        if ``features`` names them too.

    >>> table = pl.DataFrame({"id": ["a", "b", "c"], "topics": ["war|art", "art", "war"], "price": [10, 20, 30]})
    >>> catalog = build_catalog(table).catalog
    >>> catalog.features, catalog.coverage.tolist()
    (('constant', 'price'), [[0.5, 0.5], [0.5, 0.0], [0.0, 0.5]])
    """
    whole("rank", rank, ProblemError, low=0)
    if smoothing is not None:
        number("smoothing", smoothing, ProblemError, low=0.0)
    number("topic_weight", topic_weight, ProblemError, low=0.001, high=1.0)
    if audience not in ("shown", "everyone"):
        raise ProblemError(f"audience is {audience!r}; choose shown or everyone")
    table = table_of(items if isinstance(items, pl.DataFrame) else Path(items))
    given = read_items(table, id=id, title=title, topics=topics, topic_weight=topic_weight)
    known = attributes_of(table, given.others, attributes)
    if features is None:
        features = [name for name in given.others.columns if name not in attributes]
    findings = _findings(table, given, features, kinds or {})
    rules = tuple(each.rule for each in findings if each.rule is not None)
    own = Recipe((Constant(), *rules) if rules or (log is not None and rank) else ())
    values = own.own({each.column: each.cells for each in findings if each.rule is not None}, len(given.ids))
    seen = None
    if log is not None:
        parts = shown_in_parts(
            log, whole_ids=isinstance(given.ids[0], int), columns=log_columns, model=log_model, rows=log_rows
        )
        seen = interactions(parts, given.ids, given.membership)
        _check_known(seen, given)
    coverage, unseen, words = _coverage(given, seen, topic_weight, smoothing, audience)
    factors, rule, in_words = _factors(seen, values, given, rank)
    weight = 1.0 / np.sqrt(max(1, len(own.rules) + (rule is not None)))
    recipe = Recipe(own.rules, float(weight), dict(zip(given.topics, unseen.tolist(), strict=True)), rule)
    catalog = Catalog(
        coverage if given.topics else None,
        np.hstack([values, factors]) * weight if recipe.features else None,
        ids=given.ids,
        titles=given.titles,
        topics=given.topics,
        recipe=recipe,
        attributes=known,
    )
    return Built(catalog, tuple(findings), seen, in_words, words)


def _findings(table: Table, given: ItemsTable, features: Sequence[str], kinds: Mapping[str, str]) -> list[Finding]:
    """What became of each column that is not id, title or topics."""
    for name in (*features, *kinds):
        if name not in given.others.columns:
            raise CatalogError(
                f"{table.name} has no column {name!r} to make features of; it has {given.others.columns}"
            )
    asked = {name: check_kind(name, kind) for name, kind in kinds.items()}
    return [look_at(table, given.others[name], asked.get(name)) for name in dict.fromkeys([*features, *kinds])]


def _check_known(seen: Interactions, given: ItemsTable) -> None:
    if seen.unknown == seen.rows:
        raise CatalogError(
            f"none of the {seen.rows:,} rows of the click log shows an item of the table, whose ids are like "
            f"{given.ids[0]!r}"
        )


def _coverage(
    given: ItemsTable, seen: Interactions | None, typical: float, smoothing: float | None, audience: Audience
) -> tuple[FloatArray, FloatArray, str]:
    """Coverage, that of an item nobody has seen by topic, and words."""
    if not given.topics:
        return given.coverage, np.empty(0), "no topics: policies that diversify have nothing to go by"
    if not given.merely_named:
        count = np.maximum((given.coverage > 0).sum(axis=0), 1)
        return given.coverage, given.coverage.sum(axis=0) / count, "as the table has it"
    if seen is None:
        return given.coverage, np.full(len(given.topics), typical), f"{typical:g} for each topic an item names; no log"
    made = coverage_from_clicks(seen, given.membership, typical=typical, smoothing=smoothing, audience=audience)
    found = made.coverage[given.membership]
    middle = f"{found.min():.3f} to {found.max():.3f}, {np.median(found):.3f} in the middle"
    whose = "those who were shown the item and" if audience == "shown" else "those who"
    words = f"of {whose} clicked anything in the topic, the share who clicked it, {middle}"
    words += f" (smoothed by {made.smoothing:.0f} people)"
    return made.coverage, made.unseen, words


def _factors(
    seen: Interactions | None, values: FloatArray, given: ItemsTable, rank: int
) -> tuple[FloatArray, Factors | None, str]:
    """Factors of all items, how they are predicted, and words."""
    none = np.empty((len(values), 0))
    if seen is None or not rank:
        return none, None, ""
    clickers = seen.clickers
    possible = min(seen.clicked.shape[0], int((clickers > 0).sum()))
    if possible <= rank:
        return none, None, f"none: {rank} factors need more than {rank} people who clicked and items clicked"
    learned = learned_factors(seen.clicked, clickers, np.hstack([values, given.membership]), rank, given.topics)
    unseen = int((clickers == 0).sum())
    words = f"{rank} from who clicked what; other features explain {learned.explained:.0%} of them"
    words += f", and predict them for {unseen:,} items that nobody clicked" if unseen else ""
    return learned.values, learned.rule, words
