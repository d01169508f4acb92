"""Blocks of RecurRank: neighbouring positions, the items in question for them, and how they are tried and split."""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rankfall.arrays import FloatArray, IntArray

Drops: TypeAlias = Literal["below_last", "below_gap"]
"""Which items a block drops when it is split."""


class Block(NamedTuple):
    """Neighbouring positions, and the items still in question for them.

    Attributes
    ----------
    first, positions : the 0-based position it begins at, and how many it has.
    phase : the paper's l; estimates in it are good to ``2 ** -phase``.
    items : (n,) rows, best first as far as is known; at least as many as positions.
    """

    first: int
    positions: int
    phase: int
    items: IntArray


class Instance:
    """One running instance of Algorithm 1: a block, what it wants to try, and the results so far."""

    __slots__ = ("block", "clicks", "left", "missing", "serial", "shown", "tried", "wanted")

    def __init__(self, serial: int, block: Block, wanted: dict[int, int]) -> None:
        self.serial = serial
        self.block = block
        self.shown: list[int] = block.items[: block.positions + 1].tolist()
        self.wanted = wanted  # T(a) of the items in the design
        self.tried = dict.fromkeys(wanted, 0)
        self.clicks = dict.fromkeys(wanted, 0)
        self.missing = dict(wanted)  # what is left of T(a), above zero
        self.left = sum(wanted.values())

    def resume(self, tried: dict[int, int], clicks: dict[int, int]) -> None:
        """Go on from these results."""
        self.tried, self.clicks = tried, clicks
        self.missing = {item: n - tried[item] for item, n in self.wanted.items() if n > tried[item]}
        self.left = sum(self.missing.values())

    def record(self, item: int, clicked: bool) -> None:
        """An item was tried."""
        self.tried[item] += 1
        self.clicks[item] += clicked
        left = self.missing.get(item, 0)
        if left:
            self.left -= 1
            self.missing[item] = left - 1
            if left == 1:
                del self.missing[item]

    def draw(self, rng: np.random.Generator, barred: frozenset[int] | None) -> int | None:
        """An item still to be tried, each as likely as it is still wanted; None if there is none."""
        if barred is None:
            missing, left = self.missing, self.left
        else:
            missing = {item: n for item, n in self.missing.items() if item not in barred}
            left = sum(missing.values())
        if not left:
            return None
        coin = rng.random() * left
        item = -1
        for item, n in missing.items():  # noqa: B007 - the last one, should rounding leave the coin above all
            coin -= n
            if coin < 0:
                break
        return item


def split(block: Block, estimates: FloatArray, drops: Drops = "below_last") -> list[Block]:
    """Steps 5 and 6: the blocks that follow one whose items' attraction is known to ``2 ** -phase``.

    >>> for part in split(Block(4, 3, 1, np.arange(5)), np.array([0.1, 2.0, 1.9, 0.3, -1.0])):
    ...     print(part)
    Block(first=4, positions=2, phase=2, items=array([1, 2]))
    Block(first=6, positions=1, phase=2, items=array([3, 0]))
    >>> near = np.array([2.0, 1.2, 0.4, -0.4, -1.5])  # the fourth is 1.6 below the second, and 0.8 below the third
    >>> [split(Block(0, 2, 1, np.arange(5)), near, rule)[-1].items for rule in ("below_last", "below_gap")]
    [array([0, 1, 2]), array([0, 1, 2, 3])]
    """
    gap = 2.0 * 2.0**-block.phase
    m = block.positions
    order = np.argsort(-estimates, kind="stable")
    values = estimates[order]
    if drops == "below_last":
        keep = values[m - 1] - values < gap
    else:
        wide = np.flatnonzero(values[m - 1 : -1] - values[m:] >= gap)
        keep = np.arange(len(order)) < (m + wide[0] if len(wide) else len(order))
    keep |= np.arange(len(order)) < m
    order, values = order[keep], values[keep]
    cuts = [0, *(i for i in range(1, m) if values[i - 1] - values[i] >= gap), len(order)]
    return [
        Block(block.first + begin, min(end, m) - begin, block.phase + 1, block.items[order[begin:end]])
        for begin, end in itertools.pairwise(cuts)
    ]
