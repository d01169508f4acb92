"""What tabular policies learn: how often each item was observed and clicked, by item id."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, fill
from rankfall.item_names import Id
from rankfall.kernels import item_bounds, tabular


class ItemCounts:
    """How often each item was observed and clicked, where items count as observed down to the first click.

    Rows belong to ids, so that an item is known again when it comes back. Hold the ``lock`` while you read or change
    it.

    Parameters
    ----------
    first : row by id of the items it has rows for from the start, from 0 on; other ids get the rows after them.

    >>> counts = ItemCounts({"a": 0, "b": 1})
    >>> counts.learn(counts.rows(["b", "c", "a"]), [1])
    >>> counts.observed[:3], counts.clicked[:3]
    (array([0., 1., 1.]), array([0., 0., 1.]))
    """

    meaning: ClassVar[str] = "counts of first clicks"

    def __init__(self, first: Mapping[Id, int]) -> None:
        self.lock = threading.Lock()
        self.first = first
        self._more: dict[Id, int] = {}
        self.observed: FloatArray = np.zeros(len(first))
        self.clicked: FloatArray = np.zeros(len(first))
        self.n_updates = 0

    def steps(self, table: tuple[FloatArray, FloatArray], k: int) -> tabular.Counts:
        """What compiled steps need: the counts of the items of a catalog (views), and work space for lists of ``k``."""
        observed, clicked = table
        return tabular.Counts(np.arange(len(observed)), observed, clicked, np.array([self.n_updates]), np.empty(k))

    def __len__(self) -> int:
        return len(self.first) + len(self._more)

    @property
    def ids(self) -> list[Id]:
        """The id of each row."""
        return [*self.first, *self._more]

    def rows(self, ids: Iterable[Id]) -> IntArray:
        """The row of each id; new ids get one."""
        rows = [self._row(item) for item in ids]
        missing = len(self) - len(self.observed)
        if missing > 0:
            room = np.zeros(max(missing, len(self)))  # twice what is needed, so that growing is rare
            self.observed, self.clicked = np.append(self.observed, room), np.append(self.clicked, room)
        return np.array(rows, dtype=np.int64)

    def _row(self, item: Id) -> int:
        row = self.first.get(item)
        return self._more.setdefault(item, len(self)) if row is None else row

    def learn(self, rows: IntArray, clicks: list[int]) -> None:
        """Learn from a list of rows and the positions clicked, from the top.

        Observed are all items down to the first click, or all of them without one.
        """
        if clicks:
            item_bounds.observe(rows, clicks[0] + 1, clicks[0], 1.0, self.observed, self.clicked)
        else:
            item_bounds.observe(rows, len(rows), -1, 1.0, self.observed, self.clicked)
        self.n_updates += 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as copies of its arrays: the same, in whatever order the ids were met."""
        known = self.ids
        order = sorted(np.flatnonzero(self.observed).tolist(), key=lambda row: known[row])
        ids = json.dumps([known[row] for row in order]).encode()
        return {
            "ids": np.frombuffer(ids, dtype=np.uint8).copy(),
            "observed": self.observed[order],
            "clicked": self.clicked[order],
            "n_updates": np.array(self.n_updates),
            **self.more_arrays(np.array(order, dtype=np.int64)),
        }

    def more_arrays(self, order: IntArray) -> dict[str, NDArray[Any]]:  # noqa: ARG002 - for those that have more
        """Arrays beside the counts; ``order`` has the rows of the ids, as they are saved."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this, where nothing was known before; raises ValueError where that cannot be."""
        given = dict(arrays)
        ids = json.loads(given.pop("ids", np.empty(0, dtype=np.uint8)).tobytes() or "null")
        if not isinstance(ids, list) or len({type(item) for item in ids} - {int, str}) or len(set(ids)) < len(ids):
            raise ValueError("its ids are not different numbers or texts")
        rows = self.rows(ids)
        self.restore_more(given, rows)
        if set(given) != {"observed", "clicked", "n_updates"}:
            raise ValueError(f"counts are observed, clicked and n_updates; got {', '.join(given) or 'nothing'}")
        observed, clicked, n_updates = np.empty(len(ids)), np.empty(len(ids)), np.array(0)
        for name, own in (("observed", observed), ("clicked", clicked), ("n_updates", n_updates)):
            fill(own, name, given[name])
        if (clicked < 0).any() or (clicked > observed * (1 + 1e-9)).any() or n_updates < 0:
            raise ValueError(f"{n_updates} updates, or clicks that are not between 0 and what was observed")
        self.observed[rows], self.clicked[rows], self.n_updates = observed, clicked, int(n_updates)

    def restore_more(self, given: dict[str, NDArray[Any]], rows: IntArray) -> None:
        """Take what :meth:`more_arrays` gave out of ``given``; ``rows`` are those of the ids."""


class AllClickCounts(ItemCounts):
    """The same, where items count as observed down to the last click, and every click counts."""

    meaning = "counts of all clicks"

    def learn(self, rows: IntArray, clicks: list[int]) -> None:
        """Learn from a list of rows and the positions clicked, from the top."""
        seen, clicked = clicks[-1] + 1 if clicks else len(rows), np.zeros(len(rows), dtype=bool)
        clicked[clicks] = True
        item_bounds.observe_all(rows, seen, clicked, self.observed, self.clicked)
        self.n_updates += 1
