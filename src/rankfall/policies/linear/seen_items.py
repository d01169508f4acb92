"""Which items of a list count as seen, and what each of them earned by its click."""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.policies.linear.settings import Feedback


def earned_by(feedback: Feedback, clicks: list[int], length: int) -> FloatArray:
    """What each item earned that was seen, from the top: 1 for a click that counts, otherwise 0.

    >>> earned_by("cascade", [1, 3], 5), earned_by("last_click", [1, 3], 5), earned_by("all", [1, 3], 5)
    (array([0., 1.]), array([0., 1., 0., 1.]), array([0., 1., 0., 1., 0.]))
    """
    if feedback == "cascade":
        clicks = clicks[:1]
    earned = np.zeros(length if feedback == "all" or not clicks else clicks[-1] + 1)
    earned[clicks] = 1.0
    return earned
