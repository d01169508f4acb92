"""How well a click model predicts the clicks of a log it was not fitted on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankfall.arrays import FloatArray
from rankfall.click_logs import ClickLog
from rankfall.errors import ProblemError
from rankfall.kernels import click_models
from rankfall.kernels.clicks import ClickArrays

LEAST = 1e-6
"""The lowest probability given to a click, or to no click, when a model is judged."""


class Perplexity(NamedTuple):
    """How well a model predicts clicks: 1 is certain and right, 2 as good as tossing a coin.

    Attributes
    ----------
    overall : mean of those by position.
    by_position : (positions,) ``2 ** -mean(log2 of the probability given to what happened)``, from the top.
    unknown : share of the rows whose item the model was not fitted on.
    """

    overall: float
    by_position: FloatArray
    unknown: float


def perplexity(log: ClickLog, user: ClickArrays, unknown: float) -> Perplexity:
    """Perplexity of a model; its attraction and satisfaction are those of the rows of the log."""
    chance = np.empty(len(log.item))
    rows = np.arange(len(log.item), dtype=np.int32)
    click_models.probabilities(log.start, rows, user, chance, np.empty(log.positions + 1))
    right = np.clip(np.where(log.click, chance, 1.0 - chance), LEAST, 1.0 - LEAST)
    position = log.position
    bits = np.bincount(position, weights=np.log2(right)) / np.bincount(position)
    by_position = 2.0**-bits
    return Perplexity(float(by_position.mean()), by_position, unknown)


def first_clicks(log: ClickLog, user: ClickArrays) -> FloatArray:
    """(lists,) log-likelihood of the position of the first click, or of none, under any click model.

    Attraction and satisfaction are those of the rows of the log; no probability counts as less than :data:`LEAST`.
    """
    clicks = np.cumsum(log.click, dtype=np.int64)
    above = clicks - log.click
    reached = above == np.repeat(above[log.start[:-1]], np.diff(log.start))
    chance = np.empty(len(log.item))
    click_models.before_first_click(log.start, user, chance)
    right = np.log(np.clip(np.where(log.click, chance, 1.0 - chance), LEAST, 1.0 - LEAST))
    likelihoods: FloatArray = np.add.reduceat(np.where(reached, right, 0.0), log.start[:-1])
    return likelihoods


def all_clicks(log: ClickLog, user: ClickArrays) -> float:
    """Log-likelihood of all clicks of all lists, under any click model; otherwise as in :func:`first_clicks`."""
    rows = np.arange(len(log.item), dtype=np.int32)
    return float(click_models.log_likelihood(log.start, rows, log.click, user, LEAST))


def check_positions(log: ClickLog, positions: int) -> None:
    """Refuse lists that are longer than those a model was fitted on."""
    if log.positions > positions:
        raise ProblemError(
            f"the log has lists of {log.positions} positions, and the model was fitted on {positions} at most"
        )
