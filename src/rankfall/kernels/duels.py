"""Many comparisons of rankers in one loop: what ``rankfall.compare`` chooses, where preferences are known numbers.

Picks, wins and random numbers are those of the methods themselves, to the bit. ``picks`` (steps, 2) gets the rankers
of each comparison, the second one -1 where a ranker is alone; the first of two is preferred with probability
``preferences[first, second]``. Kernels may allocate: drawing a whole number does.
"""

import math
from typing import Any

import numpy as np

from rankfall.kernels.jit import compiled, entry, inner


@inner
def _above_half(a: float, b: float) -> float:
    """Probability that a number drawn from Beta(a, b) is above 1/2, for a and b of 1 or more.

    The continued fraction of the incomplete beta function (Lentz's method), on the side where it converges fast.
    """
    if a == b:
        return 0.5
    large, small = max(a, b), min(a, b)
    total = large + small
    scale = math.exp(math.lgamma(total) - math.lgamma(large) - math.lgamma(small) - total * math.log(2.0)) / large
    c = 1.0
    d = 1.0 / (1.0 - total * 0.5 / (large + 1.0))
    fraction = d
    for m in range(1, 100_000):
        twice = large + 2 * m
        even = m * (small - m) * 0.5 / ((twice - 1.0) * twice)
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        fraction *= d * c
        odd = -(large + m) * (total + m) * 0.5 / (twice * (twice + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        fraction *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    below = min(scale * fraction, 1.0)  # of Beta(large, small)
    return 1.0 - below if a > b else below


@entry
def preferred(wins: Any, first: Any, second: Any, out: Any) -> None:
    """For pairs of rankers, the probability that a preference drawn for the first over the second is above 1/2."""
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        out[pair] = _above_half(1.0 + wins[i, j], 1.0 + wins[j, i])


@inner
def _prefer_all(wins: Any, ahead: Any) -> None:
    for i in range(len(wins)):
        for j in range(i + 1, len(wins)):
            ahead[i, j] = _above_half(1.0 + wins[i, j], 1.0 + wins[j, i])


@compiled
def _one_of_best(scores: Any, among: Any, count: int, rng: Any) -> int:
    """One of those of ``among`` with the highest score, all equally likely: which of the ``count``."""
    best, equals = scores[among[0]], 0
    for c in range(count):
        if scores[among[c]] > best:
            best, equals = scores[among[c]], 1
        elif scores[among[c]] == best:
            equals += 1
    drawn = rng.integers(0, equals)
    for c in range(count):
        if scores[among[c]] == best:
            if drawn == 0:
                return c
            drawn -= 1
    return 0


@inner
def _compare(wins: Any, first: int, second: int, preferences: Any, rng: Any, ahead: Any) -> None:
    """Compare two rankers, and keep in ``ahead`` (n, n, above the diagonal) what :func:`preferred` gives."""
    if rng.random() < preferences[first, second]:
        wins[first, second] += 1.0
    else:
        wins[second, first] += 1.0
    i, j = min(first, second), max(first, second)
    ahead[i, j] = _above_half(1.0 + wins[i, j], 1.0 + wins[j, i])


@compiled
def double_thompson(
    wins: Any,
    updates: int,
    alpha: float,
    preferences: Any,
    rng: Any,
    picks: Any,
    ahead: Any,
    hopeful: Any,
    hopes: Any,
    score: Any,
    among: Any,
    inside: Any,
) -> int:
    """As many comparisons as ``picks`` has room for, by double Thompson sampling; how many updates there were.

    Work space: ``ahead`` and ``hopeful`` (n, n), and whole numbers (n,). ``hopeful[i, j]`` is 1 where i may beat j:
    its upper bound is above 1/2. Bounds of pairs that are not compared grow with the logarithm of time only, so all
    of them are looked at again no sooner than one can have passed 1/2.
    """
    n = len(wins)
    _prefer_all(wins, ahead)
    look_again = -1.0
    for step in range(len(picks)):
        scale = alpha * math.log(updates + 1)
        if scale >= look_again:
            look_again = math.inf
            hopes[:] = 0
            for i in range(n):
                for j in range(n):
                    look_again = min(look_again, _hope(wins, i, j, scale, hopeful, hopes))
        count, best = 0, hopes.max()
        for i in range(n):
            inside[i] = hopes[i] == best
            if inside[i]:
                among[count] = i
                count += 1
        first = among[0]
        if count > 1:
            score[:] = 0
            begin = 0
            for i in range(n):
                won = 0
                begin += inside[i]  # candidates from there on are behind i
                for place in range(i + 1 if inside[i] else begin, n if inside[i] else count):
                    j = place if inside[i] else among[place]
                    beats = int(rng.random() < ahead[i, j])
                    won += beats
                    score[j] += 1 - beats
                score[i] += won
            first = among[_one_of_best(score, among, count, rng)]
        second, highest = 0, -2.0
        for j in range(n):
            theta = rng.beta(1.0 + wins[j, first], 1.0 + wins[first, j])
            m = wins[j, first] + wins[first, j] + 2.0
            if j == first:
                theta = 0.5
            elif (wins[j, first] + 1.0) / m - math.sqrt(scale / m) > 0.5:
                theta = -1.0
            if theta > highest:
                second, highest = j, theta
        picks[step, 0], picks[step, 1] = first, second
        if second == first:
            picks[step, 1] = -1
            continue
        _compare(wins, first, second, preferences, rng, ahead)
        updates += 1
        scale = alpha * math.log(updates + 1)
        for i, j in ((first, second), (second, first)):
            hopes[i] -= hopeful[i, j]
            look_again = min(look_again, _hope(wins, i, j, scale, hopeful, hopes))
    return updates


@inner
def _hope(wins: Any, i: int, j: int, scale: float, hopeful: Any, hopes: Any) -> float:
    """Note whether i may beat j; the scale below which it cannot, if nothing more is learned of the two."""
    hopeful[i, j] = 0
    if i == j:
        return math.inf
    m = wins[i, j] + wins[j, i] + 2.0
    share = (wins[i, j] + 1.0) / m
    if share + math.sqrt(scale / m) > 0.5:
        hopeful[i, j] = 1
        hopes[i] += 1
        return math.inf
    return m * (0.5 - share) ** 2 * (1.0 - 1e-9)  # a little sooner than exact, for rounding


@entry
def self_sparring(wins: Any, won: Any, lost: Any, preferences: Any, rng: Any, picks: Any) -> int:
    """As many comparisons as ``picks`` has room for, by Self-Sparring; how many updates there were.

    ``won`` and ``lost`` (n,) are the sums of ``wins`` over others, and kept up to date.
    """
    updates = 0
    for step in range(len(picks)):
        for place in range(2):
            highest = -1.0
            for i in range(len(wins)):
                theta = rng.beta(1.0 + won[i], 1.0 + lost[i])
                if theta > highest:
                    picks[step, place], highest = i, theta
        first, second = picks[step]
        if first == second:
            picks[step, 1] = -1
            continue
        if rng.random() >= preferences[first, second]:
            first, second = second, first
        wins[first, second] += 1.0
        won[first] += 1.0
        lost[second] += 1.0
        updates += 1
    return updates


@compiled
def merge_dts(
    wins: Any,
    batch: Any,
    turn: Any,
    since: Any,
    few: int,
    alpha: float,
    constant: float,
    preferences: Any,
    rng: Any,
    picks: Any,
    ahead: Any,
    score: Any,
    among: Any,
) -> int:
    """Comparisons by MergeDTS, until ``picks`` is full or batches are to be merged; how many there were.

    In the second case the last comparison is in ``wins`` and not settled yet: ``few`` rankers or fewer are left.
    ``batch`` (n,), ``turn`` and ``since`` are those of :class:`rankfall.compare.MergeDTS`; ``ahead`` (n, n), ``score``
    and ``among`` (n, whole numbers) are work space.
    """
    n = len(wins)
    _prefer_all(wins, ahead)
    for step in range(len(picks)):
        count = _present(batch, turn[()], among)
        if count == 1:
            picks[step, 0], picks[step, 1] = among[0], -1
            continue
        score[:] = 0
        for a in range(count):
            for b in range(a + 1, count):
                i, j = among[a], among[b]
                score[i if rng.random() < ahead[i, j] else j] += 1
        first = among[_one_of_best(score, among, count, rng)]
        second, lowest = first, 2.0
        for b in range(count):
            j = among[b]
            theta = rng.beta(1.0 + wins[j, first], 1.0 + wins[first, j])
            if j == first:
                theta = 1.0
            if theta < lowest:
                second, lowest = j, theta
        picks[step, 0], picks[step, 1] = first, second
        _compare(wins, first, second, preferences, rng, ahead)
        left, number = 0, 0
        for i in range(n):
            left += batch[i] >= 0
            number = max(number, batch[i] + 1)
        if left <= few and number > 1:
            return step + 1
        since[()] += 1
        turn[()] = since[()] % number
        _merge_single(batch, turn, among)
        while True:
            count = _present(batch, turn[()], among)
            out = _next_out(wins, among, count, math.sqrt(alpha * math.log(constant + 1.0 + since[()])))
            if out < 0:
                break
            batch[out] = -1
            _merge_single(batch, turn, among)
    return len(picks)


@inner
def _present(batch: Any, turn: int, among: Any) -> int:
    """How many rankers are in a batch, and in ``among`` which."""
    count = 0
    for i in range(len(batch)):
        if batch[i] == turn:
            among[count] = i
            count += 1
    return count


@inner
def _merge_single(batch: Any, turn: Any, among: Any) -> None:
    """Merge the batch whose turn it is with the next one as long as it has one ranker and is not alone."""
    while True:
        number = 0
        for i in range(len(batch)):
            number = max(number, batch[i] + 1)
        if number < 2 or _present(batch, turn[()], among) != 1:
            return
        here = turn[()]
        following = (here + 1) % number
        batch[among[0]] = following
        for i in range(len(batch)):
            if batch[i] > here:
                batch[i] -= 1
        turn[()] = following - (following > here)


@inner
def _next_out(wins: Any, among: Any, count: int, width: float) -> int:
    """Who is beaten for sure by most others of the batch, the first of equals; -1 if nobody is."""
    out, most = -1, 0
    for a in range(count):
        losses = 0
        for b in range(count):
            i, j = among[a], among[b]
            m = wins[i, j] + wins[j, i] + 2.0
            if a != b and (wins[i, j] + 1.0) / m + width / np.sqrt(m) < 0.5:
                losses += 1
        if losses > most:
            out, most = among[a], losses
    return out
