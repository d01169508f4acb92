"""RankedEXP3: an EXP3 bandit for each position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankfall.arrays import BoolArray, FloatArray, IntArray
from rankfall.errors import FeedbackError
from rankfall.kernels import ranked, ranked_steps
from rankfall.policies.ranked.policy import Choices, Counted, RankedPolicy, RankedSettings
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request
from rankfall.policies.settings import count, one_of, real


@dataclass(frozen=True)
class RankedEXP3Settings(RankedSettings):
    """Settings of :class:`RankedEXP3`."""

    steps: int = count(10_000)
    exploration: float | None = real(None, low=0.0, high=1.0)
    clicks: Counted = one_of("first", "first", "all")
    estimates: Literal["rewards", "losses"] = one_of("rewards", "rewards", "losses")


class RankedEXP3(RankedPolicy):
    """An EXP3 bandit for each position, with guarantees even where users change.

    Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, with EXP3. The Ranked
    Bandits Algorithm as in :class:`RankedUCB1`, with EXP3 (Auer, Cesa-Bianchi, Freund, Schapire 2002) as
    ``MAB_i``, over L items with weights w, at first 1:

    1. ``p_a = (1 - gamma) w_a / sum(w) + gamma / L``; the choice is drawn from p.
    2. Told x for the choice a: ``w_a *= exp(gamma (x / p_a) / L)``, with the p it was drawn from. x / p_a for the
       choice and 0 for the others is an unbiased estimate of what each would have earned.

    Two forms of EXP3 are in use. ``estimates="rewards"`` is the one above, of the paper that EXP3 comes from.
    ``estimates="losses"`` is the one of the public code of BatchRank's authors (PyClickLambdas), who compare with it in
    their paper: nothing is mixed in, ``p = w / sum(w)``, and a choice a that earned nothing has its loss estimated,
    ``w_a *= exp(-eta / p_a)``, ``eta = sqrt(2 log L / (T L))``. In that code every click counts: ``clicks="all"``. It
    loses less where users do not change (docs/field.md).

    EXP3 has its guarantee whatever the user does, so the lists are as good as greedy ones in the long run even where
    the upper positions still change: expected clicks are at least (1 - 1/e) OPT - O(k sqrt(T L log L)).

    Where this form differs: weights are kept as logarithms, so that they never overflow; late feedback is weighed with
    the probability its choice had when it was drawn, which is noted in the ranking; with ``candidates``
    and ``exclude`` p is over what may be shown. Positions beyond ``k`` are filled in row order and learn nothing.

    Parameters
    ----------
    catalog : the items, or how many there are.
    k : positions to learn.
    steps : the horizon T, from which the share of exploration follows if it is not given.
    exploration : gamma, the share of uniform exploration; ``min(1, sqrt(L log L / ((e - 1) T)))`` if not given (Auer et
        al., Corollary 3.2). With ``estimates="losses"`` it is eta.
    clicks : ``"first"``, as the paper has one click a list at most, or ``"all"`` to learn the expected number of
        clicks.
    estimates : what is estimated of a choice, ``"rewards"`` or ``"losses"``.

    >>> policy = RankedEXP3(4, k=2, exploration=0.2)
    >>> policy.probabilities()[0]
    array([0.25, 0.25, 0.25, 0.25])
    """

    Settings = RankedEXP3Settings
    summary = "an EXP3 bandit for each position, with guarantees even where users change"
    paper = "Radlinski, Kleinberg, Joachims: Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008"
    randomised = True

    settings: RankedEXP3Settings

    def prepare(self) -> None:
        """The share of uniform exploration, or how fast weights fall with losses."""
        super().prepare()
        n, given, steps = self.n_items, self.settings.exploration, self.settings.steps
        self._losses = self.settings.estimates == "losses"
        if self._losses:
            usual = math.sqrt(2.0 * math.log(n) / (n * steps))
        else:
            usual = min(1.0, math.sqrt(n * math.log(n) / ((math.e - 1) * steps)))
        self.exploration = usual if given is None else given
        self._mixed = 0.0 if self._losses else self.exploration

    def begin(self) -> None:
        """The logarithm of each weight (k, items)."""
        self.arrays = {"log_weights": np.zeros((self.k, self.n_items))}

    @property
    def _every(self) -> bool:
        """Whether the bandits are told of every click."""
        return self.settings.clicks == "all"

    def probabilities(self) -> FloatArray:
        """With what probability each bandit chooses each item (k, items), where all may be shown."""
        everything = np.ones(self.n_items, dtype=bool)
        return ranked.exp3_probabilities(self.arrays["log_weights"], self._mixed, everything)

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """Show what the bandits choose."""
        coins = rng.random(2 * request.k)
        items, chosen, odds = request.empty_list(), np.empty(request.k, dtype=np.int64), np.empty(request.k)
        ranked.exp3_list(self.arrays["log_weights"], self._mixed, request.allowed, coins, items, chosen, odds)
        return Ranking.trusted(items, Choices(chosen.tolist(), odds.tolist()), self.catalog)

    def tell(self, chosen: Choices, shown: IntArray, clicked: BoolArray) -> None:
        """Raise the weights of what was clicked, or lower those of what was not."""
        if len(chosen.odds) != len(chosen.items):
            raise FeedbackError("the ranking does not say with what probability its items were drawn")
        choices, odds = np.array(chosen.items, dtype=np.int64), np.array(chosen.odds, dtype=np.float64)
        known, rate = self.arrays["log_weights"], self.exploration
        ranked_steps.exp3_tell(known, rate, self._losses, self._every, shown, choices, odds, clicked)

    def compiled_state(self, k: int, rng: np.random.Generator) -> ranked_steps.RankedEXP3Steps:  # noqa: ARG002
        """EXP3 at each position."""
        return ranked_steps.RankedEXP3Steps(
            self.arrays["log_weights"],
            self._mixed,
            self.exploration,
            self._losses,
            self._every,
            np.ones(self.n_items, dtype=bool),
            np.empty(k, dtype=np.int64),
            np.empty(k),
            np.empty(self.n_items, dtype=bool),
            ranked.exp3_table(self.k, self.n_items),
        )
