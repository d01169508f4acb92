"""The estimators give what those of the Open Bandit Pipeline give on the same log.

The values below came out of ``obp/ope/estimators_slate.py`` of github.com/st-tech/zr-obp at commit 8cbd5fa (version
0.5.5, November 2022). The package does not install on a present-day Python, so this file and ``obp/utils.py`` were run
by themselves, under Python 3.11.7, NumPy 2.4.6 and scikit-learn 1.9.1, with an empty module in place of torch, which
they name and do not use. The log was that of :func:`log`, and Q that of :func:`q_of_every_item`.
"""

from __future__ import annotations

import numpy as np
import pytest
from plackett_luce import PlackettLuce

from rankfall.arrays import FloatArray, IntArray
from rankfall.estimates import Predicted, estimate_all

ITEMS, K, LISTS = 5, 3, 200
LOGGING = PlackettLuce([1.0, 2.0, 3.0, 4.0, 5.0], K)
CHOSEN = PlackettLuce([5.0, 3.0, 2.0, 1.0, 1.0], K)
OBP: dict[str, float] = {
    "ips": 0.9817857913209476,
    "sn_ips": 1.005195046452767,
    "iips": 1.1065409000796382,
    "sn_iips": 1.0754727011421847,
    "rips": 1.1578195383898509,
    "sn_rips": 1.0974680503324328,
    "cascade_dr": 1.1367521417861652,
}


def log() -> tuple[IntArray, FloatArray]:
    """Lists (lists, k) and clicks (lists, k): a cascade that goes on after a click, half of the time."""
    rng = np.random.default_rng(16)
    lists = LOGGING.draw(LISTS, rng)
    attracted = rng.random((LISTS, K)) < np.array([0.6, 0.5, 0.3, 0.2, 0.1])[lists]
    leaves = attracted & (rng.random((LISTS, K)) < 0.5)
    there = np.cumsum(leaves, axis=1) - leaves == 0
    return lists, (attracted & there).astype(float)


def q_of_every_item() -> FloatArray:
    """(lists, k, items) any numbers at all will do for Q: it is not what is compared."""
    place, item, n = np.arange(K)[:, None], np.arange(ITEMS), np.arange(LISTS)[:, None, None]
    return 0.9 / (1.0 + place + 0.5 * item) + 0.1 * (n % 3)


def chosen_next(lists: IntArray) -> FloatArray:
    """(lists, k, items) chance of every item under the policy, given those above."""
    score = np.repeat(CHOSEN.scores[None], len(lists), axis=0)
    chances = []
    for place in range(K):
        chances.append(score / score.sum(axis=1, keepdims=True))
        score = score.copy()
        score[np.arange(len(lists)), lists[:, place]] = 0.0
    return np.stack(chances, axis=1)


@pytest.mark.parametrize("name", OBP)
def test_the_same_values(name: str) -> None:
    lists, clicks = log()
    q = q_of_every_item()
    shown = np.take_along_axis(q, lists[:, :, None], axis=2)[:, :, 0]
    model = Predicted(shown, (q * chosen_next(lists)).sum(axis=2))
    found = estimate_all(LOGGING.chances(lists), CHOSEN.chances(lists), clicks, model)
    assert found[name].value == pytest.approx(OBP[name], rel=1e-12)  # type: ignore[index]
