"""Users who come in a stream, in a study: who comes when, and the rows that are recorded of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfall.arrays import IntArray
from rankfall.errors import ProblemError
from rankfall.experiments.many_users.arrivals import coming_and_going, heavy_tailed, uniform
from rankfall.experiments.many_users.results import UsersRun
from rankfall.experiments.simulation import Seed

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

_KINDS = {each.__name__: each for each in (uniform, heavy_tailed, coming_and_going)}
LISTS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""After so many lists of a user it is recorded how the user fared, besides the steps at which everybody's is."""


def arrivals_of(word: Any, users: int, lists: int, seed: Seed) -> IntArray:
    """(lists,) who comes, by the word ``arrivals`` of a user: a kind, or a kind with what it takes.

    >>> arrivals_of("uniform", 3, 6, 1).tolist(), arrivals_of({"coming_and_going": {"present": 1}}, 3, 6, 1).tolist()
    ([1, 1, 2, 2, 0, 0], [0, 0, 1, 1, 2, 2])
    """
    named: Any = {word: {}} if isinstance(word, str) else word
    if not isinstance(named, Mapping) or len(named) != 1 or not all(isinstance(how, Mapping) for how in named.values()):
        raise ProblemError(f"arrivals must be a kind, or {{ heavy_tailed = {{ exponent = 1.2 }} }}, got {word!r}")
    ((kind, how),) = named.items()
    if kind not in _KINDS:
        raise ProblemError(f"arrivals are {kind!r}; choose from {', '.join(_KINDS)}")
    try:
        return _KINDS[kind](users, lists, **{**how, "seed": seed})
    except TypeError as problem:
        raise ProblemError(f"arrivals make no sense: {problem}") from None


def recorded(run: UsersRun, steps: Iterable[int], repeat: int) -> pl.DataFrame:
    """What came of a stream: rows of each user who came, at these steps and after each of so many lists of the user.

    ``step`` counts lists of the stream, ``lists`` those of the user by then; regret and clicks are the user's.
    """
    import polars as pl

    order = np.argsort(run.user, kind="stable")
    ends = np.cumsum(run.lists)
    marks = np.array(sorted(steps), dtype=np.int64)
    parts = []
    for user in np.flatnonzero(run.lists).tolist():
        places = order[ends[user] - run.lists[user] : ends[user]]
        own = np.array([number for number in LISTS if number <= len(places)], dtype=np.int64)
        step = np.unique(np.concatenate([marks, places[own - 1] + 1]))
        lists = np.searchsorted(places, step)
        parts.append(
            pl.DataFrame(
                {
                    "user": np.full(len(step), user),
                    "step": step,
                    "lists": lists,
                    "regret": np.concatenate([[0.0], np.cumsum(run.regret[places])])[lists],
                    "clicks": np.concatenate([[0], np.cumsum(run.clicked[places])])[lists],
                    "best": np.full(len(step), run.best[user]),
                }
            )
        )
    unknown = pl.lit(np.nan)
    return pl.concat(parts).with_columns(
        pl.lit(repeat).alias("repeat"), unknown.alias("touched"), unknown.alias("covered")
    )
