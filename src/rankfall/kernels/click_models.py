"""Fits of click models to click logs: list n stands in rows ``start[n]`` to ``start[n + 1]``, top first.

Every model is the chain of ``rankfall.users.click_models``, given as :class:`ClickArrays`: position r is clicked with
probability ``p = examination[r, last click] * attraction[item]`` where it is reached, and after a click there a user
leaves satisfied with probability ``termination[r] * satisfaction[item]``.
"""

from typing import Any

import numpy as np

from rankfall.kernels.clicks import ClickArrays
from rankfall.kernels.jit import compiled, entry


@entry
def probabilities(start: Any, item: Any, user: ClickArrays, out: Any, by_last: Any) -> None:
    """Probability of a click in each row, given the list and none of its clicks; ``by_last`` (k + 1) is work space."""
    for n in range(len(start) - 1):
        reached = 1.0
        by_last[0] = 1.0
        for row in range(start[n], start[n + 1]):
            r = row - start[n]
            a = user.attraction[item[row]]
            if user.examination.shape[1] > 1:
                here = 0.0
                for last in range(r + 1):
                    p = user.examination[r, last] * a
                    here += by_last[last] * p
                    by_last[last] *= 1.0 - p
                by_last[r + 1] = here
                out[row] = here
                continue
            p = user.examination[r, 0] * a
            satisfied = user.termination[r] * user.satisfaction[item[row]] * p
            out[row] = reached * p
            leaves = (1.0 - user.after_click) * (p - satisfied) + (1.0 - user.after_none) * (1.0 - p)
            reached *= 1.0 - satisfied - leaves


@entry
def log_likelihood(start: Any, item: Any, click: Any, user: ClickArrays, least: float) -> float:
    """Log-likelihood of the clicks in all lists; no probability counts as less than ``least``."""
    total = 0.0
    for n in range(len(start) - 1):
        reached = 1.0
        likelihood = 1.0
        last = 0
        for row in range(start[n], start[n + 1]):
            r = row - start[n]
            p = user.examination[r, last] * user.attraction[item[row]]
            if click[row]:
                likelihood *= max(reached * p, least)
                reached = (1.0 - user.termination[r] * user.satisfaction[item[row]]) * user.after_click
                if user.examination.shape[1] > 1:
                    last = r + 1
            else:
                none = max(1.0 - reached * p, least)
                likelihood *= none
                reached = reached * (1.0 - p) * user.after_none / none
            if likelihood < 1e-200:
                total += np.log(likelihood)
                likelihood = 1.0
        total += np.log(likelihood)
    return total


@entry
def before_first_click(start: Any, user: ClickArrays, out: Any) -> None:
    """Probability of a click in each row, given that there is none above; attraction is by row."""
    for n in range(len(start) - 1):
        reached = 1.0
        for row in range(start[n], start[n + 1]):
            p = user.examination[row - start[n], 0] * user.attraction[row]
            out[row] = reached * p
            if user.after_none < 1.0:
                reached = reached * (1.0 - p) * user.after_none / max(1.0 - reached * p, 1e-300)


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
def place_counts(place: Any, item: Any, click: Any, places: int, n_items: int) -> Any:
    """(places, items, 2) how often each item was shown at each place, and clicked there; ``place`` is by row."""
    counts = np.zeros((places, n_items, 2))
    for row in range(len(item)):
        counts[place[row], item[row], 0] += 1.0
        if click[row]:
            counts[place[row], item[row], 1] += 1.0
    return counts


@entry
def last_clicks(start: Any, click: Any, last: Any) -> None:
    """For each row, where the last click above it was: 0 for none, else the position, 1 for the top."""
    for n in range(len(start) - 1):
        above = 0
        for row in range(start[n], start[n + 1]):
            last[row] = above
            if click[row]:
                above = row - start[n] + 1


@entry
def place_step(
    place: Any, item: Any, shown: Any, clicked: Any, alpha: Any, examination: Any, attracted: Any, examined: Any
) -> float:
    """One step of expectation where places are examined each on its own; and the log-likelihood.

    A place is a position, or a position and where the last click above it was; it runs over cells (place, item).
    Without a click an item attracts with probability ``alpha (1 - e) / (1 - e alpha)``, and its place is examined
    with probability ``e (1 - alpha) / (1 - e alpha)``; with one, both are sure. Adds the expected numbers to
    ``attracted`` (items) and ``examined`` (places).
    """
    total = 0.0
    for n in range(len(place)):
        a, e = alpha[item[n]], examination[place[n]]
        p = a * e
        none = shown[n] - clicked[n]
        left = max(1.0 - p, 1e-300)
        attracted[item[n]] += clicked[n] + none * a * (1.0 - e) / left
        examined[place[n]] += clicked[n] + none * e * (1.0 - a) / left
        if clicked[n] > 0.0:
            total += clicked[n] * np.log(max(p, 1e-300))
        if none > 0.0:
            total += none * np.log(left)
    return total


@entry
def satisfaction_step(
    start: Any,
    item: Any,
    click: Any,
    last: Any,
    alpha: Any,
    sigma: Any,
    goes_on: Any,
    views: Any,
    content: Any,
    judged: Any,
    went: Any,
    could: Any,
    silent: Any,
) -> float:
    """One step of expectation where a click satisfies by item, and users may leave after any; and its log-likelihood.

    A click on an item satisfies with probability sigma. Users go on with probability ``goes_on``: without a click (0),
    after one that did not satisfy (1), and after one that did (2). ``last`` (lists) has the row of the last click, or
    -1: down to there all is known but who was satisfied. Below, ``silent[r]`` is the probability of no click from
    position r on, if it is read. What happens after the last position of a list is not seen, and not counted.

    Adds expected numbers to ``views`` (items: read), ``judged`` and ``content`` (items: clicks, and those that
    satisfied), ``could`` and ``went`` (3: how often users could go on, and did).
    """
    none, unsatisfied, satisfied = goes_on[0], goes_on[1], goes_on[2]
    total = 0.0
    product = 1.0
    for n in range(len(start) - 1):
        begin, end = start[n], start[n + 1]
        bottom = begin - 1 if last[n] < 0 else last[n]
        for row in range(begin, bottom):
            a = item[row]
            views[a] += 1.0
            if click[row]:
                on = sigma[a] * satisfied + (1.0 - sigma[a]) * unsatisfied
                q = sigma[a] * satisfied / on if on > 0.0 else 0.0
                judged[a] += 1.0
                content[a] += q
                could[1] += 1.0 - q
                went[1] += 1.0 - q
                could[2] += q
                went[2] += q
                product *= alpha[a] * on
            else:
                could[0] += 1.0
                went[0] += 1.0
                product *= (1.0 - alpha[a]) * none
            if product < 1e-200:
                total += np.log(max(product, 1e-300))
                product = 1.0
        for row in range(end - 1, bottom, -1):
            below = 1.0 if row == end - 1 else 1.0 - none + none * silent[row + 1 - begin]
            silent[row - begin] = (1.0 - alpha[item[row]]) * below
        read = 1.0
        if bottom >= begin:
            a = item[bottom]
            views[a] += 1.0
            product *= alpha[a]
            if bottom < end - 1:
                quiet = silent[bottom + 1 - begin]
                yes = sigma[a] * (1.0 - satisfied + satisfied * quiet)
                no = (1.0 - sigma[a]) * (1.0 - unsatisfied + unsatisfied * quiet)
                each = max(yes + no, 1e-300)
                judged[a] += 1.0
                content[a] += yes / each
                could[1] += no / each
                could[2] += yes / each
                on_no = (1.0 - sigma[a]) * unsatisfied * quiet / each
                on_yes = sigma[a] * satisfied * quiet / each
                went[1] += on_no
                went[2] += on_yes
                read = on_no + on_yes
                product *= each
        else:
            product *= silent[0]
        for row in range(bottom + 1, end):
            views[item[row]] += read
            if row < end - 1:
                on = none * silent[row + 1 - begin]
                stays = on / max(1.0 - none + on, 1e-300)
                could[0] += read
                went[0] += read * stays
                read *= stays
        if product < 1e-200:
            total += np.log(max(product, 1e-300))
            product = 1.0
    return total + np.log(product)
