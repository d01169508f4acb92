"""The outcomes of a log: what came of items beside their clicks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rankfall.history.replayable import ReplayableLog
from rankfall.journal.entries import FeedbackGiven, OutcomeGiven
from rankfall.journal.outcomes import ListStory
from rankfall.policies.rewards import Rewards


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


def outcome_in(row: Mapping[str, Any]) -> OutcomeGiven:
    """The outcome in a row of an export."""
    return OutcomeGiven(row["position"], row["type"], row["value"])
