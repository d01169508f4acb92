"""How many lists had feedback and clicks, and what they earned, for each arm, in all and over time."""

from __future__ import annotations

from typing import Any

MINUTE, HOUR = 60, 3600
_KEEP = {10: HOUR // 2, MINUTE: 6 * HOUR, HOUR: 30 * 24 * HOUR}
"""Width of buckets, and for how long they are kept, in seconds."""


class ClickCounts:
    """Counts of one model, folded from the journal like everything else."""

    def __init__(
        self,
        counts: dict[str, list[int]] | None = None,
        buckets: dict[str, Any] | None = None,
        rewards: dict[str, list[float]] | None = None,
    ) -> None:
        self.counts = counts or {}
        """By arm: lists with feedback, lists with a click, lists whose wait for feedback ran out."""
        self.rewards = rewards or {}
        """By arm, where there are rewards: what lists with feedback earned, and the sum of the squares of that."""
        self._buckets: dict[int, dict[int, dict[str, list[int]]]] = {
            width: {int(start): arms for start, arms in (buckets or {}).get(str(width), {}).items()} for width in _KEEP
        }
        """By width, start and arm: lists with feedback, lists with a click, topics covered. None of imported lists."""

    def add(self, at: float, arm: str, covered: int, *, clicked: bool, expired: bool) -> None:
        """Count the feedback on one list, or that none came."""
        counts = self.counts.setdefault(arm, [0, 0, 0])
        counts[0] += 1
        counts[1] += clicked
        counts[2] += expired
        if arm == "imported":  # ``at`` is when it was imported, which says nothing about when it was shown
            return
        for width, keep in _KEEP.items():
            buckets = self._buckets[width]
            start = int(at // width) * width
            if start not in buckets:
                for old in [old for old in buckets if old < start - keep]:
                    del buckets[old]
            cell = buckets.setdefault(start, {}).setdefault(arm, [0, 0, 0])
            cell[0] += 1
            cell[1] += clicked
            cell[2] += covered

    @property
    def with_feedback(self) -> int:
        """Lists with feedback, or whose wait for it ran out, of all arms."""
        return sum(counts[0] for counts in self.counts.values())

    def earn(self, arm: str, reward: float, squares: float) -> None:
        """Count what a list earned, or earned more."""
        sums = self.rewards.setdefault(arm, [0.0, 0.0])
        sums[0] += reward
        sums[1] += squares

    def history(self, hours: float, now: float) -> tuple[int, list[tuple[int, dict[str, list[int]]]]]:
        """Width in seconds and the buckets of the last hours, oldest first; by arm as in ``_buckets``."""
        width = next((width for width, keep in _KEEP.items() if hours * HOUR <= keep), HOUR)
        cells = sorted(self._buckets[width].items())
        return width, [(start, arms) for start, arms in cells if start >= now - hours * HOUR]

    def plain(self) -> dict[str, Any]:
        """All of it as JSON; the constructor takes it back."""
        plain = {"counts": self.counts, "buckets": {str(width): cells for width, cells in self._buckets.items()}}
        return {**plain, "rewards": self.rewards} if self.rewards else plain
