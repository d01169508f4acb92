"""How long the paper's whole grid would take on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankfall.experiments.forecast import Forecast
from rankfall.experiments.paper.grid import paper_study
from rankfall.experiments.plan import Plan, plan


@dataclass(frozen=True)
class GridTime:
    """Steps of the grid on both data sets of the paper, and seconds they would take with so many workers."""

    steps: int
    seconds: float
    workers: int


def whole_grid(dataset: str, like: Plan | None = None) -> Plan:
    """The paper's experiments at full size, with the policies, the preparation and the data of another plan."""
    if like is None:
        return plan(paper_study(dataset, scale="paper"))
    preparation: Any = like.study.user.get("preparation")
    study = paper_study(dataset, scale="paper", policies=like.study.policies, preparation=preparation)
    return plan(study, like.data)


def grid_time(whole: Plan, measured: Forecast) -> GridTime:
    """What follows from trials of the whole grid on one data set for both.

    With the paper's own 500 users, also where this data set has fewer: the question is about the paper.
    """
    runs = whole.study.users * whole.study.repeats
    seconds = 2 * sum(measured.run_seconds(setup) for setup in whole.setups) * runs / measured.workers
    return GridTime(2 * len(whole.setups) * runs * whole.study.steps, seconds, measured.workers)
