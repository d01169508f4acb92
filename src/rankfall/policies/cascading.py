"""Tabular cascading policies: each item has an attraction of its own, and no features.

Shared by all of them, with the papers' symbols: ``L`` items, lists of ``K``, steps ``t = 1, 2, ...``;
``T(e)`` is how often item e was observed, ``w(e)`` the share of those times it was clicked, ``U(e)`` the bound or
sample the list is ordered by.

What the papers leave open, and what we do:

- **Initialisation.** The papers take one observation of every item for granted before step 1, and do not count its
  cost. Here an item that was never observed has an infinite bound, so it stands above all that were, in the order of
  rows. Lists of K then observe every item once within L steps at most (within L / K when nobody clicks), and the
  regret of these steps counts.
- **Ties** go to the lower row.
- **Time.** ``t`` is one more than the number of answers learned from. An answer that comes late is learned from as if
  it had come on time; one that never comes leaves t, and everything else, as it is.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, fill, finite, number, whole
from rankfall.errors import ProblemError
from rankfall.kernels import bounds
from rankfall.policies.base import Size
from rankfall.policies.kinds import Kind
from rankfall.policies.ranking import generator
from rankfall.policies.tabular import TabularPolicy


class CascadeUCB1(TabularPolicy):
    """Orders items by UCB1 bounds of their attraction.

    Kveton, Szepesvári, Wen, Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015, Algorithm 1
    with the bound of CascadeUCB1::

        for all t = 1, ..., n:
            for all items e:  U_t(e) = w(e) + c_{t-1, T(e)},   c_{t, s} = sqrt(1.5 log(t) / s)
            A_t = the K items with the largest U_t(e), in decreasing order
            show A_t, observe the click C_t in {1, ..., K, none}
            for k = 1, ..., min(C_t, K):   e = the k-th item of A_t
                T(e) += 1,   w(e) = ((T(e) - 1) w(e) + 1{C_t = k}) / T(e)

    Where ours differs: initialisation and ties, as said at the top of :mod:`rankfall.policies.cascading`. Bounds are
    not cut off at 1, as in the paper.

    Parameters
    ----------
    items : how many, or a catalog.
    exploration : the factor 1.5 under the root.

    >>> policy = CascadeUCB1(4)
    >>> policy.update(policy.rank(2), 1)
    >>> policy.rank(3)
    Ranking(2, 3, 1)
    """

    def __init__(self, items: Size, *, exploration: float = 1.5) -> None:
        super().__init__(items)
        self.exploration = number("exploration", exploration, ProblemError, low=0.0)

    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:  # noqa: ARG002
        budget = self.exploration * math.log(max(self._n_updates, 1))
        bounds.width_list(rows, self._observed, self._clicked, budget, items, scores)


class CascadeKLUCB(TabularPolicy):
    """Orders items by KL-UCB bounds of their attraction.

    Kveton, Szepesvári, Wen, Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015, Algorithm 1
    with the bound of CascadeKL-UCB; all lines as in :class:`CascadeUCB1` but for::

            for all items e:  U_t(e) = max{q in [w(e), 1] : T(e) D_KL(w(e) || q) <= log t + 3 log log t}

    D_KL is the divergence of two coins, ``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``: U_t(e) is the largest
    attraction under which what was seen of the item would not yet be too surprising. It is much closer to w(e) than
    UCB1's bound where attraction is small. It is found by Newton's method to the last bits of a double.

    Where ours differs: initialisation and ties, as said at the top of :mod:`rankfall.policies.cascading`; and
    ``log log t``, which is negative or undefined for t < e, is 0 there.

    Parameters
    ----------
    items : how many, or a catalog.
    exploration : the factor 3 of ``log log t``; in practice 0 often does better.

    >>> policy = CascadeKLUCB(4)
    >>> policy.update(policy.rank(2), 1)
    >>> policy.rank(3)
    Ranking(2, 3, 1)
    """

    def __init__(self, items: Size, *, exploration: float = 3.0) -> None:
        super().__init__(items)
        self.exploration = number("exploration", exploration, ProblemError, low=0.0)

    def upper_bounds(self) -> FloatArray:
        """U_t(e) of every item; infinite if it was never observed."""
        out = np.empty(self._n_items)
        bounds.kl_bounds(self._observed, self._clicked, _kl_budget(self._n_updates, self.exploration), out)
        return out

    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:  # noqa: ARG002
        budget = _kl_budget(self._n_updates, self.exploration)
        bounds.kl_list(rows, self._observed, self._clicked, budget, items, scores)


def _kl_budget(n_updates: int, exploration: float) -> float:
    """``log t + exploration * log log t`` at ``t = n_updates + 1``."""
    log = math.log(n_updates + 1)
    return log + exploration * math.log(max(log, 1.0))


class CascadeTS(TabularPolicy):
    """Orders items by a sample of each one's Beta posterior.

    Thompson sampling with Beta-Bernoulli updates: Zhong, Cheung, Tan: Thompson Sampling Algorithms for Cascading
    Bandits, JMLR 2021, where it is analysed under the name CTS (after Hüyük, Tekin, AISTATS 2019). It is not TS-Cascade
    of Cheung, Tan, Zhong (AISTATS 2019), which draws one Gaussian number for all items::

        alpha(e) = beta(e) = 1 for all items e
        for all t = 1, ..., T:
            for all items e:  theta_t(e) ~ Beta(alpha(e), beta(e)), independently
            A_t = the K items with the largest theta_t(e), in decreasing order
            show A_t, observe the click C_t in {1, ..., K, none}
            for k = 1, ..., min(C_t, K):   e = the k-th item of A_t
                alpha(e) += 1{C_t = k},   beta(e) += 1{C_t != k}

    Where ours differs: nowhere. A Beta sample is made of two Gamma samples, ``g / (g + h)``, which takes a third of the
    time; all items are sampled, also where few are eligible, so that the same ``rng`` gives the same samples.

    Parameters
    ----------
    items : how many, or a catalog.
    prior : alpha and beta of every item before anything was seen.

    >>> policy = CascadeTS(4)
    >>> policy.rank(2, rng=np.random.default_rng(1))
    Ranking(2, 0)
    """

    def __init__(self, items: Size, *, prior: tuple[float, float] = (1.0, 1.0)) -> None:
        super().__init__(items)
        pair = finite("prior", prior, 1, ProblemError)
        if pair.shape != (2,) or not (pair > 0).all():
            raise ProblemError(f"prior must be two numbers above 0, alpha and beta, got {prior!r}")
        self.prior = (float(pair[0]), float(pair[1]))

    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:
        shapes = np.empty((2, self._n_items))
        bounds.posterior(self._observed, self._clicked, *self.prior, shapes)
        bounds.share_list(rows, generator(rng).standard_gamma(shapes), items, scores)


class CascadeDUCB(TabularPolicy):
    """Orders items by discounted UCB: follows users who change.

    Li, de Rijke: Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI
    2019, CascadeDUCB, after the discounted UCB of Garivier and Moulines (2011); with ``o_s(e)`` for "e was observed at
    step s" and ``r_s(e)`` for "and clicked"::

        for all t = 1, ..., n:
            for all items e:
                N_t(e) = sum_{s < t} gamma^(t - 1 - s) o_s(e)
                X_t(e) = sum_{s < t} gamma^(t - 1 - s) r_s(e) / N_t(e)
                c_t(e) = 2 sqrt(epsilon log(N_t) / N_t(e)),   N_t = (1 - gamma^(t - 1)) / (1 - gamma)
                U_t(e) = X_t(e) + c_t(e)
            A_t = the K items with the largest U_t(e), in decreasing order
            show A_t, observe the click; items down to the first click are observed

    With their ``gamma = 1 - 1 / (4 sqrt(n))`` and ``epsilon = 0.5``. The form of c_t and N_t was written down from
    memory of the paper and agrees with Garivier and Moulines, but for their ``N_t = sum_e N_t(e)``.

    Where ours differs: initialisation and ties, as said at the top of :mod:`rankfall.policies.cascading`; sums are
    carried on from step to step (``N = gamma N + o``), which is the same number. An answer counts as of when it is
    learned from, not of when its list was shown.

    Parameters
    ----------
    items : how many, or a catalog.
    steps : the horizon n, for the paper's discount.
    discount : gamma in (0, 1), if not the paper's.
    epsilon : exploration.

    >>> CascadeDUCB(4, steps=10_000).discount
    0.9975
    """

    def __init__(
        self, items: Size, *, steps: int | None = None, discount: float | None = None, epsilon: float = 0.5
    ) -> None:
        super().__init__(items)
        if discount is None:
            discount = 1.0 - 1.0 / (4.0 * math.sqrt(_horizon("CascadeDUCB", steps, "discount")))
        self.discount = number("discount", discount, ProblemError, low=0.0, high=1.0)
        if not 0.0 < self.discount < 1.0:
            raise ProblemError(f"discount must lie between 0 and 1, got {discount!r}; CascadeUCB1 forgets nothing")
        self.epsilon = number("epsilon", epsilon, ProblemError, low=0.0)
        self._weight = 0.0

    def arrays(self) -> dict[str, FloatArray | IntArray]:
        """All it has learned, by name: a copy."""
        return {**super().arrays(), "weight": np.array(self._weight)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        weight, counts = np.array(0.0), dict(arrays)
        fill(weight, "weight", counts.pop("weight", np.empty(0)))
        super().restore(counts)
        self._weight = float(weight)

    def seeing(self, other: TabularPolicy, rows: IntArray, size: int) -> Self:
        """See :meth:`TabularPolicy.seeing`; the other must fade as well."""
        twin = super().seeing(other, rows, size)
        assert isinstance(other, CascadeDUCB)
        twin._weight = other._weight
        return twin

    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:  # noqa: ARG002
        budget = 4.0 * self.epsilon * math.log(max(self._weight, 1.0))
        bounds.width_list(rows, self._observed, self._clicked, budget, items, scores)

    def _count(self, items: IntArray, clicks: list[int]) -> None:
        bounds.fade(self.discount, self._observed, self._clicked)
        self._weight = self.discount * self._weight + 1.0
        super()._count(items, clicks)


class CascadeSWUCB(TabularPolicy):
    """Orders items by UCB over the last lists only: follows users who change.

    Li, de Rijke: Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI
    2019, CascadeSWUCB, after the sliding-window UCB of Garivier and Moulines (2011); with ``o_s(e)`` for "e was
    observed at step s" and ``r_s(e)`` for "and clicked"::

        for all t = 1, ..., n:
            for all items e:
                N_t(e) = sum over the last tau steps s of o_s(e)
                X_t(e) = sum over the last tau steps s of r_s(e) / N_t(e)
                c_t(e) = sqrt(epsilon log(min(t - 1, tau)) / N_t(e))
                U_t(e) = X_t(e) + c_t(e)
            A_t = the K items with the largest U_t(e), in decreasing order
            show A_t, observe the click; items down to the first click are observed

    With their ``tau = 2 sqrt(n log n)``, rounded, and ``epsilon = 0.5``. The form of c_t was written down from memory
    of the paper and agrees with Garivier and Moulines.

    Where ours differs: initialisation and ties, as said at the top of :mod:`rankfall.policies.cascading`. An item not
    observed within the window is as if it had never been. The window holds the answers last learned from, in the order
    they came in.

    Parameters
    ----------
    items : how many, or a catalog.
    steps : the horizon n, for the paper's window.
    window : tau, from 1 on, if not the paper's.
    epsilon : exploration.

    >>> CascadeSWUCB(4, steps=10_000).window
    607
    """

    def __init__(
        self, items: Size, *, steps: int | None = None, window: int | None = None, epsilon: float = 0.5
    ) -> None:
        super().__init__(items)
        if window is None:
            n = _horizon("CascadeSWUCB", steps, "window")
            window = max(1, round(2.0 * math.sqrt(n * math.log(n))))
        self.window = whole("window", window, ProblemError, low=1)
        self.epsilon = number("epsilon", epsilon, ProblemError, low=0.0)
        self._recent: deque[tuple[IntArray, int, int]] = deque()  # items, how many were observed, position clicked
        self._lately = 0  # how many these are

    def arrays(self) -> dict[str, FloatArray | IntArray]:
        """All it has learned, by name: a copy. ``window`` has a row for each answer, oldest first, padded with -1."""
        longest = max((seen for _, seen, _ in self._recent), default=0)
        window = np.full((len(self._recent), longest), -1, dtype=np.int64)
        for row, (items, seen, _) in zip(window, self._recent, strict=True):
            row[:seen] = items[:seen]
        hits = np.array([hit for _, _, hit in self._recent], dtype=np.int64)
        return {**super().arrays(), "window": window, "hits": hits}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        counts = dict(arrays)
        window, hits = (counts.pop(name, np.empty(0)) for name in ("window", "hits"))
        if window.ndim != 2 or hits.shape != window.shape[:1] or len(window) > self.window:
            raise ValueError(f"{len(window)} answers and {len(hits)} clicks for a window of {self.window}")
        if window.dtype != np.int64 or hits.dtype != np.int64 or (window >= self._n_items).any():
            raise ValueError("the window has items that are not there")
        lists = [(row[row >= 0], hit) for row, hit in zip(window, hits.tolist(), strict=True)]
        if not all(len(items) and -1 <= hit < len(items) for items, hit in lists):
            raise ValueError("the window has answers without items, or clicks that are not there")
        super().restore(counts)
        self._recent.clear()
        self._recent.extend((items, len(items), hit) for items, hit in lists)
        self._lately = len(lists)

    def seeing(self, other: TabularPolicy, rows: IntArray, size: int) -> Self:
        """See :meth:`TabularPolicy.seeing`; the other must have a window as well."""
        twin = super().seeing(other, rows, size)
        assert isinstance(other, CascadeSWUCB)
        twin._lately = other._lately
        return twin

    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:  # noqa: ARG002
        budget = self.epsilon * math.log(max(self._lately, 1))
        bounds.width_list(rows, self._observed, self._clicked, budget, items, scores)

    def _count(self, items: IntArray, clicks: list[int]) -> None:
        if len(self._recent) == self.window:
            bounds.observe(*self._recent.popleft(), -1.0, self._observed, self._clicked)
        super()._count(items, clicks)
        self._recent.append((items, clicks[0] + 1 if clicks else len(items), clicks[0] if clicks else -1))
        self._lately = len(self._recent)


def _horizon(name: str, steps: int | None, instead: str) -> int:
    if steps is None:
        raise ProblemError(f"{name} needs steps, the horizon its paper sets {instead} by, or {instead} itself")
    return whole("steps", steps, ProblemError, low=1)


class DCMKLUCB(TabularPolicy):
    """Learns from several clicks: KL-UCB bounds where users click on until they are satisfied.

    Katariya, Kveton, Szepesvári, Wen: DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016, dcmKL-UCB. In the
    dependent click model the user clicks every attractive item and after a click at position k leaves, satisfied, with
    probability ``v(k)``. Attraction is learned, the order of the v(k) is known::

        for all t = 1, ..., n:
            for all items e:  U_t(e) = max{q in [w(e), 1] : T(e) D_KL(w(e) || q) <= log t + 3 log log t}
            A_t = argmax f(A, U_t, v): the K items with the largest U_t(e), the largest of them at the position with
                the highest v(k), the next at the position with the next highest, ...
            show A_t, observe the clicks c_t in {0, 1}^K
            C_last = the last position clicked, or K without a click
            for k = 1, ..., C_last:   e = the k-th item of A_t
                T(e) += 1,   w(e) = ((T(e) - 1) w(e) + c_t(k)) / T(e)

    Below the last click nothing is known: the user may have left satisfied, or found nothing more attractive.

    Where ours differs: initialisation, ties and ``log log t`` as in :class:`CascadeKLUCB`.

    Parameters
    ----------
    items : how many, or a catalog.
    termination : v(k) for each position, or any numbers in the same order; None if it never rises from one position
        to the next, so that lists are in decreasing order of U. Positions beyond those given come last.
    exploration : the factor 3 of ``log log t``.

    >>> policy = DCMKLUCB(4)
    >>> policy.update(policy.rank(3), [0, 1])
    >>> policy.arrays()["observed"]
    array([1., 1., 0., 0.])
    >>> policy.rank(4)
    Ranking(2, 3, 0, 1)
    >>> DCMKLUCB(4, termination=[0.2, 0.9, 0.5]).rank(3)
    Ranking(2, 0, 1)
    """

    def __init__(self, items: Size, *, termination: Iterable[float] | None = None, exploration: float = 3.0) -> None:
        super().__init__(items)
        self.exploration = number("exploration", exploration, ProblemError, low=0.0)
        given = [] if termination is None else list(termination)
        self.termination = tuple(finite("termination", given, 1, ProblemError).tolist())
        falling = all(a >= b for a, b in zip(self.termination, self.termination[1:], strict=False))
        self._reordered = not falling

    def _place(self, rows: IntArray, items: IntArray, scores: FloatArray, rng: np.random.Generator | None) -> None:  # noqa: ARG002
        budget = _kl_budget(self._n_updates, self.exploration)
        bounds.kl_list(rows, self._observed, self._clicked, budget, items, scores)
        if self._reordered:
            known = np.array(self.termination[: len(items)])
            order = np.arange(len(items))
            order[: len(known)] = np.argsort(-known, kind="stable")
            items[order] = items.copy()
            scores[order] = scores.copy()

    def _count(self, items: IntArray, clicks: list[int]) -> None:
        seen = clicks[-1] + 1 if clicks else len(items)
        bounds.observe(items, seen, -1, 1.0, self._observed, self._clicked)
        for position in clicks:
            self._clicked[items[position]] += 1.0


_CASCADING = "Kveton et al.: Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015"
_CHANGING = "Li, de Rijke: Cascading Non-Stationary Bandits, IJCAI 2019"

KINDS: tuple[Kind, ...] = (
    Kind("CascadeUCB1", "attraction by item, UCB1 bounds", _CASCADING, CascadeUCB1),
    Kind("CascadeKLUCB", "attraction by item, KL-UCB bounds", _CASCADING, CascadeKLUCB),
    Kind(
        "CascadeTS",
        "attraction by item, Thompson sampling",
        "Zhong, Cheung, Tan: Thompson Sampling Algorithms for Cascading Bandits, JMLR 2021 (CTS)",
        CascadeTS,
    ),
    Kind("CascadeDUCB", "UCB1 that forgets by discounting", _CHANGING, CascadeDUCB, frozenset({"steps"})),
    Kind("CascadeSWUCB", "UCB1 over a sliding window", _CHANGING, CascadeSWUCB, frozenset({"steps"})),
    Kind(
        "DCMKLUCB",
        "attraction by item, learned from several clicks",
        "Katariya et al.: DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016",
        DCMKLUCB,
    ),
)
