"""RankedUCB1: a UCB1 bandit for each position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.arrays import BoolArray, IntArray
from rankfall.kernels import ranked, ranked_steps
from rankfall.policies.ranked.policy import Choices, Counted, RankedPolicy, RankedSettings
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import one_of, real


@dataclass(frozen=True)
class RankedUCB1Settings(RankedSettings):
    """Settings of :class:`RankedUCB1`."""

    exploration: float = real(2.0, low=0.0)
    clicks: Counted = one_of("first", "first", "all")


class RankedUCB1(RankedPolicy):
    """A UCB1 bandit for each position, so that few users leave without a click.

    Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, with UCB1: their
    Ranked Bandits Algorithm, with a bandit ``MAB_i`` over all items for each position i:

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
    shown above; a bandit learns when feedback comes, which may be late or never; with ``candidates`` and ``exclude``
    bandits choose among what may be shown; positions that are fixed, and those beyond ``k``, which are filled in row
    order, learn nothing.
    With ``clicks="all"`` every click counts, and not only the first: bandits then learn the expected number of clicks.

    Parameters
    ----------
    catalog : the items, or how many there are.
    k : positions to learn.
    exploration : 2 in UCB1. (The paper's experiments may use less; we could not look it up.)
    clicks : ``"first"``, as the paper has one click a list at most, or ``"all"``.

    >>> policy = RankedUCB1(5, k=2)
    >>> shown = policy.rank(2)
    >>> policy.update(shown, 0)
    >>> float(policy.state()["sums"][0].sum())
    1.0
    """

    Settings = RankedUCB1Settings
    summary = "a UCB1 bandit for each position, so that few users leave without a click"
    paper = "Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008"
    randomised = True

    settings: RankedUCB1Settings

    def begin(self) -> None:
        """What each position's bandit was told: how often and how much by item (k, items), and how often in all."""
        shape = (self.k, self.n_items)
        self.arrays = {"counts": np.zeros(shape), "sums": np.zeros(shape), "plays": np.zeros(self.k)}

    @property
    def _every(self) -> bool:
        """Whether the bandits are told of every click."""
        return self.settings.clicks == "all"

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """Show what the bandits choose."""
        coins = rng.random(2 * request.k)
        items, chosen = request.empty_list(), np.empty(request.k, dtype=np.int64)
        known, exploration = self.arrays, self.settings.exploration
        ranked.ucb_list(
            known["counts"], known["sums"], known["plays"], exploration, request.allowed, coins, items, chosen
        )
        return Ranking.trusted(items, Choices(chosen.tolist(), []), self.catalog)

    def tell(self, chosen: Choices, shown: IntArray, clicked: BoolArray) -> None:
        """Count every choice, and what was clicked of them."""
        known = self.arrays
        choices = np.array(chosen.items, dtype=np.int64)
        ranked_steps.ucb_tell(known["counts"], known["sums"], known["plays"], self._every, shown, choices, clicked)

    def compiled_state(self, k: int, rng: np.random.Generator) -> ranked_steps.RankedUCB1Steps:  # noqa: ARG002
        """UCB1 at each position."""
        known = self.arrays
        return ranked_steps.RankedUCB1Steps(
            known["counts"],
            known["sums"],
            known["plays"],
            self.settings.exploration,
            self._every,
            np.ones(self.n_items, dtype=bool),
            np.empty(k, dtype=np.int64),
            np.empty(self.n_items, dtype=bool),
            np.empty(self.n_items),
        )
