"""Ranked bandits: one bandit for each position, which learns what adds most to the positions above it."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankfall.arrays import BoolArray, FloatArray, IntArray, finite, frozen, number, whole
from rankfall.catalog import Catalog
from rankfall.errors import FeedbackError, ProblemError
from rankfall.kernels import slots
from rankfall.policies.base import BasePolicy, Size, as_shown
from rankfall.policies.kinds import Kind
from rankfall.policies.ranking import Ranking, generator

Counted: TypeAlias = Literal["first", "all"]


class Choices(NamedTuple):
    """What the bandits chose, which need not be what was shown; noted in the ranking.

    Attributes
    ----------
    items : the choice at each position, -1 where there was none to learn from.
    odds : the probability with which it was drawn, if it was drawn.
    """

    items: list[int]
    odds: list[float]


class _Ranked(BasePolicy):
    """A bandit for each of ``k`` positions, and which clicks are told to them."""

    def __init__(self, items: Size, k: int, clicks: Counted = "first") -> None:
        super().__init__(items)
        self.k = min(whole("k", k, ProblemError, low=1), self._n_items)
        if clicks not in ("first", "all"):
            raise ProblemError(f"clicks must be 'first' or 'all', got {clicks!r}")
        self.clicks: Counted = clicks

    def _learn(self, ranking: Ranking, clicks: list[int]) -> None:
        note = ranking.note
        if not isinstance(note, Choices) or len(note.items) != len(ranking):
            raise self._not_ours(ranking)
        if max(note.items) >= self._n_items:
            raise FeedbackError(f"row {max(note.items)} was chosen; rows go from 0 to {self._n_items - 1}")
        self._tell(note, ranking.items, clicks if self.clicks == "all" else clicks[:1])

    @abstractmethod
    def _tell(self, chosen: Choices, shown: IntArray, clicks: list[int]) -> None:
        """Tell the bandits what their choices earned."""


class RankedUCB1(_Ranked):
    """Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, with UCB1.

    Their Ranked Bandits Algorithm, with a bandit ``MAB_i`` over all items for each position i:

    1. For i = 1 .. k: ``MAB_i`` chooses an item. If it is shown above already, an arbitrary one that is not is shown
       instead (here: drawn uniformly).
    2. The user clicks, or not.
    3. For i = 1 .. k: ``MAB_i`` is told 1 for its choice if position i was clicked *and* shows its choice, else 0.

    ``MAB_i`` is UCB1 (Auer, Cesa-Bianchi, Fischer 2002): every item once, then the highest
    ``mean + sqrt(exploration log t / n)``, t the number of times ``MAB_i`` was told something.

    As bandit i is told of clicks that those above it did not get, the lists approach the greedy ones, whose probability
    of any click is at least 1 - 1/e of the best: few users go away without a click. UCB1 has no promise for the lower
    positions, where rewards change while the upper ones learn; the paper finds it better than EXP3 all the same.

    Where this form differs: equals are decided at random, else the bandits would explore in step and choose what is
    shown above; a bandit learns when an answer comes, which may be late or never; with ``candidates`` and ``exclude``
    bandits choose among what may be shown; positions beyond ``k`` are filled in row order and learn nothing.
    With ``clicks="all"`` every click counts, and not only the first: bandits then learn the expected number of clicks.

    Parameters
    ----------
    items : how many items there are, or a catalog of them.
    k : positions to learn.
    exploration : 2 in UCB1. (The paper's experiments may use less; we could not look it up.)
    clicks : ``"first"``, as the paper has one click a list at most, or ``"all"``.

    >>> policy = RankedUCB1(5, k=2)
    >>> shown = policy.rank(2)
    >>> policy.update(shown, 0)
    >>> float(policy.arrays()["sums"][0].sum())
    1.0
    """

    def __init__(self, items: Size, *, k: int = 10, exploration: float = 2.0, clicks: Counted = "first") -> None:
        super().__init__(items, k, clicks)
        self.exploration = number("exploration", exploration, ProblemError, low=0.0)
        self._counts: FloatArray = np.zeros((self.k, self._n_items))
        self._sums: FloatArray = np.zeros((self.k, self._n_items))
        self._plays: FloatArray = np.zeros(self.k)

    def __repr__(self) -> str:
        return f"RankedUCB1({self.n_items}, k={self.k})"

    def arrays(self) -> dict[str, FloatArray]:
        """What each position's bandit was told: how often (k, items) and how much (k, items), and in all (k)."""
        return {"counts": self._counts.copy(), "sums": self._sums.copy(), "plays": self._plays.copy()}

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        """Show what the bandits choose."""
        coins = generator(rng).random(2 * k)
        items, chosen = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
        slots.ucb_list(self._counts, self._sums, self._plays, self.exploration, self._mask(rows), coins, items, chosen)
        return as_shown(items, Choices(chosen.tolist(), []))

    def _tell(self, chosen: Choices, shown: IntArray, clicks: list[int]) -> None:
        counts, plays = self._counts, self._plays
        for position, choice in enumerate(chosen.items[: self.k]):
            if choice >= 0:
                counts[position, choice] += 1.0
                plays[position] += 1.0
        for position in clicks:
            choice = chosen.items[position]
            if choice >= 0 and choice == shown[position]:
                self._sums[position, choice] += 1.0


class RankedEXP3(_Ranked):
    """Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, with EXP3.

    The Ranked Bandits Algorithm as in :class:`RankedUCB1`, with EXP3 (Auer, Cesa-Bianchi, Freund, Schapire 2002) as
    ``MAB_i``, over L items with weights w, at first 1:

    1. ``p_a = (1 - gamma) w_a / sum(w) + gamma / L``; the choice is drawn from p.
    2. Told x for the choice a: ``w_a *= exp(gamma (x / p_a) / L)``, with the p it was drawn from. x / p_a for the
       choice and 0 for the others is an unbiased estimate of what each would have earned.

    EXP3 has its promise whatever the user does, so the lists are as good as greedy ones in the long run even where the
    upper positions still change: expected clicks are at least (1 - 1/e) OPT - O(k sqrt(T L log L)).

    Where this form differs: weights are kept as logarithms, so that they never overflow; an answer that comes late is
    weighed with the probability its choice had when it was drawn, which is noted in the ranking; with ``candidates``
    and ``exclude`` p is over what may be shown. Positions beyond ``k`` are filled in row order and learn nothing.

    Parameters
    ----------
    items : how many items there are, or a catalog of them.
    k : positions to learn.
    steps : the horizon T, from which gamma is taken if it is not given.
    gamma : share of uniform exploration; ``min(1, sqrt(L log L / ((e - 1) T)))`` if not given (Auer et al., Corollary
        3.2).
    clicks : ``"first"``, as the paper has one click a list at most, or ``"all"`` to learn the expected number of
        clicks.

    >>> policy = RankedEXP3(4, k=2, gamma=0.2)
    >>> policy.probabilities()[0]
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(
        self,
        items: Size,
        *,
        k: int = 10,
        steps: int = 10_000,
        gamma: float | None = None,
        clicks: Counted = "first",
    ) -> None:
        super().__init__(items, k, clicks)
        self.steps = whole("steps", steps, ProblemError, low=1)
        if gamma is None:
            n = self._n_items
            gamma = min(1.0, math.sqrt(n * math.log(n) / ((math.e - 1) * self.steps)))
        self.gamma = number("gamma", gamma, ProblemError, low=0.0, high=1.0)
        self._log_weights: FloatArray = np.zeros((self.k, self._n_items))

    def __repr__(self) -> str:
        return f"RankedEXP3({self.n_items}, k={self.k}, gamma={self.gamma:g})"

    def arrays(self) -> dict[str, FloatArray]:
        """Logarithm of each weight (k, items)."""
        return {"log_weights": self._log_weights.copy()}

    def probabilities(self) -> FloatArray:
        """With what probability each bandit chooses each item (k, items), where all may be shown."""
        return slots.exp3_probabilities(self._log_weights, self.gamma, self._everything)

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:
        """Show what the bandits choose."""
        coins = generator(rng).random(2 * k)
        items, chosen, odds = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64), np.empty(k)
        slots.exp3_list(self._log_weights, self.gamma, self._mask(rows), coins, items, chosen, odds)
        return as_shown(items, Choices(chosen.tolist(), odds.tolist()))

    def _tell(self, chosen: Choices, shown: IntArray, clicks: list[int]) -> None:
        """Nothing changes for those that earned nothing."""
        if len(chosen.odds) != len(chosen.items):
            raise FeedbackError("the ranking does not say with what probability its items were drawn")
        for position in clicks:
            choice = chosen.items[position]
            if choice >= 0 and choice == shown[position]:
                weights = self._log_weights[position]
                weights[choice] += self.gamma / (chosen.odds[position] * self._n_items)
                weights -= weights.max()


class RankedZooming(_Ranked):
    """Slivkins, Radlinski, Gollapudi: Ranked Bandits in Metric Spaces, ICML 2010 and JMLR 14 (2013).

    Ranked bandits for many items with a distance between them, such that similar items are relevant to the same users:
    given that nothing in the upper positions S was clicked, the probabilities of a click on x and y differ by
    ``D(x, y)`` at most. Each position has a zooming algorithm, which looks closer only where it pays. What is taken:

    - **Active items.** Only those are chosen. At first there is one, row 0.
    - **Confidence radius** of an active item chosen n times: ``r(x) = sqrt(radius / (1 + n))``, ``radius = 4 log T``.
    - **Covering condition.** Every item lies within ``r(x)`` of an active x. As soon as one does not, after an answer
      that made a radius shrink, it is activated (the first such row).
    - **Choice.** The active item with the highest index ``mean + 2 r(x)``, which bounds what any item in the ball of x
      earns.
    - **Context** (``correlated``). An item y in S was not clicked, so its conditional probability is 0, and that of x
      is ``D(x, y)`` at most; of items in the ball of x, ``D(x, y) + r(x)``. So the index is also at most
      ``D(x, y) + r(x)`` for each y shown above: what is close to it need not be tried. This is our derivation of their
      correlated form (RankCorrZoom), from the same condition.
    - **Feedback.** If position i is clicked, its bandit is told 1 and those above 0; for those below it is as if the
      round had not happened, since their rewards are conditional on no click above. If a choice is shown above already,
      the nearest item that is not is shown, and the bandit is told 0.

    Where this form differs: theirs are trees, with a subtree for a ball and a random document of it for its centre;
    here balls are in any metric and show their centre (as in Kleinberg, Slivkins, Upfal: Multi-Armed Bandits in Metric
    Spaces, STOC 2008). Their other form, where the documents above are the context of a contextual zooming algorithm,
    is not here. The constant 4 log T is from memory, as is that their experiments take 1 in its place; both can be set.

    Parameters
    ----------
    items : a catalog, whose features give the distances, or how many items there are, with ``distances``.
    k : positions to learn.
    steps : the horizon T.
    distances : (items, items), symmetric, zero from an item to itself; those of a catalog are Euclidean between rows of
        coverage and relevance, divided by the largest. Scale them by how much clicks can change with distance.
    radius : 4 log T if not given.
    correlated : whether the index takes the items above into account.

    >>> policy = RankedZooming(Catalog(relevance=[[0.0], [0.1], [1.0]]), k=2, steps=100)
    >>> policy.rank(2)
    Ranking(0, 1)
    """

    def __init__(
        self,
        items: Size,
        *,
        k: int = 10,
        steps: int = 10_000,
        distances: ArrayLike | None = None,
        radius: float | None = None,
        correlated: bool = True,
    ) -> None:
        super().__init__(items, k)
        self.steps = whole("steps", steps, ProblemError, low=2)
        self.radius = number("radius", 4.0 * math.log(self.steps) if radius is None else radius, ProblemError, low=1e-9)
        self.correlated = bool(correlated)
        self.distances = _distances(items, self._n_items, distances)
        self._counts: FloatArray = np.zeros((self.k, self._n_items))
        self._sums: FloatArray = np.zeros((self.k, self._n_items))
        self._active: BoolArray = np.zeros((self.k, self._n_items), dtype=bool)
        for position in range(self.k):
            self._cover(position)

    def __repr__(self) -> str:
        return f"RankedZooming({self.n_items}, k={self.k}, radius={self.radius:g})"

    def arrays(self) -> dict[str, Any]:
        """For each position and item (k, items): how often chosen, with how many clicks, and whether it is active."""
        return {"counts": self._counts.copy(), "sums": self._sums.copy(), "active": self._active.copy()}

    def _list(self, k: int, rows: IntArray, rng: np.random.Generator | None) -> Ranking:  # noqa: ARG002
        """Show what the bandits choose."""
        items, chosen = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
        known = self._counts, self._sums, self._active, self.distances, self.radius, self.correlated
        slots.zooming_list(*known, self._mask(rows), items, chosen)
        return as_shown(items, Choices(chosen.tolist(), []))

    def _tell(self, chosen: Choices, shown: IntArray, clicks: list[int]) -> None:
        """Only those down to the first click are told."""
        told = min(self.k, clicks[0] + 1) if clicks else self.k
        for position, choice in enumerate(chosen.items[:told]):
            if choice >= 0:
                self._counts[position, choice] += 1.0
                if position in clicks and choice == shown[position]:
                    self._sums[position, choice] += 1.0
                self._cover(position)

    def _cover(self, position: int) -> None:
        """Activate items until all are covered."""
        while (
            row := slots.uncovered(self._counts[position], self._active[position], self.distances, self.radius)
        ) >= 0:
            self._active[position, row] = True


def _distances(items: Size, n_items: int, given: ArrayLike | None) -> FloatArray:
    if given is not None:
        matrix = finite("distances", given, 2, ProblemError)
        if matrix.shape != (n_items, n_items):
            raise ProblemError(f"distances has shape {matrix.shape} for {n_items} items; one row and column for each")
        if (matrix < 0).any() or (matrix != matrix.T).any() or matrix.diagonal().any():
            raise ProblemError("distances must be symmetric, not negative, and 0 from each item to itself")
        return matrix
    if not isinstance(items, Catalog):
        raise ProblemError(f"{items} items without features need distances; give them, or a catalog")
    features = np.hstack([items.coverage, items.relevance])
    squares = np.sum(features**2, axis=1)
    matrix = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * features @ features.T, 0.0))
    matrix = 0.5 * (matrix + matrix.T)
    np.fill_diagonal(matrix, 0.0)
    if n_items > 1 and not matrix.any():
        raise ProblemError(f"the {n_items} items of the catalog have the same features; no distance tells them apart")
    scaled: FloatArray = frozen(matrix / matrix.max() if n_items > 1 else matrix)
    return scaled


_RADLINSKI = "Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008"

KINDS: tuple[Kind, ...] = (
    Kind(
        "RankedUCB1",
        summary="a UCB1 bandit for each position, so that few users leave without a click",
        paper=_RADLINSKI,
        build=RankedUCB1,
        needs=frozenset({"k"}),
    ),
    Kind(
        "RankedEXP3",
        summary="an EXP3 bandit for each position, with promises even where users change",
        paper=_RADLINSKI,
        build=RankedEXP3,
        needs=frozenset({"k", "steps"}),
    ),
    Kind(
        "RankedZooming",
        summary="a zooming bandit for each position: looks closer at similar items only where it pays",
        paper="Slivkins, Radlinski, Gollapudi: Ranked Bandits in Metric Spaces, JMLR 14 (2013)",
        build=RankedZooming,
        needs=frozenset({"k", "steps"}),
    ),
)
