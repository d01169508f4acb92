"""How policies go on learning after the log, simulated on users who click like those of the log."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankfall.catalog import Catalog
from rankfall.estimates import CountedAs, Interval, drawn_lists
from rankfall.experiments.simulation import simulate
from rankfall.history.evaluation import Snapshot
from rankfall.users.fitting.fitted import Fitted

REPEATS = 5


class GoingOn(NamedTuple):
    """What lists earn on fitted users: of the snapshot as it is, and on average over the lists while it learns on."""

    snapshot: float
    learning: Interval
    steps: int


def going_on(
    snapshots: Sequence[Snapshot],
    catalog: Catalog | None,
    fitted: Fitted,
    k: int,
    steps: int,
    counted: CountedAs,
    seed: int,
) -> dict[str, GoingOn]:
    """For each policy with one state for all, by name; those with a state for each user are left out."""
    found: dict[str, GoingOn] = {}
    if catalog is None:
        return found
    user = fitted.over(catalog.ids).user(k, counted)
    for snapshot in snapshots:
        if snapshot.scope != "global":
            continue
        policy = snapshot.policy_of("", catalog)
        shown = drawn_lists(policy, k, 100, np.random.default_rng(seed))
        now = float(np.mean([user.reward(one) for one in shown]))
        runs = [simulate(copy.deepcopy(policy), user, steps, k, seed=seed + n) for n in range(REPEATS)]
        each = np.array([run.best - run.regret[-1] / steps for run in runs])
        found[snapshot.name] = GoingOn(now, Interval(float(each.mean()), float(each.std(ddof=1) / REPEATS**0.5)), steps)
    return found
