"""The policies in plain NumPy, as a good programmer would write them: what our speed is measured against.

No loop over items, no array allocated twice, one block update for all items of a list. It learns and ranks as the
paper says, and the tests hold it to the same specification as the kernels.
"""

from __future__ import annotations

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.policies import LinearPolicy
from rankfall.users import CascadeUser


class PlainNumPy:
    """A linear policy and a simulated user in plain NumPy."""

    def __init__(self, policy: LinearPolicy, user: CascadeUser, k: int) -> None:
        catalog = policy.catalog
        blocks = {"coverage": catalog.coverage, "relevance": catalog.relevance}
        used = [(block, getattr(policy, name)) for name, block in blocks.items() if getattr(policy, name) != "absent"]
        self.base = np.ascontiguousarray(np.hstack([block for block, _ in used]))
        # The columns that diminish come first or are all of them (coverage, then relevance).
        self.n_diminishing = sum(block.shape[1] for block, kind in used if kind == "diminishing")
        self.gamma, self.k = policy.gamma, k
        n, columns = self.base.shape
        self.gram, self.covariance = np.eye(columns), np.eye(columns)
        self.moment, self.weights = np.zeros(columns), np.zeros(columns)
        self._features, self._product = self.base.copy(), np.empty((n, columns))
        self._scores, self._means = np.empty(n), np.empty(n)
        hybrid = user.attraction
        self.coverage = hybrid.coverage
        self.appeal = hybrid.tradeoff * (hybrid.relevance @ hybrid.beta)
        self.theta = (1 - hybrid.tradeoff) * hybrid.theta
        self.items: IntArray = np.empty(k, dtype=np.int64)
        self.features = np.empty((k, columns))
        self.best = user.reward(user.best(k))

    def _score(self) -> FloatArray:
        """UCB of every item: phi . w + gamma sqrt(phi' P phi)."""
        np.matmul(self._features, self.covariance, out=self._product)
        np.einsum("ij,ij->i", self._product, self._features, out=self._scores)
        np.sqrt(self._scores, out=self._scores)
        self._scores *= self.gamma
        np.matmul(self._features, self.weights, out=self._means)
        self._scores += self._means
        return self._scores

    def rank(self) -> None:
        """Fill ``items`` and ``features``."""
        n, k = self.n_diminishing, self.k
        if n == 0:
            scores = self._score()
            top = np.argpartition(-scores, k - 1)[:k]
            self.items[:] = top[np.lexsort((top, -scores[top]))]
            np.take(self.base, self.items, axis=0, out=self.features)
            return
        left = np.ones(n)
        for position in range(k):
            np.multiply(self.base[:, :n], left, out=self._features[:, :n])
            scores = self._score()
            scores[self.items[:position]] = -np.inf
            chosen = scores.argmax()
            self.items[position] = chosen
            self.features[position] = self._features[chosen]
            left *= 1.0 - self.base[chosen, :n]

    def step(self, coins: FloatArray) -> tuple[float, int]:
        """One list shown and learned from; gives the regret and the position of the click, or -1."""
        self.rank()
        x = self.coverage[self.items]
        left = np.ones_like(x)
        np.cumprod(1.0 - x[:-1], axis=0, out=left[1:])
        alpha = np.clip(self.appeal[self.items] + (left * x) @ self.theta, 0.0, 1.0)
        hits = np.flatnonzero(coins < alpha)
        click = int(hits[0]) if len(hits) else -1
        seen = self.features[: click + 1] if click >= 0 else self.features
        self.gram += seen.T @ seen
        gain = self.covariance @ seen.T
        inner = np.eye(len(seen)) + seen @ gain
        self.covariance -= gain @ np.linalg.solve(inner, gain.T)
        if click >= 0:
            self.moment += self.features[click]
        np.matmul(self.covariance, self.moment, out=self.weights)
        return float(self.best - (1.0 - np.prod(1.0 - alpha))), click
