"""Many comparisons of rankers in one loop: what ``rankfall.compare`` chooses, where preferences are known numbers.

Picks, wins and random numbers are those of the methods themselves, to the bit. ``picks`` (steps, 2) gets the rankers
of each comparison, the second one -1 where a ranker is alone; the first of two is preferred with probability
``preferences[first, second]``. Kernels may allocate: drawing a whole number does.
"""

import math
from typing import Any

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
def prefer_all(wins: Any, ahead: Any) -> None:
    """Put into ``ahead`` (n, n, above the diagonal) what :func:`preferred` gives for all pairs."""
    for i in range(len(wins)):
        for j in range(i + 1, len(wins)):
            ahead[i, j] = _above_half(1.0 + wins[i, j], 1.0 + wins[j, i])


@compiled
def one_of_best(scores: Any, among: Any, count: int, rng: Any) -> int:
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
def compare(wins: Any, first: int, second: int, preferences: Any, rng: Any, ahead: Any) -> None:
    """Compare two rankers, and keep up ``ahead``, as in :func:`prefer_all`."""
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
    prefer_all(wins, ahead)
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
            first = among[one_of_best(score, among, count, rng)]
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
        compare(wins, first, second, preferences, rng, ahead)
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
