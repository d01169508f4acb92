"""One position's contextual zooming: balls of pairs of a context and an item, which grow finer where it pays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.kernels import context_zooming


@dataclass
class ContextZooming:
    """The balls of one position, and what the items chosen from them earned.

    Slivkins: Contextual Bandits with Similarity Information, COLT 2011 and JMLR 15 (2014), Algorithm 1. With D the
    distance of pairs (context, item), ``n_b`` and ``mu_b`` how often ball b was chosen and what it earned on average::

        conf_b = sqrt(radius / (1 + n_b))
        pre_b  = mu_b + r_b + conf_b
        I_b    = r_b + min over balls a of (pre_a + D(a, b))
        of the pairs of the present context, each in the ball of least radius that holds it: the one with the highest I
        after feedback, if conf_b <= r_b: a new ball round the pair that was shown, of radius r_b / 2

    At first one ball of radius 1 holds everything.

    Attributes
    ----------
    above : how many items the context has.
    contexts, centres, radii : (balls, above), (balls,), (balls,) where the balls are, and how large.
    counts, sums : (balls,) how often each was chosen, and its clicks.
    """

    above: int
    weight: float
    radius: float
    distances: FloatArray
    contexts: IntArray
    centres: IntArray
    radii: FloatArray
    counts: FloatArray
    sums: FloatArray

    def __post_init__(self) -> None:
        n = len(self.centres)
        self._pre: FloatArray = np.array([self._optimism(ball) for ball in range(n)])
        self._low: FloatArray = np.empty(n)
        self._via: IntArray = np.empty(n, dtype=np.int64)
        context_zooming.all_least(self._pre, *self._space(), self._low, self._via)

    @classmethod
    def fresh(cls, above: int, weight: float, radius: float, distances: FloatArray) -> ContextZooming:
        """One ball of radius 1, which holds everything."""
        nowhere = np.zeros((1, above), dtype=np.int64)
        whole, nothing = np.ones(1), np.zeros(1)
        return cls(above, weight, radius, distances, nowhere, np.zeros(1, np.int64), whole, nothing, nothing.copy())

    def _space(self) -> tuple[int, float, FloatArray, IntArray, IntArray]:
        return self.above, self.weight, self.distances, self.contexts, self.centres

    def _conf(self, ball: int) -> float:
        return math.sqrt(self.radius / (1.0 + float(self.counts[ball])))

    def _optimism(self, ball: int) -> float:
        """``pre`` of a ball."""
        mean = float(self.sums[ball]) / max(float(self.counts[ball]), 1.0)
        return mean + float(self.radii[ball]) + self._conf(ball)

    @property
    def index(self) -> FloatArray:
        """I of every ball."""
        return self.radii + self._low

    def balls(self, context: IntArray) -> IntArray:
        """(items,) the ball of least radius that holds each item in this context."""
        out = np.empty(len(self.distances), dtype=np.int64)
        context_zooming.ball_of(context, *self._space(), self.radii, out)
        return out

    def tell(self, context: IntArray, item: int, reward: float) -> None:
        """Learn what an item earned in this context."""
        ball = int(self.balls(context)[item])
        self.counts[ball] += 1.0
        self.sums[ball] += reward
        self._changed(ball)
        radius = float(self.radii[ball])
        if self._conf(ball) <= radius:
            self._activate(context, item, radius / 2.0)

    def _changed(self, ball: int) -> None:
        self._pre[ball] = self._optimism(ball)
        context_zooming.changed(ball, self._pre, *self._space(), self._low, self._via)

    def _activate(self, context: IntArray, item: int, radius: float) -> None:
        self.contexts = np.vstack([self.contexts, context[None]])
        self.centres, self.radii = np.append(self.centres, item), np.append(self.radii, radius)
        self.counts, self.sums = np.append(self.counts, 0.0), np.append(self.sums, 0.0)
        self._pre, self._low = np.append(self._pre, 0.0), np.append(self._low, -math.inf)
        self._via = np.append(self._via, -1)
        self._changed(len(self.centres) - 1)
