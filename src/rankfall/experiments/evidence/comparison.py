"""Click models side by side: how likely each finds the first click of lists it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray
from rankfall.catalog import Catalog
from rankfall.click_logs import ClickLog
from rankfall.errors import ProblemError
from rankfall.experiments.statistics import half_width
from rankfall.users.fitting import FITS, Fitted, FittedUser, fit_hybrid, read_log
from rankfall.users.fitting.click_logs import Clicks
from rankfall.users.fitting.fitted_hybrid import GroupBy
from rankfall.users.fitting.hybrid import ATTRACTIONS, MODELS, MOST_LISTS, lists_in

REFERENCE = "constant"
"""The model that others are compared with: every item attracts alike, and each position has a click rate of its own."""

PRIORS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Views of the average that are tried for models with an attraction for each item."""

Attraction: TypeAlias = Literal["item", "hybrid", "topics", "features", "constant"]


class Gain(NamedTuple):
    """A difference in log-likelihood for each list, with its 95 % interval, over so many users or lists."""

    mean: float
    low: float
    high: float
    units: int


@dataclass(frozen=True, eq=False)
class Compared:
    """One model on lists it was not fitted on.

    Attributes
    ----------
    name : attraction and click model in words, such as ``hybrid, cascade``.
    fitted : the model.
    likelihoods : (lists,) log-likelihood of the first click of each list, or of none.
    gain : how much more likely it finds the lists than the reference does.
    perplexity : of all clicks.
    """

    name: str
    attraction: Attraction
    fitted: FittedUser
    likelihoods: FloatArray
    gain: Gain
    perplexity: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """All models on the same lists.

    Attributes
    ----------
    rows : the models, the most likely first.
    reference : the name of the one that others are compared with.
    train, test : how many lists models were fitted on, and how many they are judged by.
    left_out : lists that were not used, as they show an item that the catalog does not have.
    units : what intervals are over, ``users`` or ``lists``, and the number of each list's.
    """

    rows: tuple[Compared, ...]
    reference: str
    train: int
    test: int
    left_out: int
    units: Literal["users", "lists"]
    unit: Any

    def __getitem__(self, name: str) -> Compared:
        for row in self.rows:
            if row.name == name:
                return row
        raise ProblemError(f"no model {name!r} was compared; there are {', '.join(row.name for row in self.rows)}")

    def gain(self, name: str, over: str) -> Gain:
        """How much more likely one model finds the lists than another."""
        return _gain(self[name].likelihoods - self[over].likelihoods, self.unit)

    def frame(self) -> pl.DataFrame:
        """A row for each model."""
        return pl.DataFrame(
            {
                "model": [row.name for row in self.rows],
                "log_likelihood": [float(row.likelihoods.mean()) for row in self.rows],
                "gain": [row.gain.mean for row in self.rows],
                "low": [row.gain.low for row in self.rows],
                "high": [row.gain.high for row in self.rows],
                "perplexity": [row.perplexity for row in self.rows],
            }
        )


def compare(
    clicks: Clicks,
    catalog: Catalog | None = None,
    *,
    by: GroupBy | None = None,
    held_out: float = 0.2,
    reference: str = REFERENCE,
    prior: float | None = None,
    ridge: float | None = None,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit every click model to a part of a log, and judge all of them by the rest.

    They are judged by the position of the first click of a list, or that there is none, which all of them predict.

    Parameters
    ----------
    clicks : a click log, as :func:`rankfall.users.fitting.read_log` reads it.
    catalog : topics and features of the items; without it only models that need none are compared.
    by : also give each ``user`` or ``segment`` weights of their own in the hybrid models.
    held_out : share of the lists that models are judged by.
    reference : the name of the model that others are compared with.
    prior, ridge : views by which attraction is held to the average; by default chosen by cross-validation.
    seed : decides which lists are held out.
    watch : told the name of each model before it is fitted.
    """
    log = read_log(clicks, with_context=True)
    items = Catalog(ids=log.items.to_list()) if catalog is None else catalog
    kept = lists_in(log, items)
    left_out = log.lists - len(kept)
    train, test = (log if not left_out else log.take(kept)).split(held_out, seed)
    short = np.flatnonzero(np.diff(test.start) <= train.positions)
    left_out, test = left_out + test.lists - len(short), test.take(short)
    kinds: list[tuple[Attraction, str]] = [("constant", "examined_cascade"), *(("item", model) for model in FITS)]
    if catalog is not None:
        kinds += [(kind, model) for kind in reversed(ATTRACTIONS[:-1]) for model in MODELS]
    names = [_name(*kind) for kind in kinds]
    if reference not in names:
        raise ProblemError(f"the reference {reference!r} is not compared; choose from {'; '.join(names)}")
    found: list[tuple[Attraction, FittedUser]] = []
    for (kind, model), name in zip(kinds, names, strict=True):
        if watch is not None:
            watch(name)
        if kind == "item":
            found.append((kind, _fit_items(train, model, prior, seed)))
        else:
            own = by if kind != "constant" else None
            found.append((kind, fit_hybrid(train, items, model=model, attraction=kind, by=own, ridge=ridge, seed=seed)))  # type: ignore[arg-type]
    units, unit = _units(test)
    likelihoods = [fitted.first_clicks(test) for _, fitted in found]
    base = likelihoods[names.index(reference)]
    rows = [
        Compared(name, kind, fitted, each, _gain(each - base, unit), fitted.perplexity(test).overall)
        for name, (kind, fitted), each in zip(names, found, likelihoods, strict=True)
    ]
    rows.sort(key=lambda row: -row.likelihoods.mean())
    return Comparison(tuple(rows), reference, train.lists, test.lists, left_out, units, unit)


def _name(attraction: str, model: str) -> str:
    return REFERENCE if attraction == "constant" else f"{attraction}, {model}"


def _fit_items(log: ClickLog, model: str, prior: float | None, seed: int) -> Fitted:
    """A model with an attraction for each item, with the prior under which lists set aside are most likely."""
    fit = FITS[model]  # type: ignore[index]
    if prior is None:
        some = np.random.default_rng(seed).permutation(log.lists)[:MOST_LISTS]
        train, test = log.take(some[: -len(some) // 5]), log.take(some[-len(some) // 5 :])
        test = test.take(np.flatnonzero(np.diff(test.start) <= train.positions))
        prior = max(PRIORS, key=lambda views: float(fit(train, prior=views).first_clicks(test).sum()))
    return fit(log, prior=prior)


def _units(log: ClickLog) -> tuple[Literal["users", "lists"], Any]:
    """What lists belong together: those of one user, if the log has users; and the number of each list's."""
    users = log.context["user"]
    if users.drop_nulls().n_unique() < 2:
        return "lists", np.arange(log.lists)
    alone = users.is_null()
    codes = users.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return "users", np.where(alone, codes.max() + 1 + np.arange(log.lists), codes)


def _gain(differences: FloatArray, unit: Any) -> Gain:
    """Mean over lists; its interval from sums over users, whose lists are alike (cluster-robust)."""
    _, number = np.unique(unit, return_inverse=True)
    sums, sizes = np.bincount(number, weights=differences), np.bincount(number)
    mean, units = float(differences.mean()), len(sums)
    if units < 2:
        return Gain(mean, np.nan, np.nan, units)
    residual = sums - mean * sizes
    error = float(np.sqrt(units / (units - 1) * (residual @ residual))) / len(differences)
    half = half_width(error, units)
    return Gain(mean, mean - half, mean + half, units)
