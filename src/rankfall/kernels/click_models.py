"""Fits of click models to click logs: list n stands in rows ``start[n]`` to ``start[n + 1]``, top first.

Every model is the chain of ``rankfall.users.click_models``: position r is clicked with probability
``p = examination[r] * alpha[item]`` where it is reached, and a click there is the last one with probability
``termination[r]``.
"""

from typing import Any

import numpy as np

from rankfall.kernels.jit import compiled, entry


@entry
def probabilities(start: Any, item: Any, alpha: Any, examination: Any, termination: Any, out: Any) -> None:
    """Probability of a click in each row, given the list and none of its clicks."""
    for n in range(len(start) - 1):
        reached = 1.0
        for row in range(start[n], start[n + 1]):
            r = row - start[n]
            p = examination[r] * alpha[item[row]]
            out[row] = reached * p
            reached *= 1.0 - termination[r] * p


@entry
def log_likelihood(
    start: Any, item: Any, click: Any, alpha: Any, examination: Any, termination: Any, least: float
) -> float:
    """Log-likelihood of the clicks in all lists; no probability counts as less than ``least``."""
    total = 0.0
    for n in range(len(start) - 1):
        reached = 1.0
        likelihood = 1.0
        for row in range(start[n], start[n + 1]):
            r = row - start[n]
            p = examination[r] * alpha[item[row]]
            if click[row]:
                likelihood *= max(reached * p, least)
                reached = 1.0 - termination[r]
            else:
                none = max(1.0 - reached * p, least)
                likelihood *= none
                reached = reached * (1.0 - p) / none
            if likelihood < 1e-200:
                total += np.log(likelihood)
                likelihood = 1.0
        total += np.log(likelihood)
    return total


@entry
def first_clicks(start: Any, item: Any, click: Any, clicks: Any, views: Any) -> None:
    """For each item, how often it was examined under the cascade model, and clicked."""
    for n in range(len(start) - 1):
        for row in range(start[n], start[n + 1]):
            views[item[row]] += 1.0
            if click[row]:
                clicks[item[row]] += 1.0
                break


@entry
def dependent_counts(
    start: Any, item: Any, click: Any, last: Any, clicks: Any, views: Any, passed: Any, open_ends: Any
) -> None:
    """What is sure in a dependent click model: everything down to the last click was examined.

    ``last`` (lists) gets the row of the last click, or -1. ``clicks`` and ``views`` are by item; ``passed`` and
    ``open_ends`` by position: clicks with another one further down, and last clicks with something further down.
    """
    for n in range(len(start) - 1):
        begin, end = start[n], start[n + 1]
        last[n] = -1
        for row in range(end - 1, begin - 1, -1):
            if click[row]:
                last[n] = row
                break
        bottom = end - 1 if last[n] < 0 else last[n]
        for row in range(begin, bottom + 1):
            views[item[row]] += 1.0
            if click[row]:
                clicks[item[row]] += 1.0
                if row < bottom:
                    passed[row - begin] += 1.0
        if 0 <= last[n] < end - 1:
            open_ends[last[n] - begin] += 1.0


@entry
def dependent_step(start: Any, item: Any, last: Any, alpha: Any, termination: Any, more: Any, ended: Any) -> float:
    """One step of expectation for the dependent click model: whether the user read on below the last click.

    Read on with probability ``q = (1 - v) s / (v + (1 - v) s)``, where s is the probability that nothing below
    attracts. Adds q to ``more`` of each item below, and ``1 - q`` to ``ended`` of the position. Gives the
    log-likelihood.
    """
    total = 0.0
    product = 1.0
    for n in range(len(start) - 1):
        begin, end = start[n], start[n + 1]
        if last[n] < 0 or last[n] == end - 1:
            continue
        none = 1.0
        for row in range(last[n] + 1, end):
            none *= 1.0 - alpha[item[row]]
        v = termination[last[n] - begin]
        silent = v + (1.0 - v) * none
        q = (1.0 - v) * none / silent if silent > 0.0 else 0.0
        for row in range(last[n] + 1, end):
            more[item[row]] += q
        ended[last[n] - begin] += 1.0 - q
        product *= max(silent, 1e-100)
        if product < 1e-200:  # logarithms of products of many: they cost more than all else here
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@compiled
def position_counts(start: Any, item: Any, click: Any, positions: int, n_items: int) -> Any:
    """(positions, items, 2) how often each item was shown at each position, and clicked there."""
    counts = np.zeros((positions, n_items, 2))
    for n in range(len(start) - 1):
        for row in range(start[n], start[n + 1]):
            counts[row - start[n], item[row], 0] += 1.0
            if click[row]:
                counts[row - start[n], item[row], 1] += 1.0
    return counts


@entry
def position_step(
    position: Any, item: Any, shown: Any, clicked: Any, alpha: Any, examination: Any, attracted: Any, examined: Any
) -> float:
    """One step of expectation for the position-based model, over cells (position, item); and its log-likelihood.

    Without a click an item attracts with probability ``alpha (1 - e) / (1 - e alpha)``, and its position is examined
    with probability ``e (1 - alpha) / (1 - e alpha)``; with one, both are sure. Adds the expected numbers to
    ``attracted`` (items) and ``examined`` (positions).
    """
    total = 0.0
    for n in range(len(position)):
        a, e = alpha[item[n]], examination[position[n]]
        p = a * e
        none = shown[n] - clicked[n]
        left = max(1.0 - p, 1e-300)
        attracted[item[n]] += clicked[n] + none * a * (1.0 - e) / left
        examined[position[n]] += clicked[n] + none * e * (1.0 - a) / left
        if clicked[n] > 0.0:
            total += clicked[n] * np.log(max(p, 1e-300))
        if none > 0.0:
            total += none * np.log(left)
    return total
