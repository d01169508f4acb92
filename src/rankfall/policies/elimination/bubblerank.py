"""BubbleRank: improve a list that is in use, one exchange of neighbours at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, IntArray, fill, rows
from rankfall.errors import ProblemError
from rankfall.kernels import bubblerank
from rankfall.policies.policy import Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import PolicySettings, count, flag, real, wholes


@dataclass(frozen=True)
class BubbleRankSettings(PolicySettings):
    """Settings of :class:`BubbleRank`."""

    base: tuple[int, ...] | None = wholes(None)
    steps: int = count(10_000)
    delta: float | None = real(None, low=0.0, high=1.0)
    newcomers: bool = flag(False)

    def check(self) -> None:
        """Delta is above 0."""
        if self.delta == 0:
            raise ProblemError("delta must be above 0: at 0 nothing is ever exchanged for good")


class Comparison(NamedTuple):
    """What a list of BubbleRank compares; noted in the ranking."""

    parity: int
    """0 if positions 0-1, 2-3, ... were paired, 1 if 1-2, 3-4, ... were."""
    base: tuple[int, ...]
    """The base list at that time, of all items that could be shown."""
    hidden: int
    """The item below the list that the last position was paired with, or -1."""


class BubbleRank(Policy):
    """Starts from a list that is in use, and exchanges neighbours: at random to learn, for good once it is sure.

    Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari, Zoghi: BubbleRank: Safe Online Learning to Re-Rank via Implicit
    Click Feedback, UAI 2019, Algorithm 1. In their symbols, with the initial base list R_0, bR_1 = R_0, and all s and n
    zero, at step t:

    1. h = t mod 2; R_t = bR_t.
    2. For k = 1 .. floor((K - h) / 2): let i, j be the items at positions 2k - 1 + h and 2k + h of R_t; unless
       s(i, j) > 2 sqrt(n(i, j) log(1 / delta)), exchange them with probability 1/2.
    3. Show R_t; c_t(k) = 1 if position k was clicked, else 0.
    4. For the same pairs of positions, i, j as shown: where c_t differs, s(i, j) += c_t(2k - 1 + h) - c_t(2k + h),
       n(i, j) += 1, and s(j, i) = -s(i, j), n(j, i) = n(i, j).
    5. bR_t+1 = bR_t; for k = 1 .. K - 1 in turn: let i, j be the items at positions k and k + 1 of bR_t+1; if
       s(j, i) > 2 sqrt(n(j, i) log(1 / delta)), exchange them.

    delta = n^-4 for n steps. The bound is strict: with "at least", two items never compared would change places.

    Safety: each item is shown at most one position from where the base list has it, and the list has at most K / 2
    pairs in the wrong order more than the base list; and the base list gets no worse with high probability
    (the paper's lemma: at least 1 - sqrt(delta) K^2 n).

    Where this form differs:

    - t is one more than the number of updates so far, so that ``rank`` need not count. Which pairs a step compares does
      not matter, as long as it is settled before the clicks and both halves have their turn: each comparison is
      fair by its own coin. When lists are made ahead of their feedback, several in a row share a parity.
    - The parity is kept with the list (``ranking.note``), so that feedback may come late.
    - The paper re-ranks K items and shows all. Here the base list holds all items, and the first k are shown. Items
      below count as not clicked; so the one just below the list still competes with the last one, as a neighbour, and
      the rest do not. With ``newcomers`` the last position is paired with a random item from below, of those not known
      to be worse: then every item has its chance. This is ours, not the paper's, and the paper's bound
      does not cover it: still at most (k + 1) / 2 exchanges, but the last item may be replaced by any.
    - Among ``candidates``, neighbours are those of the base list without the others.

    Parameters
    ----------
    catalog : the items, or how many there are.
    base : rows, best first; those not named follow in row order. By default all in row order.
    steps : the number of steps planned, n; gives ``delta`` if that is not given.
    delta : how likely a wrong exchange may be; see above.
    newcomers : whether every item below the list may compete with the last one, and not only the next.

    Attributes
    ----------
    base : the base list bR_t, rows.

    >>> policy = BubbleRank(4, base=[2, 1], steps=100)
    >>> policy.base
    (2, 1, 0, 3)
    >>> policy.rank(4, rng=np.random.default_rng(0)).note
    Comparison(parity=1, base=(2, 1, 0, 3), hidden=-1)
    """

    Settings = BubbleRankSettings
    summary = "re-ranks a given list safely, by exchanges of neighbours"
    paper = (
        "Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari, Zoghi: BubbleRank: Safe Online Learning to Re-Rank "
        "via Implicit Click Feedback, UAI 2019, Algorithm 1"
    )
    randomised = True
    why_not_served = "it compares neighbours of a base list of its own, over one set of items"
    why_not_fixed = "neighbours are compared by exchanging their positions"

    settings: BubbleRankSettings

    def prepare(self) -> None:
        """The bound, and the base list it starts from."""
        given = self.settings.delta
        self.delta = float(self.settings.steps) ** -4.0 if given is None else given
        self._bar = -4.0 * math.log(self.delta)  # s > 2 sqrt(n log(1 / delta)) is s > 0 and s^2 > n * bar
        named = rows("base", self.settings.base or (), self.n_items, ProblemError).tolist()
        known = set(named)
        self._first_base: tuple[int, ...] = (*named, *(item for item in range(self.n_items) if item not in known))

    def begin(self) -> None:
        """The given base list, and no comparisons."""
        shape = (self.n_items, self.n_items)
        self._base = np.array(self._first_base, dtype=np.int64)
        self._wins: IntArray = np.zeros(shape, dtype=np.int64)  # how often i was clicked and j, its neighbour, was not
        self._better: BoolArray = np.zeros(shape, dtype=np.bool_)  # whether s(i, j) is above the bound
        self._settled: BoolArray = np.ones(1, dtype=np.bool_)  # whether line 5 has nothing to exchange
        self.base = self._first_base

    def __repr__(self) -> str:
        return f"BubbleRank({self.n_items} items, {self.n_updates} updates, delta={self.delta:g})"

    def s(self, i: int, j: int) -> int:
        """How much oftener i was clicked without j than j without i, when they were compared."""
        return int(self._wins[i, j] - self._wins[j, i])

    def n(self, i: int, j: int) -> int:
        """How often one of the two was clicked without the other, when they were compared."""
        return int(self._wins[i, j] + self._wins[j, i])

    def state(self) -> dict[str, NDArray[Any]]:
        """The base list; and ``wins``: a row (i, j, how often i was clicked without j) for each pair compared."""
        pairs = np.argwhere(self._wins)
        return {
            "n_updates": np.array(self._n_updates),
            "base": self._base.copy(),
            "wins": np.column_stack([pairs, self._wins[pairs[:, 0], pairs[:, 1]]]),
            "settled": np.array(self._settled[0]),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        known = self.state()
        known["wins"] = np.zeros((len(arrays["wins"]) if "wins" in arrays else 0, 3), dtype=np.int64)
        if arrays.keys() != known.keys():
            raise ValueError(f"BubbleRank needs the arrays {', '.join(known)}; got {', '.join(arrays)}")
        for name, own in known.items():
            fill(own, name, arrays[name])
        base, wins = known["base"].tolist(), known["wins"].tolist()
        if sorted(base) != list(range(self.n_items)):
            raise ValueError(f"the base list must have each of {self.n_items} rows once")
        if any(not (0 <= i < self.n_items and 0 <= j < self.n_items and i != j and n > 0) for i, j, n in wins):
            raise ValueError("pairs of rows that are not there, or counts that are not above 0")
        self.begin()
        self._n_updates, self._base = int(known["n_updates"]), known["base"]
        self.base, self._settled[0] = tuple(base), known["settled"]
        i, j, count = known["wins"].T
        self._wins[i, j] = count
        s = self._wins[i, j] - self._wins[j, i]
        self._better[i, j] = (s > 0) & (s * s > (self._wins[i, j] + self._wins[j, i]) * self._bar)

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """The first ``k`` of the base list, some neighbours exchanged at random (lines 1 and 2)."""
        base, known = self._base, self.base
        if not request.everything:
            base = base[request.allowed[base]]
            known = tuple(base.tolist())
        parity, shown = (self._n_updates + 1) % 2, np.empty(request.k, dtype=np.int64)
        coins = rng.random(self.numbers_drawn(request.k))
        hidden = bubblerank.exchange_at_random(base, self._better, self.settings.newcomers, parity, coins, shown)
        return Ranking.trusted(shown, Comparison(parity, known, hidden), self.catalog)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Count the clicks on the pairs that were compared, and exchange neighbours for good (lines 4 and 5)."""
        note = ranking.note
        if not isinstance(note, Comparison) or len(note.base) > self.n_items or note.hidden >= self.n_items:
            raise self.foreign(ranking)
        clicked = np.zeros(len(ranking), dtype=bool)
        clicked[clicks] = True
        bubblerank.compare(
            self._base,
            self._wins,
            self._better,
            self._settled,
            self._bar,
            self.settings.newcomers,
            note.parity,
            note.hidden,
            ranking.items,
            clicked,
        )
        self.base = tuple(self._base.tolist())

    def compiled_state(self, k: int, rng: np.random.Generator) -> bubblerank.BubbleRankSteps:  # noqa: ARG002
        """Exchange and compare."""
        lists = np.array([self._n_updates, -1])
        return bubblerank.BubbleRankSteps(
            self._base, self._wins, self._better, self._settled, self._bar, self.settings.newcomers, lists
        )

    def numbers_drawn(self, k: int) -> int:
        """As many for either parity: one for each pair, and one for the item below the list."""
        return k // 2 + 2

    def after_compiled(self, lists: int) -> None:
        """The base list may be another one."""
        super().after_compiled(lists)
        self.base = tuple(self._base.tolist())
