"""What the entries on one list say together: its clicks, and what its items earned.

What was examined comes from the clicks. So the outcomes that come before them wait, and are learned with them; those
that come after them add to what an item earned, and to nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rankfall.journal.entries import FeedbackExpired, FeedbackGiven, OutcomeGiven, Record, decode
from rankfall.journal.records import Entry, Position
from rankfall.policies.rewards import CLICK, Rewards


@dataclass(frozen=True)
class ListStory:
    """What is known of one list.

    Attributes
    ----------
    clicked : the 0-based positions clicked, empty for no click; None while there is no feedback.
    at : the position in the journal of that feedback.
    outcomes : in the order of the journal.
    """

    clicked: tuple[int, ...] | None = None
    at: Position = 0
    outcomes: tuple[OutcomeGiven, ...] = ()

    def after(self, record: Record, at: Position) -> ListStory:
        """What is known after one more entry.

        >>> story = ListStory().after(OutcomeGiven(1, "purchase"), 7).after(FeedbackGiven((0, 1)), 9)
        >>> story.earned(Rewards({"click": 1, "purchase": 4})), story.worth(Rewards({"click": 1, "purchase": 4}))
        ({0: 0.25, 1: 1.25}, 6.0)
        >>> story.worth_at(Rewards({"click": 1, "purchase": 4}))
        {0: 1.0, 1: 5.0}
        """
        if isinstance(record, OutcomeGiven):
            return replace(self, outcomes=(*self.outcomes, record))
        if isinstance(record, FeedbackGiven | FeedbackExpired):
            return replace(self, clicked=tuple(clicks_of(record)), at=at)
        return self

    def earned(self, rewards: Rewards) -> dict[int, float]:
        """What policies learn that items earned, by position."""
        return self._at_positions(rewards.earned)

    def worth_at(self, rewards: Rewards) -> dict[int, float]:
        """What items of the list are worth, by position; nothing, while there is no feedback."""
        return {} if self.clicked is None else self._at_positions(rewards.total)

    def _at_positions(self, worth: Callable[[str, float], float]) -> dict[int, float]:
        found = dict.fromkeys(self.clicked or (), worth(CLICK, 1.0))
        for one in self.outcomes:
            found[one.position] = found.get(one.position, 0.0) + worth(one.type, one.value)
        return found

    def worth(self, rewards: Rewards) -> float:
        """What the list is worth in all; nothing, while there is no feedback."""
        if self.clicked is None:
            return 0.0
        clicks = len(self.clicked) * rewards.total(CLICK)
        return clicks + sum(rewards.total(one.type, one.value) for one in self.outcomes)


def story_before(entry: Entry) -> ListStory:
    """What was known of the list of an entry before it."""
    return story_of((decode(one.kind, one.version, one.body), one.position) for one in entry.earlier)


def story_of(entries: Iterable[tuple[Record, Position]]) -> ListStory:
    """What is known after these entries, which come with their positions in the journal."""
    story = ListStory()
    for record, at in entries:
        story = story.after(record, at)
    return story


@dataclass(frozen=True)
class RewardAdded:
    """What an entry adds to the reward of an arm: to the sum over lists, and to the sum of squares."""

    reward: float = 0.0
    squares: float = 0.0


def reward_added(entry: Entry, record: Record, rewards: Rewards) -> RewardAdded:
    """What an entry on a list adds."""
    story = story_before(entry)
    before, after = story.worth(rewards), story.after(record, entry.position).worth(rewards)
    return RewardAdded(after - before, after * after - before * before)


def clicks_of(record: Record) -> list[int]:
    """The 0-based positions clicked; empty for no click."""
    return list(record.clicked) if isinstance(record, FeedbackGiven) else []
