"""The outcomes of a log: what came of items beside their clicks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankfall.arrays import FloatArray
from rankfall.history.replayable import ReplayableLog
from rankfall.item_names import Id
from rankfall.journal.entries import FeedbackGiven, OutcomeGiven
from rankfall.journal.outcomes import ListStory
from rankfall.policies.rewards import CLICK, Rewards

_CLICKS = 10.0


class LoggedOutcomes:
    """The outcomes of a log, by list and in the order of the journal.

    Parameters
    ----------
    log : where they are from.
    lists : the lists of the log; outcomes on others are passed over.
    rewards : what a click and outcomes are worth; if None nothing is, and there are none.
    until : outcomes that came after this moment are passed over.
    """

    def __init__(self, log: ReplayableLog, lists: pl.DataFrame, rewards: Rewards | None, until: Any = None) -> None:
        self._rewards = rewards
        self.rows: list[dict[str, Any]] = []
        self._stories: dict[str, ListStory] = {}
        if rewards is not None:
            found = log.outcomes().join(lists.select("event_id", "created"), on="event_id")
            self.rows = [row for row in found.sort("seq").to_dicts() if until is None or row["at"] <= until]
        for row in self.rows:
            story = self._stories.get(row["event_id"], ListStory())
            self._stories[row["event_id"]] = story.after(outcome_in(row), row["seq"])

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._stories

    def worth(self, event_id: str, clicked: list[int]) -> float:
        """What a list was worth in the end."""
        if self._rewards is None:
            return 0.0
        story = self._stories.get(event_id, ListStory())
        return story.after(FeedbackGiven(tuple(clicked)), 0).worth(self._rewards)

    def worth_at(self, event_id: str, clicked: list[int]) -> dict[int, float]:
        """What items of a list were worth in the end, by position."""
        if self._rewards is None:
            return {}
        story = self._stories.get(event_id, ListStory())
        return story.after(FeedbackGiven(tuple(clicked)), 0).worth_at(self._rewards)


def click_worth(log: ReplayableLog, until: Any, rewards: Rewards) -> Callable[[Sequence[Id]], FloatArray]:
    """What came of items for each click on them, by the log up to a moment: a function of their ids.

    Ten clicks are added to each item, worth as much as the average one, so that those with few clicks are like it.
    """
    lists = log.events().filter(pl.col("created") <= until, pl.col("result").is_not_null())
    outcomes = LoggedOutcomes(log, lists, rewards, until)
    clicks: Counter[Id] = Counter()
    worth: defaultdict[Id, float] = defaultdict(float)
    for event in lists.iter_rows(named=True):
        clicks.update(event["items"][position] for position in event["clicked"])
        for position, amount in outcomes.worth_at(event["event_id"], event["clicked"]).items():
            worth[event["items"][position]] += amount
    usual = sum(worth.values()) / clicks.total() if clicks else rewards.total(CLICK)

    def of(ids: Sequence[Id]) -> FloatArray:
        return np.array([(worth[item] + _CLICKS * usual) / (clicks[item] + _CLICKS) for item in ids])

    return of


def unpaid_outcomes(log: ReplayableLog) -> list[str]:
    """A note on a log of which nobody said what its outcomes are worth; none, if it has no outcomes."""
    types = log.outcomes()["type"].unique().sort().to_list()
    if not types:
        return []
    words = ",".join(f"{one}=5" for one in types)
    return [
        f"The log has outcomes ({', '.join(types)}), which count for nothing here; say what they are worth, as in "
        f"--rewards click=1,{words}"
    ]


def outcome_in(row: Mapping[str, Any]) -> OutcomeGiven:
    """The outcome in a row of an export."""
    return OutcomeGiven(row["position"], row["type"], row["value"])
