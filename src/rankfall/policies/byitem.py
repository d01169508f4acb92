"""Tabular policies over a catalog that changes: what is known of an item goes by its id, and stays when it leaves."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import IntArray
from rankfall.catalog import Catalog, Id
from rankfall.errors import FeedbackError, ProblemError
from rankfall.files import save_blocks
from rankfall.model import Discount, Forgetting, Window
from rankfall.policies.cascading import (
    DCMKLUCB,
    CascadeDUCB,
    CascadeKLUCB,
    CascadeSWUCB,
    CascadeTS,
    CascadeUCB1,
)
from rankfall.policies.explaining import Explanation, Weight
from rankfall.policies.ranking import Click, Ranking, eligible
from rankfall.policies.saving import about
from rankfall.policies.tabular import TabularPolicy

MOST_TOLD = 50
"""Items that a summary names: those observed most."""


@dataclass(frozen=True)
class ItemRecipe:
    """A row of the table of tabular policies that can be served.

    Attributes
    ----------
    name : what to call it.
    build : makes one for so many items, and where it forgets, with its ``discount`` or ``window``.
    counts : what its state means; policies that say the same can take over from each other.
    forgets : how it must be told to forget, if it does.
    randomised : whether it may rank differently each time it is asked.
    """

    name: str
    build: Callable[..., TabularPolicy]
    counts: str = "counts of first clicks"
    forgets: type[Discount] | type[Window] | None = None
    randomised: bool = False

    def learns(self, feedback: str | None = None) -> str:  # noqa: ARG002 - it has its own
        """What its state means."""
        return self.counts

    def table(self, forgetting: Forgetting | None, items: int) -> TabularPolicy:
        """A table of this kind that has learned nothing."""
        if isinstance(forgetting, Discount):
            return self.build(items, discount=forgetting.rho)
        if isinstance(forgetting, Window):
            return self.build(items, window=forgetting.lists)
        return self.build(items)

    def serve(
        self,
        catalog: Catalog,
        *,
        gamma: float = 1.0,
        forgetting: Forgetting | None = None,
        feedback: str | None = None,
        shared: bool = True,  # noqa: ARG002 - ranks the same either way
    ) -> ByItem:
        """A policy that has learned nothing yet; see :class:`rankfall.policies.served.Servable`.

        >>> ITEMS["CascadeKLUCB"].serve(Catalog(ids=["a"]), gamma=0.5)
        Traceback (most recent call last):
        rankfall.errors.ProblemError: CascadeKLUCB has no gamma; leave it at 1, got 0.5
        """
        if feedback is not None:
            raise ProblemError(f"{self.name} learns from {self.counts}; feedback {feedback!r} is for linear policies")
        if self.forgets is None and forgetting is not None:
            raise ProblemError(f"{self.name} does not forget; CascadeDUCB takes a discount, CascadeSWUCB a window")
        if self.forgets is not None and not isinstance(forgetting, self.forgets):
            need = self.forgets.__name__.lower()
            raise ProblemError(f"{self.name} needs forgetting with a {need}, got {forgetting!r}")
        policy = ByItem(catalog, self, forgetting)
        policy.gamma = gamma
        return policy


class Known:
    """What a tabular policy has learned, by item id: ``table`` has a row for each id seen, ``row_of`` says which."""

    def __init__(self, make: Callable[[int], TabularPolicy]) -> None:
        self.lock = threading.Lock()
        self.row_of: dict[Id, int] = {}
        self.table = make(1)
        self._make = make

    @property
    def n_updates(self) -> int:
        """Lists learned from."""
        return self.table.n_updates

    def rows(self, ids: Iterable[Id]) -> IntArray:
        """The row of each id; new ones get one."""
        rows = [self.row_of.setdefault(item, len(self.row_of)) for item in ids]
        if len(self.row_of) > self.table.n_items:
            self.table.grow(2 * len(self.row_of))
        return np.array(rows, dtype=np.int64)

    def learn(self, ids: list[Id], click: Click) -> None:
        """Take in the answer to a list."""
        rows = self.rows(ids)
        if len(rows):
            self.table.update(Ranking(rows), click)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all there is to know, by name: the same whatever the order in which ids were met."""
        arrays = self.table.arrays()
        observed = arrays["observed"]
        ids = sorted(item for item, row in self.row_of.items() if observed[row])
        order = np.array([self.row_of[item] for item in ids], dtype=np.int64)
        for name in ("observed", "clicked"):
            arrays[name] = arrays[name][order]
        if "window" in arrays:
            place = np.full(len(observed) + 1, -1)  # the last for what is padded with -1
            place[order] = np.arange(len(order))
            arrays["window"] = place[arrays["window"]]
        return {"ids": np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8), **arrays}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], make: Callable[[int], TabularPolicy]) -> Known:
        """The one with exactly these arrays; raises ValueError where they cannot be one."""
        known = cls(make)
        ids = json.loads(arrays["ids"].tobytes())
        if not isinstance(ids, list) or len({type(item) for item in ids} - {int, str}) or len(set(ids)) < len(ids):
            raise ValueError("its ids are not different numbers or texts")
        if ids:  # without, nothing was learned
            known.row_of = {item: row for row, item in enumerate(ids)}
            known.table.grow(len(ids))
            known.table.restore({name: array for name, array in arrays.items() if name != "ids"})
        return known

    def copy(self) -> Known:
        """One that knows the same, and learns on its own from here."""
        return Known.restore(self.arrays(), self._make)


class ByItem:
    """A tabular policy for items that come and go, such as those of a service.

    It ranks as the policy named in its recipe does over the same counts; ties go to the lower row of the catalog. An
    item that was withdrawn is known again when it comes back. Made by ``ITEMS[name].serve(catalog)``.

    >>> policy = ITEMS["CascadeKLUCB"].serve(Catalog(ids=["a", "b", "c"]))
    >>> policy.update(policy.rank(2), 1)
    >>> policy.rank(3)
    Ranking('c', 'b', 'a')
    """

    def __init__(self, catalog: Catalog, recipe: ItemRecipe, forgetting: Forgetting | None = None) -> None:
        self.catalog, self.recipe, self.forgetting = catalog, recipe, forgetting
        self._own = recipe.table(forgetting, 1)  # how to rank what is known
        self._take(self.fresh())

    def __repr__(self) -> str:
        return f"{self.recipe.name}({self.catalog!r}, {self.n_updates} updates)"

    def __deepcopy__(self, memo: dict[int, Any]) -> ByItem:
        """A policy that learns on its own from here."""
        with self._model.lock:
            model = self._model.copy()
        twin = memo[id(self)] = self.with_model(model)
        return twin

    def _take(self, model: Known) -> None:
        """Rank by what this state knows."""
        self._model = model
        self._here: IntArray = np.empty(0, dtype=np.int64)  # in which row of the catalog each item known is; -1: gone

    def _spread(self) -> TabularPolicy:
        """What is known, over the rows of the catalog. Hold the lock."""
        known = self._model.row_of
        if len(known) > len(self._here):
            rows = [self.catalog.row(item) for item in islice(known, len(self._here), None)]
            more = np.array([-1 if row is None else row for row in rows], dtype=np.int64)
            self._here = np.concatenate([self._here, more])
        return self._own.seeing(self._model.table, self._here, self.n_items)

    @property
    def gamma(self) -> float:
        """Always 1: these policies have no such measure of exploration."""
        return 1.0

    @gamma.setter
    def gamma(self, gamma: float) -> None:
        if gamma != 1.0:
            raise ProblemError(f"{self.recipe.name} has no gamma; leave it at 1, got {gamma:g}")

    @property
    def randomised(self) -> bool:
        """Whether it may rank differently each time it is asked."""
        return self.recipe.randomised

    @property
    def n_items(self) -> int:
        """How many items there are to rank."""
        return len(self.catalog)

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        return self._model.n_updates

    @property
    def model(self) -> Known:
        """All it has learned."""
        return self._model

    def fresh(self) -> Known:
        """A state that has learned nothing."""
        return Known(partial(self.recipe.table, self.forgetting))

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> Known:
        """The state with these arrays."""
        return Known.restore(arrays, partial(self.recipe.table, self.forgetting))

    def with_model(self, model: Known) -> ByItem:
        """The same policy on another's learning, which the two then share."""
        twin = copy.copy(self)
        twin._take(model)
        return twin

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> Ranking:
        """The ``k`` best rows; see :meth:`rankfall.LinearPolicy.rank`, also for ``fixed``."""
        k, allowed = eligible(k, self.n_items, candidates, exclude, fixed)
        items, scores = np.empty(k, dtype=np.int64), np.empty(k)
        held = np.zeros(k, dtype=bool)
        held[list(fixed or ())] = True
        with self._model.lock:
            table = self._spread()
        items[~held], scores[~held] = table.best(int(k - held.sum()), allowed, rng)
        if fixed:
            rows = [fixed[position] for position in np.flatnonzero(held).tolist()]
            ordered, bounds = table.best(len(rows), np.array(rows), rng)
            bound_of = dict(zip(ordered.tolist(), bounds.tolist(), strict=True))
            items[held], scores[held] = rows, [bound_of[row] for row in rows]
        means, widths = table.means(items)
        ids = tuple([self.catalog.ids[row] for row in items.tolist()])
        return Ranking(items, ids=ids, means=means, widths=widths, scores=scores)

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from the answer to ``ranking``, whose items may have left since."""
        if not isinstance(ranking, Ranking) or len(ranking.ids) != len(ranking):
            raise FeedbackError(f"expected a Ranking that {self.recipe.name} made, with the ids of its items")
        with self._model.lock:
            self._model.learn(list(ranking.ids), click)

    def kept(self, ranking: Ranking) -> bytes:
        """What must be kept of a list so that its answer can be learned later."""
        return json.dumps(ranking.ids).encode()

    def kept_of(self, lists: IntArray) -> list[bytes]:
        """What :meth:`kept` gives for each of these lists (n, k) of rows."""
        return [json.dumps([self.catalog.ids[row] for row in rows]).encode() for rows in lists.tolist()]

    def learn_kept(self, kept: bytes, click: Click) -> None:
        """Learn from the answer to a list of which this was kept."""
        with self._model.lock:
            self._model.learn(json.loads(kept), click)

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from: the share of clicks, and the rest for what is not known."""
        return [
            Explanation(item, self.catalog.title_of(item), float(mean), {}, float(score - mean), float(score))
            for item, mean, score in zip(ranking.ids, ranking.means, ranking.scores, strict=True)
        ]

    def summary(self) -> list[Weight]:
        """The share of clicks of the items observed most, with its standard deviation."""
        with self._model.lock:
            table = self._spread()
        observed = table.observed
        most = np.argsort(-observed, kind="stable")[:MOST_TOLD]
        most = most[observed[most] > 0]
        means, widths = table.means(most)
        return [
            Weight(self.catalog.label(row), "item", float(mean), float(width))
            for row, mean, width in zip(most.tolist(), means, widths, strict=True)
        ]

    def save(self, path: str | Path) -> None:
        """Write policy and catalog to one file; :func:`rankfall.load` restores them."""
        header, blocks = about(self.catalog, self.forgetting)
        with self._model.lock:
            arrays = self._model.arrays()
        save_blocks(path, {**header, "by_item": self.recipe.name}, {**blocks, **arrays})


ITEMS: Mapping[str, ItemRecipe] = {
    recipe.name: recipe
    for recipe in (
        ItemRecipe("CascadeUCB1", CascadeUCB1),
        ItemRecipe("CascadeKLUCB", CascadeKLUCB),
        ItemRecipe("CascadeTS", CascadeTS, randomised=True),
        ItemRecipe("CascadeDUCB", CascadeDUCB, "counts of first clicks that fade", Discount),
        ItemRecipe("CascadeSWUCB", CascadeSWUCB, "counts of first clicks in a window", Window),
        ItemRecipe("DCMKLUCB", DCMKLUCB, "counts of all clicks"),
    )
}
"""Tabular policies that a service can learn with."""
