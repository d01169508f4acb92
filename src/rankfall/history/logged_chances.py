"""How likely lists were that a policy drew: from the state that made each of them, which the log gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import polars as pl

from rankfall.catalog import Catalog
from rankfall.errors import RankError
from rankfall.estimates import KnownChances, chances_under
from rankfall.history.exported import Log
from rankfall.history.logged_outcomes import LoggedOutcomes
from rankfall.history.logged_requests import asked
from rankfall.history.replayable import ReplayableLog
from rankfall.history.walk import Walk
from rankfall.policies import SERVED, Policy
from rankfall.service.template import policy_of

_RESTARTED = "the model was reset or restored, so what it knew when is not known here"
_CHANGED = "the settings of the model changed, so what made each list is not known here"


@dataclass
class LoggedChances:
    """Chances of the lists of a policy that draws, by event id; ``why`` says why there are none, if there are none."""

    found: dict[str, KnownChances] = field(default_factory=dict)
    why: str | None = None

    @property
    def counted(self) -> int:
        """How many were counted, not computed."""
        return sum(bool(one.errors.any()) for one in self.found.values())

    @property
    def too_low(self) -> int:
        """How many are too low to be counted."""
        return sum(one.too_low for one in self.found.values())


def chances_of_draws(log: ReplayableLog, lists: pl.DataFrame, since: Any, draws: int, seed: int = 0) -> LoggedChances:
    """The chances of the lists of the logged policy that were made after a moment, where they were not logged.

    The journal gives the state that made a list, to the bit: all that its owner's state had learned by its
    ``model_version``. So the policy is asked again, as it was then.

    Parameters
    ----------
    lists : those of the log.
    draws : how many lists to draw where chances must be counted; see :func:`rankfall.estimates.chances_under`.
    """
    if not isinstance(log, Log) or "model_version" not in lists.columns or not SERVED[log.policy].randomised:
        return LoggedChances()
    wanted = (pl.col("created") > since) & (pl.col("arm") == "policy") & pl.col("propensity").is_null()
    names = set(lists.filter(wanted & pl.col("result").is_not_null())["event_id"])
    if not names:
        return LoggedChances()
    if log.restarted:
        return LoggedChances(why=_RESTARTED)
    if len({_made_by(settings) for settings in log.all_settings}) > 1:
        return LoggedChances(why=_CHANGED)
    result, rng = LoggedChances(), np.random.default_rng(seed)

    def look(policy: Policy, event: dict[str, Any], catalog: Catalog, rows: list[int]) -> None:
        if event["event_id"] in names:
            try:
                found = chances_under(policy, rows, draws, rng, **asked(log, policy, event, catalog))
            except RankError:  # the settings changed between the request and its list
                return
            if (found.chances.down_to > 0.0).all():
                result.found[event["event_id"]] = found

    settings, outcomes = log.all_settings[0], LoggedOutcomes(log, lists, log.rewards)
    walk = Walk(
        log,
        lambda catalog: policy_of(settings, catalog),
        log.scope,
        every_list=False,
        rewards=log.rewards,
        outcomes=outcomes,
        look=look,
    )
    for what, row in _as_served(log, lists, outcomes):
        walk.take(what, row)
    return result


def _made_by(settings: Any) -> bytes:
    """What of the settings decides how lists are made from a state."""
    names = ("policy", "gamma", "forgetting", "feedback", "scope", "across_users", "context", "request_features")
    return msgspec.json.encode([msgspec.to_builtins(getattr(settings, name)) for name in names])


def _as_served(log: Log, lists: pl.DataFrame, outcomes: LoggedOutcomes) -> list[tuple[str, dict[str, Any]]]:
    """Lists, feedback, outcomes and priors: each list after all that its state knew, and before all that it did not."""
    told: list[tuple[int, int, str, dict[str, Any]]] = []
    for row in lists.iter_rows(named=True):
        told.append((row["model_version"], 1, "list", row))
        if row["result"] is not None:
            told.append((row["seq"], 0, "feedback", row))
    told += [(row["seq"], 0, "outcome", row) for row in outcomes.rows]
    told += [(one.seq, 0, "prior", {"prior": one.prior}) for one in log.priors()]
    return [(what, row) for _, _, what, row in sorted(told, key=lambda one: one[:2])]
