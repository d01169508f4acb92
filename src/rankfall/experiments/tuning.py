"""The best value of a setting, from the runs of a study in which it is an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankfall.errors import ProblemError
from rankfall.experiments.report.numbers import known, short
from rankfall.experiments.statistics import LEVEL, by_unit, checked, final, interval


@dataclass(frozen=True)
class BestValue:
    """The value of a setting with the lowest final regret.

    Attributes
    ----------
    setting, value : such as gamma, and 0.1.
    regret, low, high : its mean final regret and 95 % interval.
    close : other values whose regret, run by run, cannot be told from it.
    steps, units : lists in each run, and runs or users.
    """

    setting: str
    value: float
    regret: float
    low: float
    high: float
    close: tuple[float, ...]
    steps: int
    units: int

    @property
    def sentence(self) -> str:
        """The result in words."""
        span = f" ({short(self.low)} to {short(self.high)})" if known(self.low) else ""
        said = (
            f"{self.setting} {self.value:g} has the lowest regret: {short(self.regret)}{span} after {self.steps:,} "
            f"lists, in {self.units:,} runs."
        )
        if self.close:
            said += f" Not told apart from it: {', '.join(f'{value:g}' for value in self.close)}."
        return said


def best_value(runs: pl.DataFrame, setting: str) -> BestValue:
    """The best value of a setting, from the runs of one case at the points of one sweep."""
    if setting not in runs.columns or runs["case"].n_unique() != 1 or runs["sweep"].n_unique() != 1:
        raise ProblemError(f"runs must be of one case, in one sweep of {setting}")
    values = dict(runs.select("point", setting).unique().rows())
    last = final(by_unit(checked(runs)))
    regrets = {values[point]: dict(group.select("unit", "regret").rows()) for (point,), group in last.group_by("point")}
    value = min(sorted(regrets), key=lambda each: float(np.mean(list(regrets[each].values()))))
    ours = regrets[value]
    close = []
    for other, theirs in sorted(regrets.items()):
        differences = np.array([theirs[unit] - regret for unit, regret in ours.items() if unit in theirs])
        if other != value and not interval(differences, LEVEL)[1] > 0:
            close.append(other)
    numbers = interval(np.array(list(ours.values())), LEVEL)
    return BestValue(setting, value, *numbers, tuple(close), int(last["step"][0]), len(ours))
