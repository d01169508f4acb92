"""What the paper proves: Theorem 1, and what the greedy list is worth."""

from __future__ import annotations

import math
from typing import NamedTuple

from rankfall.arrays import number, whole
from rankfall.errors import ProblemError


class Bound(NamedTuple):
    """Theorem 1: the exploration it asks for, and the scaled regret it then promises."""

    gamma: float
    regret: float


def theorem_bound(n: int, k: int, m: int, d: int, norm: float = 1.0) -> Bound:
    """Theorem 1 for ``n`` steps, ``k`` positions, ``m`` features, ``d`` topics and preferences of length ``norm``.

    >>> theorem_bound(n=50_000, k=10, m=10, d=20)
    Bound(gamma=18.69..., regret=638681.68...)
    """
    n = whole("n", n, ProblemError, low=1)
    k = whole("k", k, ProblemError, low=1)
    columns = whole("m", m, ProblemError, low=0) + whole("d", d, ProblemError, low=0)
    if not columns:
        raise ProblemError("m + d must be at least 1")
    norm = number("norm", norm, ProblemError, low=0.0, high=1.0)
    log = math.log(1 + n * k / columns)
    gamma = math.sqrt(columns * log + 2 * math.log(n)) + norm
    return Bound(gamma, 2 * gamma * math.sqrt(2 * n * k * columns * log) + 1)


def eta(k: int, highest: float) -> float:
    """What share of the optimum the greedy list of ``k`` items earns at least (section 3.2).

    ``(1 - 1/e) max(1/K, 1 - (K - 1)/2 alpha_max)``, where ``highest`` is the highest attraction an item can have,
    alpha_max: :attr:`Hybrid.highest`.

    >>> eta(2, highest=0.4)
    0.505...
    """
    k = whole("k", k, ProblemError, low=1)
    highest = number("highest", highest, ProblemError, low=0.0, high=1.0)
    return (1 - 1 / math.e) * max(1 / k, 1 - (k - 1) / 2 * highest)
