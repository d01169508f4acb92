"""Click logs to fit click models to: read from files, or drawn from a simulated user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankfall.arrays import rows, whole
from rankfall.click_logs import ClickLog, read_click_log
from rankfall.errors import ProblemError
from rankfall.users.chances import remembers

if TYPE_CHECKING:
    from rankfall.users import User

Clicks: TypeAlias = ClickLog | pl.DataFrame | str | Path
"""A click log, or where it is read from."""


def read_log(
    clicks: Clicks,
    *,
    columns: Mapping[str, str] = MappingProxyType({}),
    model: str | None = None,
    with_context: bool = False,
) -> ClickLog:
    """A click log to fit a click model to, from anything that :func:`rankfall.click_logs.read_click_log` reads.

    Parameters
    ----------
    clicks : a CSV, TSV or Parquet file, a folder, or a polars frame, with columns ``list`` (a name or number for each
        list shown), ``position`` (1 for the top), ``item``, and ``click`` (0 or 1); or a folder that ``rankfall
        export`` wrote.
    columns : names that columns have in this file, such as ``{"item": "product_id"}``.
    model : for an export of several models, the one whose lists are read; all of them by default.
    with_context : also read user, segment, time and propensity.

    >>> read_log(pl.DataFrame({"list": [1, 1, 2], "position": [1, 2, 1], "item": ["a", "b", "a"], "click": [0, 1, 0]}))
    ClickLog(2 lists, 3 rows, 2 items)
    """
    if isinstance(clicks, ClickLog):
        return clicks
    return read_click_log(
        clicks, columns=columns, model=model, with_context=with_context, repeated_items=True, mixed_rows="by_list"
    )


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
    clicked, _, ended, passed = user.chances(shown)
    coins = np.random.default_rng(whole("seed", seed, ProblemError, low=0)).random((n, k))
    click, last, reading = np.zeros((n, k), dtype=bool), np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
    for i, u in enumerate(coins.T):
        p = np.column_stack(clicked[i])[np.arange(n), last]
        click[:, i] = reading & (u < p)
        reading &= np.where(u < p, u >= ended[i], u < passed[i])
        if remembers(clicked):
            last[click[:, i]] = i + 1
    return pl.DataFrame(
        {
            "list": np.repeat(np.arange(n), k),
            "position": np.tile(np.arange(1, k + 1), n),
            "item": shown.astype(np.int64).ravel(),
            "click": click.ravel(),
        }
    )
