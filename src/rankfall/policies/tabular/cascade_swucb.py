"""CascadeSWUCB: UCB1 over the last lists only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import IntArray
from rankfall.errors import ProblemError
from rankfall.item_names import Id
from rankfall.kernels import item_bounds, tabular
from rankfall.policies.forgetting import Window
from rankfall.policies.settings import PolicySettings, count, real
from rankfall.policies.tabular.counts import ItemCounts
from rankfall.policies.tabular.policy import Rng
from rankfall.policies.tabular.widths import WidthPolicy


@dataclass(frozen=True)
class CascadeSWUCBSettings(PolicySettings):
    """Settings of :class:`CascadeSWUCB`."""

    steps: int | None = count(None)
    window: int | None = count(None)
    epsilon: float = real(0.5, low=0.0)

    def check(self) -> None:
        """The window is given, or follows from the horizon."""
        if self.window is None and self.steps is None:
            raise ProblemError("CascadeSWUCB needs steps, the horizon its paper sets window by, or window itself")


class WindowCounts(ItemCounts):
    """Counts of the last lists only, which are kept in a ring that grows up to the window."""

    meaning = "counts of first clicks in a window"

    def __init__(self, first: Mapping[Id, int], window: int) -> None:
        super().__init__(first)
        self.window = window
        empty = np.empty((0, 0), dtype=np.int64)
        self.ring = item_bounds.Ring(empty, np.empty((0, 2), dtype=np.int64), np.zeros(2, dtype=np.int64))

    @property
    def lists(self) -> int:
        """How many lists there are in the window."""
        return int(self.ring.place[1])

    @property
    def recent(self) -> list[tuple[IntArray, int]]:
        """The observed rows of each list, oldest first, and the position clicked or -1."""
        lists, spans, (oldest, size) = self.ring
        places = (oldest + np.arange(size)) % max(len(spans), 1)
        return [(lists[place, :seen], hit) for place, (seen, hit) in zip(places, spans[places].tolist(), strict=True)]

    def make_room(self, k: int) -> None:
        """Have room for one more list of ``k``, and for twice as many where that is too little."""
        room, width = len(self.ring.spans), self.ring.lists.shape[1]
        more = min(self.window, max(16, 2 * room)) if self.lists == room else room
        if room == more and width >= k:
            return
        known = self.recent
        lists, spans = np.zeros((more, max(width, k)), dtype=np.int64), np.zeros((more, 2), dtype=np.int64)
        for place, (rows, hit) in enumerate(known):
            lists[place, : len(rows)] = rows
            spans[place] = len(rows), hit
        self.ring = item_bounds.Ring(lists, spans, np.array([0, len(known)]))

    def learn(self, rows: IntArray, clicks: list[int]) -> None:
        """Take back the oldest list if the window is full, then count."""
        self.make_room(len(rows))
        item_bounds.slide(rows, clicks[0] if clicks else -1, self.window, self.ring, self.observed, self.clicked)
        self.n_updates += 1

    def more_arrays(self, order: IntArray) -> dict[str, NDArray[Any]]:
        """``window``: for each list, oldest first, the places of its items among the ids, padded with -1; ``hits``."""
        recent = self.recent
        longest = max((len(items) for items, _ in recent), default=0)
        place = np.full(len(self.observed) + 1, -1)
        place[order] = np.arange(len(order))
        window = np.full((len(recent), longest), -1, dtype=np.int64)
        for row, (items, _) in zip(window, recent, strict=True):
            row[: len(items)] = place[items]
        return {"window": window, "hits": np.array([hit for _, hit in recent], dtype=np.int64)}

    def restore_more(self, given: dict[str, NDArray[Any]], rows: IntArray) -> None:
        """Take the lists back."""
        window, hits = (given.pop(name, np.empty(0)) for name in ("window", "hits"))
        if window.ndim != 2 or hits.shape != window.shape[:1] or len(window) > self.window:
            raise ValueError(f"{len(window)} lists and {len(hits)} clicks for a window of {self.window}")
        if window.dtype != np.int64 or hits.dtype != np.int64 or (window >= len(rows)).any():
            raise ValueError("the window has items that are not there")
        lists = [(rows[row[row >= 0]], hit) for row, hit in zip(window, hits.tolist(), strict=True)]
        if not all(len(items) and -1 <= hit < len(items) for items, hit in lists):
            raise ValueError("the window has lists without items, or clicks that are not there")
        for items, hit in lists:
            self.make_room(len(items))
            newest = self.ring.place[1]
            self.ring.lists[newest, : len(items)] = items
            self.ring.spans[newest] = len(items), hit
            self.ring.place[1] += 1


class CascadeSWUCB(WidthPolicy):
    """Orders items by UCB over the last lists only: follows users who change.

    Li, de Rijke: Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI
    2019, CascadeSWUCB, after the sliding-window UCB of Garivier and Moulines (2011); with ``o_s(e)`` for "e was
    observed at step s" and ``r_s(e)`` for "and clicked"::

        for all t = 1, ..., n:
            for all items e:
                N_t(e) = sum over the last tau steps s of o_s(e)
                X_t(e) = sum over the last tau steps s of r_s(e) / N_t(e)
                c_t(e) = sqrt(epsilon log(min(t - 1, tau)) / N_t(e))
                U_t(e) = X_t(e) + c_t(e)
            A_t = the K items with the largest U_t(e), in decreasing order
            show A_t, observe the click; items down to the first click are observed

    With their ``tau = 2 sqrt(n log n)``, rounded, and ``epsilon = 0.5``. The form of c_t was written down from memory
    of the paper and agrees with Garivier and Moulines.

    Where ours differs: initialisation and ties, as said in :mod:`rankfall.policies.tabular`. An item not
    observed within the window counts as never observed. The window holds the feedback last learned from, in the order
    it came in.

    Parameters
    ----------
    catalog : the items, or how many there are.
    steps : the horizon n, for the paper's window.
    window : tau, from 1 on, if not the paper's.
    epsilon : exploration.

    >>> CascadeSWUCB(4, steps=10_000).window
    607
    """

    Settings = CascadeSWUCBSettings
    summary = "UCB1 over a sliding window"
    paper = "Li, de Rijke: Cascading Non-Stationary Bandits, IJCAI 2019"
    counts_kind = WindowCounts
    forgets = Window

    settings: CascadeSWUCBSettings
    _counts: WindowCounts

    @property
    def window(self) -> int:
        """Tau of the paper: the setting, or what follows from the horizon."""
        given, n = self.settings.window, self.settings.steps or 1
        return max(1, round(2.0 * math.sqrt(n * math.log(n)))) if given is None else given

    def new_counts(self, first: Mapping[Id, int]) -> WindowCounts:
        """Counts of nothing, for the last lists."""
        return WindowCounts(first, self.window)

    @property
    def budget(self) -> float:
        """What is under the root, over how often an item was observed."""
        return self.settings.epsilon * math.log(max(self._counts.lists, 1))

    def steps(self, counts: tabular.Counts, rng: Rng) -> tabular.WindowSteps:  # noqa: ARG002
        """Bounds over the window."""
        self._counts.make_room(len(counts.scores))
        return tabular.WindowSteps(counts, self.settings.epsilon, self.window, self._counts.ring)
