"""Click logs as arrays: one row for each item shown, checked before anything is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, IntArray, number, rows, whole
from rankfall.errors import FileError, ProblemError
from rankfall.files import reading_parquet

if TYPE_CHECKING:
    from rankfall.users import User

NEEDED = ("list", "position", "item", "click")


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Lists one after the other, each from the top.

    Attributes
    ----------
    start : (lists + 1,) list n stands in rows ``start[n]`` to ``start[n + 1]``.
    item : (rows,) which of ``items`` was shown.
    click : (rows,) whether it was clicked.
    items : ids of the items, in ascending order.
    """

    start: IntArray
    item: NDArray[np.int32]
    click: BoolArray
    items: pl.Series

    def __repr__(self) -> str:
        return f"ClickLog({self.lists:,} lists, {len(self.item):,} rows, {len(self.items):,} items)"

    @property
    def lists(self) -> int:
        """How many lists there are."""
        return len(self.start) - 1

    @property
    def positions(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.start).max())

    @property
    def position(self) -> IntArray:
        """(rows,) 0-based position of each row."""
        return np.arange(len(self.item)) - np.repeat(self.start[:-1], np.diff(self.start))

    def split(self, held_out: float, seed: int = 0) -> tuple[ClickLog, ClickLog]:
        """Two logs: all but a share of the lists, and that share, drawn at random; each list is in one of them."""
        share = number("held_out", held_out, ProblemError, low=0.0, high=1.0)
        count = round(share * self.lists)
        if not 0 < count < self.lists:
            raise ProblemError(f"held_out is {share:g}: of {self.lists} lists that leaves one part without any")
        rng = np.random.default_rng(whole("seed", seed, ProblemError, low=0))
        chosen = np.zeros(self.lists, dtype=bool)
        chosen[rng.permutation(self.lists)[:count]] = True
        return self._only(~chosen), self._only(chosen)

    def _only(self, wanted: BoolArray) -> ClickLog:
        lengths = np.diff(self.start)
        keep = np.repeat(wanted, lengths)
        start = np.concatenate([[0], np.cumsum(lengths[wanted])])
        return ClickLog(start, self.item[keep], self.click[keep], self.items)


Clicks: TypeAlias = ClickLog | pl.DataFrame | str | Path
"""A log, or where it comes from."""


def read_log(clicks: Clicks) -> ClickLog:
    """A click log from a Parquet file or a polars frame.

    Parameters
    ----------
    clicks : columns ``list`` (a name or number for each list shown), ``position`` (1 for the top), ``item``, and
        ``click`` (0 or 1). Rows may stand in any order; each list has positions 1, 2, ... without a gap.

    >>> read_log(pl.DataFrame({"list": [1, 1, 2], "position": [1, 2, 1], "item": ["a", "b", "a"], "click": [0, 1, 0]}))
    ClickLog(2 lists, 3 rows, 2 items)
    """
    if isinstance(clicks, ClickLog):
        return clicks
    if isinstance(clicks, pl.DataFrame):
        frame, name = clicks, "the log"
    elif isinstance(clicks, str | Path):
        with reading_parquet(clicks):
            frame, name = pl.read_parquet(clicks), str(clicks)
    else:
        raise ProblemError(f"clicks must be a polars frame or the path of a Parquet file, got {type(clicks).__name__}")
    missing = [column for column in NEEDED if column not in frame.columns]
    if missing:
        raise FileError(
            f"{name} has no column {missing[0]!r}; needed are {', '.join(NEEDED)}; it has {', '.join(frame.columns)}"
        )
    frame = frame.select(NEEDED)
    if not frame.height:
        raise FileError(f"{name} has no rows")
    for column in NEEDED:
        if frame[column].null_count():
            raise FileError(f"{name}: column {column!r} is empty in row {_first(frame[column].is_null())}")
    if not frame["position"].dtype.is_integer():
        raise FileError(
            f"{name}: column 'position' is {frame['position'].dtype}; expected whole numbers, 1 for the top"
        )
    click = _clicks(name, frame["click"])
    frame = frame.with_columns(frame["position"].cast(pl.Int64), click)
    return _laid_out(name, frame)


def _first(wrong: pl.Series) -> int:
    """Number of the first row that is wrong; the first row is 1."""
    return int(wrong.arg_max() or 0) + 1


def _clicks(name: str, values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values
    if not values.dtype.is_numeric():
        raise FileError(f"{name}: column 'click' is {values.dtype}; expected 0 or 1")
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = _first(wrong)
        raise FileError(f"{name}: click is {values[row - 1]!r} in row {row}; expected 0 or 1")
    return values == 1


def _laid_out(name: str, frame: pl.DataFrame) -> ClickLog:
    """The arrays, if each list has positions 1, 2, ... ; sorted where the rows are not in order already."""
    runs = frame["list"].rle_id()
    if not _in_order(runs, frame["position"]) or runs[-1] + 1 != frame["list"].n_unique():
        frame = frame.sort("list", "position")
        runs = frame["list"].rle_id()
    which = runs.to_numpy()
    start = np.flatnonzero(np.concatenate([[True], which[1:] != which[:-1]]))
    position = frame["position"].to_numpy()
    expected = np.arange(1, len(which) + 1) - start[which]
    wrong = np.flatnonzero(position != expected)
    if len(wrong):
        listed = frame["list"][int(wrong[0])]
        positions = frame.filter(pl.col("list") == listed)["position"].to_list()
        what = "a position twice" if len(set(positions)) < len(positions) else "a gap"
        raise FileError(
            f"{name}: list {listed!r} has {what}; expected positions 1, 2, ... {len(positions)}, "
            f"got {', '.join(map(str, positions[:12]))}{', ...' if len(positions) > 12 else ''}"
        )
    given = frame["item"]
    if isinstance(given.dtype, pl.Categorical | pl.Enum):
        given = given.cast(pl.String)
    items = given.unique().sort()
    codes = given.replace_strict(items, pl.arange(len(items), eager=True, dtype=pl.Int32))
    return ClickLog(
        np.append(start, len(which)).astype(np.int64), codes.to_numpy(), frame["click"].to_numpy(), items.alias("item")
    )


def _in_order(runs: pl.Series, position: pl.Series) -> bool:
    """Whether positions ascend within each run of equal lists."""
    which, where = runs.to_numpy(), position.to_numpy()
    return bool(((which[1:] != which[:-1]) | (where[1:] > where[:-1])).all())


def draw_log(user: User, lists: Any, seed: int = 0) -> pl.DataFrame:
    """The log that a simulated user leaves on these lists (lists, k), of rows of items.

    >>> from rankfall.users import Cascade, PerItem, User
    >>> draw_log(User(PerItem([1.0, 0.0]), Cascade()), [[1, 0], [0, 1]]).rows()
    [(0, 1, 1, False), (0, 2, 0, True), (1, 1, 0, True), (1, 2, 1, False)]
    """
    shown = np.asarray(lists)
    if shown.ndim != 2 or not shown.size:
        raise ProblemError(f"lists must have one row for each list, got shape {shown.shape}")
    rows("lists", np.unique(shown), user.n_items, ProblemError)
    n, k = shown.shape
    examination, termination = user.clicks.chain(k)
    clicked = np.array(examination) * user.attraction.of(shown)
    coins = np.random.default_rng(whole("seed", seed, ProblemError, low=0)).random((n, k))
    satisfied = coins < np.array(termination) * clicked
    gone = np.cumsum(satisfied, axis=1) - satisfied > 0
    return pl.DataFrame(
        {
            "list": np.repeat(np.arange(n), k),
            "position": np.tile(np.arange(1, k + 1), n),
            "item": shown.astype(np.int64).ravel(),
            "click": ((coins < clicked) & ~gone).ravel(),
        }
    )
