"""The lists of a log that policies are judged by, and how likely each of them was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray, IntArray, number
from rankfall.errors import ProblemError
from rankfall.estimates import Interval, ListChances, position_rewards
from rankfall.estimates.chances import NOTHING
from rankfall.history.exported import rows_of
from rankfall.history.logged_chances import chances_of_draws
from rankfall.history.logged_outcomes import LoggedOutcomes
from rankfall.history.replayable import ReplayableLog
from rankfall.item_names import Id
from rankfall.policies.rewards import Rewards

Basis: TypeAlias = Literal["positions", "lists", "nothing"]
"""What chances are known of: each position, whole lists only, or nothing: no list was left to chance."""

NO_CHANCE = (
    "No list that was judged is known to be drawn, so what would have come of other lists is not known. What can be "
    "said: bounds, if clicks do not depend on the items below; means of items at positions, if nothing else "
    'matters; and what fitted users would click. For estimates set "randomize" in the settings of the model, or give '
    "propensity_given_above in a click log"
)
Earning: TypeAlias = Literal["any", "clicks", "worth"]
"""What a list earns: 1 for any click, the number of its clicks, or what its clicks and outcomes are worth."""

ONLY_AT_POSITION = (
    "propensity_at_position is not used without propensity_given_above, the chance of each item given those above it"
)
NOT_ALL_AT_POSITION = (
    "IIPS of clicks and of worth is left out: {:,} of the {:,} lists that were judged lack "
    "propensity_at_position, the chance of each item at its position whatever stands above"
)
WHOLE_LISTS = (
    "The log knows the chances of whole lists and not of positions, so only IPS on whole lists can be computed; "
    "exports of this version, and the column propensity_given_above of a click log, have them"
)
NO_FEEDBACK, NOT_IN_CATALOG = "without feedback", "with items that are not in the catalog"
NOT_DRAWN = "not drawn, or with a chance that is not known"


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """The lists of a log that policies are judged by.

    Attributes
    ----------
    events : the lists, as the log has them.
    items : (lists, k) items as numbers of ``ids``; -1 below the end of a shorter list.
    clicks : (lists, k).
    worth : (lists, k) what came of each position is worth, if that is known.
    chances : under the logging policy; all 1 where nothing was left to chance.
    basis : what chances are known of.
    left_out : lists that cannot be used, by the reason.
    notes : what else there is to know.
    """

    events: list[dict[str, Any]]
    items: IntArray
    ids: dict[Id, int]
    clicks: FloatArray
    chances: ListChances
    basis: Basis
    left_out: dict[str, int]
    notes: tuple[str, ...]
    worth: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.events)

    def rewards(self, earning: Earning) -> FloatArray:
        """(lists, k) what each position earned."""
        if earning != "worth":
            return position_rewards(self.clicks, earning)
        if self.worth is None:
            raise ProblemError("nobody said what clicks and outcomes are worth")
        return self.worth

    def earned(self, earning: Earning) -> Interval:
        """What a list earned, as logged."""
        each = self.rewards(earning).sum(axis=1)
        return Interval(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))))


def moment_after(log: ReplayableLog, share: float) -> Any:
    """The moment at which a share of the lists had been shown."""
    share = number("the share to learn from", share, ProblemError, low=0.0, high=1.0)
    created = log.events()["created"]
    return created[max(0, min(round(share * len(created)), len(created)) - 1)]


def judged_lists(
    log: ReplayableLog, since: Any, draws: int = 1_000, seed: int = 0, rewards: Rewards | None = None
) -> JudgedLists:
    """The lists shown after a moment, with feedback, and how likely each was.

    If some were drawn, only those count: of a list that was certain nobody knows what another would have earned.
    ``draws`` is for logging policies that draw, and whose chances must be counted; ``rewards`` says what clicks and
    outcomes are worth, all that came until the end of the log.
    """
    lists = log.events()
    again = chances_of_draws(log, lists, since, draws, seed)
    left_out = dict.fromkeys((NO_FEEDBACK, NOT_IN_CATALOG, NOT_DRAWN), 0)
    groups: dict[Basis, list[tuple[dict[str, Any], ListChances]]] = {"positions": [], "lists": [], "nothing": []}
    for event in lists.filter(pl.col("created") > since).iter_rows(named=True):
        catalog = log.catalog(event["catalog_version"])
        rows = None if catalog is None else rows_of(catalog, event["items"])
        if event["result"] is None:
            left_out[NO_FEEDBACK] += 1
        elif rows is None or len(rows) < len(event["items"]):
            left_out[NOT_IN_CATALOG] += 1
        else:
            kept = again.found.get(event["event_id"])
            known, chances = _chances_of(event) if kept is None else ("positions", kept.chances)
            groups[known].append((event, chances))
    basis: Basis = "positions" if groups["positions"] else "lists" if groups["lists"] else "nothing"
    used = groups[basis]
    left_out[NOT_DRAWN] = sum(map(len, groups.values())) - len(used)
    left_out = {why: n for why, n in left_out.items() if n}
    if len(used) < 2:
        told = ". ".join(told_left_out(left_out)) or "Log for longer, or learn from a smaller part"
        raise ProblemError(
            f"policies are judged by the lists after the first part, and {counted_lists(len(used))} can be used; two "
            f"at least are needed. {told}"
        )
    notes = [
        *log.notes,
        *([] if again.why is None else [f"Chances of lists that were drawn are not known: {again.why}"]),
    ]
    if again.counted:
        worst = max(float((one.errors / one.chances.down_to[0]).max()) for one in again.found.values())
        notes.append(
            f"The chances of {again.counted:,} lists were counted among {draws:,} lists drawn again for each; their "
            f"standard errors are up to {worst:.0%}"
        )
    if again.too_low:
        notes.append(
            f"{again.too_low:,} lists were too rare to be counted; their weights are cut, which makes values too low"
        )
    if basis == "nothing" and any(event.get("propensity_at_position") is not None for event, _ in used):
        notes.append(ONLY_AT_POSITION)
    unknown = sum(chances.at_position is None for _, chances in used)
    if basis == "positions" and 0 < unknown < len(used):
        notes.append(NOT_ALL_AT_POSITION.format(unknown, len(used)))
    notes += {"positions": [], "lists": [WHOLE_LISTS], "nothing": [NO_CHANCE]}[basis]
    found = _laid_out(used, basis, left_out, tuple(notes))
    if rewards is None:
        return found
    outcomes, worth = LoggedOutcomes(log, lists, rewards), np.zeros_like(found.clicks)
    for n, event in enumerate(found.events):
        for position, amount in outcomes.worth_at(event["event_id"], event["clicked"]).items():
            worth[n, position] = amount
    return replace(found, worth=worth)


def counted_lists(n: int) -> str:
    """How many lists, in words."""
    return f"{n:,} list" if n == 1 else f"{n:,} lists"


def told_left_out(left_out: Mapping[str, int]) -> list[str]:
    """Which lists are left out, in words."""
    return [f"Left out: {counted_lists(n)} {why}" for why, n in left_out.items()]


def _chances_of(event: dict[str, Any]) -> tuple[Basis, ListChances]:
    """What the log itself says of the chances of a list."""
    k, whole = len(event["items"]), event["propensity"]
    given, alone = event.get("propensity_given_above"), event.get("propensity_at_position")
    if given is not None:
        chances = ListChances.given_above([given], None if alone is None else [alone])
        if 0.0 < chances.down_to[0, -1] < 1.0:
            return "positions", chances
    elif whole is not None and 0.0 < whole < 1.0:
        return "lists", ListChances(np.full((1, k), whole))
    return "nothing", ListChances.given_above(np.ones((1, k)), np.ones((1, k)))


def _laid_out(
    used: Sequence[tuple[dict[str, Any], ListChances]], basis: Basis, left_out: dict[str, int], notes: tuple[str, ...]
) -> JudgedLists:
    events = [event for event, _ in used]
    shape = len(events), max(len(event["items"]) for event in events)
    ids: dict[Id, int] = {}
    items, clicks = np.full(shape, NOTHING), np.zeros(shape)
    down_to, alone = np.ones(shape), np.ones(shape)
    for n, (event, chances) in enumerate(used):
        k = len(event["items"])
        items[n, :k] = [ids.setdefault(item, len(ids)) for item in event["items"]]
        clicks[n, event["clicked"]] = 1.0
        down_to[n, :k], down_to[n, k:] = chances.down_to[0], chances.down_to[0, -1]
        alone[n, :k] = np.nan if chances.at_position is None else chances.at_position[0]
    known = ListChances(down_to, None if np.isnan(alone).any() else alone)
    return JudgedLists(events, items, ids, clicks, known, basis, left_out, notes)
