"""MergeDTS: finds the best of many rankers by comparing within small batches, which are merged as rankers drop out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, IntArray
from rankfall.compare.duels import Duels, Method, any_best, sampled_wins
from rankfall.errors import ProblemError
from rankfall.policies.settings import count, real


@dataclass(frozen=True)
class MergeDTS(Method):
    """Merge double Thompson sampling: for many rankers, one of which is preferred to every other one.

    Li, Markov, de Rijke, Zoghi: MergeDTS: A Method for Effective Large-Scale Online Ranker Evaluation, ACM TOIS 2020.
    With K rankers, ``w_ij`` wins of i over j, ``n_ij = w_ij + w_ji``, and t the comparisons of the present stage::

        cut the rankers into random batches of M;  stage S = 1
        for each comparison:
            B = the batches in turn
            while B has one ranker and is not alone: merge it with the next batch
            u_ij = (w_ij + 1) / (n_ij + 2) + sqrt(alpha log(C + 1 + t) / (n_ij + 2))   for i, j in B
            while some i has u_ij < 1/2 for some j: i is out                           (and merge as above)
            theta_ij ~ Beta(w_ij + 1, w_ji + 1) for i < j in B,   theta_ji = 1 - theta_ij
            first  = the one with the most j for which theta_ij > 1/2, equals at random
            theta_j ~ Beta(w_j,first + 1, w_first,j + 1)
            second = the j with the lowest theta_j: the one most likely to drop out next
            compare them
            if K / 2^S + 1 rankers are left, or fewer, in more than one batch:
                merge small batches with large ones, as long as they have 1.5 M rankers at most; S += 1, t = 0

        C = ((4 alpha - 1) K^2 / ((2 alpha - 1) epsilon))^(1 / (2 alpha - 1))

    Few pairs are ever compared: each ranker with those of its batch only, and most drop out at once. With
    ``alpha > 0.5`` the best ranker drops out with probability ``epsilon`` at most.

    The algorithm and its constants (alpha = 1.01, M = 4, epsilon = 0.01; for practice alpha = 0.8^6 = 0.262, C =
    400,000 and M = 16, without a guarantee) are those of the authors' public code; the text of the paper was not at
    hand. Where our form differs:

    - The code draws theta_ij and theta_ji apart; here they add up to 1, as in double Thompson sampling. Only whether
      theta_ij is above 1/2 is drawn, with the probability that this has.
    - Of several who are out, the code puts one aside at random and looks again; here the one that is out by most others
      goes first, of equals the first one, so that feedback draws nothing. Batches are drawn from ``seed``.
    - Comparisons need not end with a winner and a loser: preferences may be shared, and ties are passed over.
    - Feedback that comes late counts, also for rankers who are out; they do not come back.

    Attributes
    ----------
    batch : M, rankers in a batch.
    alpha : how wide the bounds are.
    epsilon : how likely the best may drop out, for C.
    c : C, if not what follows from epsilon.
    seed : decides on the batches.

    >>> round(MergeDTS().constant(10))
    24352
    """

    batch: int = count(4, low=2)
    alpha: float = real(1.01, low=1e-9)
    epsilon: float = real(0.01, low=1e-12, high=1.0)
    c: float | None = real(None, low=1.0)
    seed: int = count(0, low=0)

    def check(self) -> None:
        """Without C, alpha is above 0.5."""
        if self.c is None and self.alpha <= 0.5:
            raise ProblemError(f"alpha must be above 0.5, got {self.alpha!r}; for less give c, such as 400000")

    def constant(self, n: int) -> float:
        """C for n rankers."""
        if self.c is not None:
            return self.c
        twice = 2.0 * self.alpha - 1.0
        try:
            return float(((4.0 * self.alpha - 1.0) * n**2 / (twice * self.epsilon)) ** (1.0 / twice))
        except OverflowError:
            told = f"alpha {self.alpha:g} is so close to 0.5 that C overflows for {n} rankers; raise it, or give c"
            raise ProblemError(told) from None

    def begin(self, n: int) -> dict[str, NDArray[Any]]:
        """The batch of each ranker (-1: out), the stage, comparisons in it, and the batch whose turn it is."""
        self.constant(n)  # an alpha that does not do is refused here, not at the first click
        batches = np.empty(n, dtype=np.int64)
        batches[np.random.default_rng([self.seed, 0]).permutation(n)] = np.arange(n) // self.batch
        arrays = {"batch": batches, "stage": np.array(1), "since": np.array(0), "turn": np.array(0)}
        _Batches(arrays).merge_single()
        return arrays

    def left(self, duels: Duels) -> BoolArray:
        """(n,) who is in a batch."""
        inside: BoolArray = duels.arrays["batch"] >= 0
        return inside

    def choose(self, duels: Duels, rng: np.random.Generator) -> tuple[int, ...]:
        """One that is likely to be the best of the batch whose turn it is, and the one that it most likely beats."""
        rankers = _Batches(duels.arrays).present()
        if len(rankers) == 1:
            return (int(rankers[0]),)
        wins = duels.wins[np.ix_(rankers, rankers)]
        first = any_best(sampled_wins(wins, rng), rng)
        against = rng.beta(1.0 + wins[:, first], 1.0 + wins[first])
        against[first] = 1.0
        second = int(np.argmin(against))
        return int(rankers[first]), int(rankers[second])

    def settle(self, duels: Duels) -> None:
        """Merge batches when enough rankers have dropped out; then see who drops out of the next one."""
        known = duels.arrays
        known["since"] += 1
        batches = _Batches(known)
        stage = int(known["stage"])
        if batches.left <= duels.n // 2**stage + 1 and batches.number > 1:
            batches.merge_all(self.batch, np.random.default_rng([self.seed, stage]))
            known["stage"] += 1
            known["since"][...] = 0
        known["turn"][...] = int(known["since"]) % batches.number
        batches.merge_single()
        while (out := self._next_out(duels, batches.present())) is not None:
            known["batch"][out] = -1
            batches.merge_single()

    def _next_out(self, duels: Duels, rankers: IntArray) -> int | None:
        """Who is to be put aside, if anyone."""
        wins = duels.wins[np.ix_(rankers, rankers)]
        n = wins + wins.T + 2.0
        width = math.sqrt(self.alpha * math.log(self.constant(duels.n) + 1.0 + int(duels.arrays["since"])))
        high = (wins + 1.0) / n + width / np.sqrt(n)
        np.fill_diagonal(high, 0.5)
        losses = (high < 0.5).sum(axis=1)
        return int(rankers[np.argmax(losses)]) if losses.any() else None


class _Batches:
    """The batches in the arrays of a comparison: numbered from 0 without a gap."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._of, self._turn = arrays["batch"], arrays["turn"]

    @property
    def number(self) -> int:
        return int(self._of.max()) + 1

    @property
    def left(self) -> int:
        return int(np.count_nonzero(self._of >= 0))

    def present(self) -> IntArray:
        """The rankers of the batch whose turn it is, ascending."""
        return np.flatnonzero(self._of == self._turn)

    def merge_single(self) -> None:
        """Merge the batch whose turn it is with the next one as long as it has one ranker and is not alone."""
        while self.number > 1 and len(self.present()) == 1:
            turn = int(self._turn)
            following = (turn + 1) % self.number
            self._of[self._of == turn] = following
            self._of[self._of > turn] -= 1
            self._turn[...] = following - (following > turn)

    def merge_all(self, size: int, rng: np.random.Generator) -> None:
        """Merge the smallest with the largest up to 1.5 ``size`` rankers; once more if one has half of it or less."""
        self._merge_pairs(size, rng)
        if np.bincount(self._of[self._of >= 0]).min() <= 0.5 * size:
            self._merge_pairs(size, rng)

    def _merge_pairs(self, size: int, rng: np.random.Generator) -> None:
        sizes = np.bincount(self._of[self._of >= 0])
        shuffled = rng.permutation(len(sizes))
        order = shuffled[np.argsort(sizes[shuffled], kind="stable")].tolist()
        new, number = np.full(len(sizes) + 1, -1), 0  # the last is for those that are out
        small, large = 0, len(order) - 1
        while small <= large:
            new[order[large]] = number
            if small < large and sizes[order[small]] + sizes[order[large]] <= 1.5 * size:
                new[order[small]] = number
                small += 1
            large -= 1
            number += 1
        self._of[...] = new[self._of]
