"""Fits of users who care about features, topics and diversity, by maximum likelihood with a ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, IntArray, number, whole
from rankfall.catalog import Catalog
from rankfall.click_logs import ClickLog
from rankfall.errors import ProblemError
from rankfall.users.fitting.click_logs import Clicks, read_log
from rankfall.users.fitting.fitted_hybrid import FittedHybrid, GroupBy, rows_in
from rankfall.users.fitting.hybrid_columns import WHOLE, AttractionKind, Columns, HybridModel
from rankfall.users.fitting.hybrid_likelihood import Problem, Weights

STRENGTHS = (100_000.0, 10_000.0, 1_000.0, 100.0, 10.0, 1.0)
"""Views that are tried for a ridge."""
FOLDS = 5
MOST_LISTS = 30_000
"""Lists that strengths are chosen by: they are counted in views, so that a part of a log tells what suits the whole."""
_ROUGHLY = 1e-6
"""Share of the likelihood that is left to gain when cross-validation and groups stop."""

ATTRACTIONS: tuple[AttractionKind, ...] = ("hybrid", "topics", "features", "constant")
MODELS: tuple[HybridModel, ...] = ("cascade", "examined_cascade", "position_based")


def fit_hybrid(
    clicks: Clicks,
    catalog: Catalog,
    *,
    model: HybridModel = "cascade",
    attraction: AttractionKind = "hybrid",
    by: GroupBy | None = None,
    ridge: float | None = None,
    shrinkage: float | None = None,
    seed: int = 0,
) -> FittedHybrid:
    """A user whose attraction is linear in features, and in the coverage that an item adds to those above it.

    Maximum likelihood of ``clip(omega . theta + z . beta + constant)``, held to 0 by a ridge. The constant is left out
    where a feature is constant already, and is not held. Lists with items that the catalog does not have are left out.

    Parameters
    ----------
    clicks : a click log, as :func:`rankfall.users.fitting.read_log` reads it: a path, a polars frame or a ClickLog.
    catalog : coverage and features of the items.
    model : ``cascade`` (lists count down to their first click, every position is examined), ``examined_cascade`` (the
        same, with a probability of examination for each position) or ``position_based`` (that, for whole lists).
    attraction : ``hybrid``; or, to compare with, ``topics`` (coverage counts in full, whatever is above), ``features``
        (no topics) or ``constant`` (all items alike).
    by : also fit each ``user`` or ``segment`` of the log, held to the weights of the whole.
    ridge : views in which a weight of 0 was seen; by default, of 1, 10, ... 100,000 the best by cross-validation.
    shrinkage : the same for weights of a group and those of the whole.
    seed : decides which lists are set aside in cross-validation.

    >>> import rankfall
    >>> from rankfall.users.fitting import draw_log
    >>> made = rankfall.generate(items=30, topics=3, features=2, seed=1)
    >>> user = rankfall.CascadeUser(made.catalog.coverage, made.catalog.relevance, made.theta[0], made.beta[0])
    >>> shown = np.random.default_rng(0).permuted(np.tile(np.arange(30), (2000, 1)), axis=1)[:, :5]
    >>> fit_hybrid(draw_log(user, shown), made.catalog, ridge=10)
    FittedHybrid(hybrid, cascade, 30 items, 5 positions, 2,000 lists)
    """
    _check(model, attraction, by)
    log = read_log(clicks, with_context=by is not None)
    known, left_out = _in_rows(log, catalog)
    cut = known if model == "position_based" else known.to_first_click()
    columns = Columns.of(attraction, catalog.coverage, catalog.relevance)
    problem = Problem.of(cut, columns, examined=model != "cascade")
    seed = whole("seed", seed, ProblemError, low=0)
    if ridge is None:
        ridge = STRENGTHS[0] if attraction == "constant" else _chosen(problem, seed)
    else:
        ridge = number("ridge", ridge, ProblemError, low=0.0)
    found = problem.solve(ridge).scaled()
    names: tuple[str, ...] = (WHOLE,)
    sizes, weights = np.array([known.lists]), found.columns[None]
    if by is not None:
        groups = Groups.of(problem.around(found), by)
        shrinkage = groups.chosen(seed) if shrinkage is None else number("shrinkage", shrinkage, ProblemError, low=0.0)
        names, sizes = (WHOLE, *groups.names), np.append(sizes, groups.sizes)
        weights = np.vstack([weights, groups.solve(shrinkage)])
    theta, beta, constant = _split(weights, attraction, catalog, columns.added)
    return FittedHybrid(
        model,
        attraction,
        catalog,
        by,
        names,
        theta,
        beta,
        constant,
        examination=_padded(np.exp(found.places), known.positions),
        views=np.bincount(cut.item, minlength=len(catalog)).astype(float),
        group_lists=sizes,
        ridge=ridge,
        shrinkage=shrinkage,
        log_likelihood=float(problem.likelihoods(found).sum()),
        lists=known.lists,
        left_out=left_out,
        iterations=found.steps,
        converged=found.converged,
        ignored=int(known.click.sum() - cut.click.sum()),
    )


def lists_in(log: ClickLog, catalog: Catalog) -> IntArray:
    """The lists of which the catalog has every item, by number; there must be one at least."""
    row = rows_in(log, catalog)[log.item]
    kept = np.flatnonzero(np.minimum.reduceat(row, log.start[:-1]) >= 0)
    if not len(kept):
        example = log.items[int(log.item[row < 0][0])]
        raise ProblemError(
            f"each of the {log.lists:,} lists shows an item that the catalog of {len(catalog):,} does not have, "
            f"such as {example!r}"
        )
    return kept


def _in_rows(log: ClickLog, catalog: Catalog) -> tuple[ClickLog, int]:
    """The lists of which the catalog has every item, as rows of the catalog; and how many others there are."""
    kept = lists_in(log, catalog)
    row = rows_in(log, catalog)[log.item].astype(np.int32)
    known = ClickLog(log.start, row, log.click, pl.Series("item", list(catalog.ids)), log.context)
    return (known if len(kept) == log.lists else known.take(kept)), log.lists - len(kept)


def _chosen(problem: Problem, seed: int) -> float:
    """The strength under which lists that were set aside are most likely."""
    rng = np.random.default_rng(seed)
    some = rng.permutation(problem.log.lists)[:MOST_LISTS]
    if len(some) < FOLDS:
        return STRENGTHS[0]
    scores = np.zeros(len(STRENGTHS))
    for fold in range(FOLDS):
        aside = np.arange(len(some)) % FOLDS == fold
        train, test = problem.only(np.sort(some[~aside])), problem.only(np.sort(some[aside]))
        start: Weights | None = None
        for place, strength in enumerate(STRENGTHS):
            start = train.solve(strength, start=start, tolerance=_ROUGHLY)
            scores[place] += test.likelihoods(start).sum()
    return STRENGTHS[int(np.argmax(scores))]


@dataclass(frozen=True, eq=False)
class Groups:
    """Users or segments, each with weights of their own that are held to those of the whole.

    Attributes
    ----------
    problem : of the whole log, which begins with the weights of the whole.
    names : of the groups, in ascending order.
    members : the lists of each.
    """

    problem: Problem
    names: tuple[str, ...]
    members: tuple[IntArray, ...]

    @classmethod
    def of(cls, problem: Problem, by: GroupBy) -> Groups:
        """The groups of a log."""
        named = problem.log.context.select(pl.col(by).alias("name")).with_row_index("list").drop_nulls()
        if not named.height:
            raise ProblemError(f"the log says of no list which {by} saw it; give it a column {by}, or leave out by")
        found = named.group_by("name").agg("list").sort("name")
        members = tuple(lists.to_numpy().astype(np.int64) for lists in found["list"])
        return cls(problem, tuple(found["name"].to_list()), members)

    @property
    def sizes(self) -> IntArray:
        """How many lists each has."""
        return np.array([len(lists) for lists in self.members])

    def solve(self, shrinkage: float) -> FloatArray:
        """(groups, columns) the weights of each."""
        return np.array([self._solved(self.problem.only(lists), shrinkage).columns for lists in self.members])

    def _solved(self, problem: Problem, shrinkage: float, start: Weights | None = None) -> Weights:
        return problem.solve(shrinkage, centre=self.problem.first.columns, start=start, tolerance=_ROUGHLY)

    def chosen(self, seed: int) -> float:
        """The strength under which lists that were set aside are most likely, tried on some of the groups."""
        rng = np.random.default_rng(seed)
        scores, seen = np.zeros(len(STRENGTHS)), 0
        for group in rng.permutation(len(self.members)):
            if seen >= MOST_LISTS:
                break
            lists = rng.permutation(self.members[group])
            seen += len(lists)
            for fold in range(min(FOLDS, len(lists)) if len(lists) > 1 else 0):
                aside = np.arange(len(lists)) % FOLDS == fold
                train, test = (self.problem.only(np.sort(part)) for part in (lists[~aside], lists[aside]))
                start: Weights | None = None
                for place, strength in enumerate(STRENGTHS):
                    start = self._solved(train, strength, start)
                    scores[place] += test.likelihoods(start).sum()
        return STRENGTHS[int(np.argmax(scores))]


def _split(
    weights: FloatArray, attraction: AttractionKind, catalog: Catalog, added: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights (groups, columns) of topics, of features, and the constants; 0 for what is not used."""
    groups, used = len(weights), weights[:, :-1] if added else weights
    constant = weights[:, -1] if added else np.zeros(groups)
    theta, beta = np.zeros((groups, catalog.n_topics)), np.zeros((groups, catalog.n_features))
    if attraction in ("hybrid", "topics"):
        theta, used = used[:, : catalog.n_topics], used[:, catalog.n_topics :]
    return theta, beta if attraction == "constant" else used, constant


def _padded(examination: FloatArray, positions: int) -> FloatArray:
    """One for each position of the log; below all first clicks, as at the last that was reached."""
    return np.append(examination, np.full(positions - len(examination), examination[-1]))


def _check(model: str, attraction: str, by: str | None) -> None:
    for name, value, allowed in (
        ("model", model, MODELS),
        ("attraction", attraction, ATTRACTIONS),
        ("by", by, (None, "user", "segment")),
    ):
        if value not in allowed:
            raise ProblemError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}")
