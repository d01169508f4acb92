"""A ranking: the list shown, with its features as shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, IntArray, frozen, rows
from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.frames import html_table
from rankfall.item_names import Id
from rankfall.policies.list_rules import NO_RULES, HeldBack, Relaxed, RulesKept

_NOTHING: FloatArray = frozen(np.empty(0))
_NO_FEATURES: FloatArray = frozen(np.empty((0, 0)))
_ANY_ROW = 2**63 - 1


class Ranking:
    """The list shown, with everything needed to learn from it later. Treat it as a value: its arrays are read-only.

    A policy of your own may return ``Ranking(items)`` and nothing else.

    Attributes
    ----------
    items : (k,) rows of the catalog, best first.
    ids : (k) ids of those items.
    features : (k, columns) features as shown: coverage gains, then relevance.
    means, widths, scores : (k,) estimated attraction, its standard deviation, and what the list was ordered by.
    weights : (columns,) the weights the list was made with, so that it can be explained later.
    space : what the feature columns mean, and which line of catalogs they come from.
    note : whatever else the policy needs to learn from the list.
    context : (context columns,) the numbers of the context of the request, for policies that have one.
    catalog : the catalog whose rows ``items`` are, if the policy says so.
    kept : what came of the rules it was made under; ``relaxed`` and ``held_back`` are parts of it.

    >>> Ranking([4, 2, 7]).items
    array([4, 2, 7])
    """

    __slots__ = (
        "_ids", "catalog", "context", "features", "items", "kept", "means", "note", "scores", "space", "weights",
        "widths",
    )  # fmt: skip

    def __init__(
        self,
        items: Iterable[int],
        ids: tuple[Id, ...] = (),
        features: FloatArray = _NO_FEATURES,
        means: FloatArray = _NOTHING,
        widths: FloatArray = _NOTHING,
        scores: FloatArray = _NOTHING,
        weights: FloatArray = _NOTHING,
        space: str = "",
        note: object = None,
        catalog: Catalog | None = None,
        kept: RulesKept = NO_RULES,
        context: FloatArray = _NOTHING,
    ) -> None:
        self.items: IntArray = frozen(rows("items", items, _ANY_ROW, RankError))
        self._ids = ids
        self.features = frozen(features)
        self.means = frozen(means)
        self.widths = frozen(widths)
        self.scores = frozen(scores)
        self.weights = frozen(weights)
        self.space = space
        self.note = note
        self.catalog = catalog
        self.kept = kept
        self.context = frozen(context)

    @classmethod
    def trusted(
        cls,
        items: IntArray,
        note: object = None,
        catalog: Catalog | None = None,
        scores: FloatArray = _NOTHING,
        means: FloatArray = _NOTHING,
        widths: FloatArray = _NOTHING,
        features: FloatArray = _NO_FEATURES,
        weights: FloatArray = _NOTHING,
        kept: RulesKept = NO_RULES,
    ) -> Ranking:
        """``Ranking(items, ...)`` without a check and without a copy: for arrays that a policy has just made.

        >>> Ranking.trusted(np.array([3, 1]), scores=np.array([0.5, 0.2])).scores
        array([0.5, 0.2])
        """
        ranking = object.__new__(cls)
        items.setflags(write=False)
        scores.setflags(write=False)
        ranking.items = items
        ranking._ids = ()
        ranking.features = features
        ranking.means = means
        ranking.widths = widths
        ranking.scores = scores
        ranking.weights = weights
        ranking.space = ""
        ranking.note = note
        ranking.catalog = catalog
        ranking.kept = kept
        ranking.context = _NOTHING
        return ranking

    @property
    def relaxed(self) -> tuple[Relaxed, ...]:
        """Rules that do not hold in the list, and where."""
        return self.kept.relaxed

    @property
    def held_back(self) -> tuple[HeldBack, ...]:
        """The best items that rules did not allow, where they would have been chosen."""
        return self.kept.held_back

    @property
    def ids(self) -> tuple[Id, ...]:
        """Ids of the items; empty if nobody said which catalog the rows are of."""
        if not self._ids and self.catalog is not None:
            known = self.catalog.ids
            self._ids = tuple([known[row] for row in self.items.tolist()])
        return self._ids

    def replace(self, **changes: Any) -> Ranking:
        """The same list with other values of these attributes, checked.

        >>> Ranking([4, 2]).replace(note="mine").note
        'mine'
        """
        mine = {name: getattr(self, name) for name in self.__slots__ if name != "_ids"}
        return Ranking(**{**mine, "ids": self.ids, **changes})

    def __len__(self) -> int:
        return len(self.items)

    def _repr_html_(self) -> str:
        """The list with its titles and scores, for notebooks."""
        known = {"mean": self.means, "width": self.widths, "score": self.scores}
        numbers = {name: values.tolist() for name, values in known.items() if len(values) == len(self)}
        titles = None if self.catalog is None else self.catalog.titles
        heads = ["", "id", *([] if titles is None else ["title"]), *numbers]
        rows = []
        for place, row in enumerate(self.items.tolist()):
            named = [] if titles is None else [titles[row]]
            numbered = [values[place] for values in numbers.values()]
            rows.append([place + 1, (self.ids or self.items)[place], *named, *numbered])
        return html_table(f"Ranking of {len(self)} items", heads, rows)

    def __repr__(self) -> str:
        return f"Ranking({', '.join(repr(i) for i in (self.ids or self.items.tolist()))})"
