"""Runs of the paper's study by setting and policy, so that policies can be compared user by user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.errors import ProblemError
from rankfall.experiments.paper.verdicts import SYMBOLS, Setting
from rankfall.experiments.statistics import checked, final

if TYPE_CHECKING:
    import polars as pl

_AXES = {"tradeoff": "tradeoff", "topics": "topics", "positions": "k"}
"""The column with the values of each sweep of the paper."""

_SETTING = ("sweep", "value")


class PaperRuns:
    """Runs by setting and policy, so that policies can be compared user by user."""

    def __init__(self, runs: pl.DataFrame) -> None:
        runs = _with_values(checked(runs))
        keys = [*_SETTING, "policy"]
        last = final(runs).select(*keys, "user", "repeat", "regret")
        self._final = {
            _key(*key): {
                (user, repeat): regret for user, repeat, regret in group.select("user", "repeat", "regret").rows()
            }
            for key, group in last.group_by(keys, maintain_order=True)
        }
        self._runs = runs
        self.settings: list[Setting] = sorted(
            {(sweep, value) for sweep, value, _ in self._final},
            key=lambda setting: (list(SYMBOLS).index(setting[0]), setting),
        )

    def of(self, sweep: str) -> list[Setting]:
        """The settings of one sweep, in order."""
        return [setting for setting in self.settings if setting[0] == sweep]

    def combine(self, setting: Setting, weights: dict[str, float]) -> dict[object, float]:
        """For each user the weighted sum of the policies' final regrets, over runs that all of them have."""
        cells = [self._final.get((*setting, policy), {}) for policy in weights]
        users: dict[object, list[float]] = {}
        for key in cells[0]:
            if all(key in cell for cell in cells):
                total = sum(weight * cell[key] for weight, cell in zip(weights.values(), cells, strict=True))
                users.setdefault(key[0], []).append(total)
        return {user: math.fsum(totals) / len(totals) for user, totals in users.items()}

    def values(self, setting: Setting, weights: dict[str, float]) -> FloatArray:
        """The same as an array."""
        return np.array(list(self.combine(setting, weights).values()))

    def growth(self, policy: str) -> dict[Setting, tuple[FloatArray, int]]:
        """Slope of log regret on log step over the last decade of steps, for each user; and how many have none."""
        import polars as pl

        rows = (
            self._runs.filter(policy=policy)
            .filter(pl.col("step") * 10 >= pl.col("step").max().over(_SETTING))
            .group_by(*_SETTING, "user", "step", maintain_order=True)
            .agg(pl.col("regret").mean())
        )
        x, y = pl.col("step").log(), pl.col("regret").log()
        usable = (pl.len() >= 3) & (pl.col("regret") > 0).all()
        slopes = (
            rows.sort("step", maintain_order=True)
            .group_by(*_SETTING, "user", maintain_order=True)
            .agg(pl.when(usable).then(pl.cov(x, y) / x.var()).alias("slope"))
        )
        found = {}
        for (sweep, value), group in slopes.group_by(_SETTING, maintain_order=True):
            known = group["slope"].drop_nulls()
            found[_key(sweep, value, policy)[:2]] = (known.to_numpy(), group.height - len(known))
        return found


def _with_values(runs: pl.DataFrame) -> pl.DataFrame:
    """Runs of the paper's sweeps, with where they lie on the axis."""
    import polars as pl

    parts = [
        runs.filter(sweep=sweep).with_columns(pl.col(column).cast(pl.Float64).alias("value"))
        for sweep, column in _AXES.items()
        if column in runs.columns
    ]
    known = pl.concat(parts) if parts else pl.DataFrame()
    if known.is_empty():
        there = ", ".join(sorted(set(runs["sweep"]))) or "none"
        raise ProblemError(f"runs are of the sweeps {there}; the paper's are {', '.join(_AXES)}")
    return known


def _key(sweep: object, value: object, policy: object) -> tuple[str, float, str]:
    return str(sweep), round(float(value), 9), str(policy)  # type: ignore[arg-type]
