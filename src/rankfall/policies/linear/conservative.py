"""C4-UCB: never worse than a list that is in use by more than a given share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Never, Self

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, fill, rows
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, ProblemError
from rankfall.kernels.conservative import BASELINE, OWN, affordable, click_chance, enter
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.settings import LinearSettings
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request, check_request
from rankfall.policies.settings import real, wholes


@dataclass(frozen=True)
class C4Settings(LinearSettings):
    """Settings of :class:`C4UCB`, beside those of linear policies.

    Attributes
    ----------
    baseline : rows of the list in use, best first; those not named follow in row order. By default all in row order.
    share : how much less than the baseline it may earn, as a share of that.
    baseline_reward : the chance of a click on the baseline, if it is known.
    """

    baseline: tuple[int, ...] | None = wholes(None)
    share: float = real(0.1, low=0.0, high=1.0)
    baseline_reward: float | None = real(None, low=0.0, high=1.0)

    def check(self) -> None:
        """It must not forget."""
        super().check()
        if self.forgetting is not None:
            raise ProblemError("C4UCB does not forget: what its lists were sure to earn is for users who do not change")


class Surety(NamedTuple):
    """Whose list it is, and what it was sure to earn; noted in the ranking."""

    baseline: bool
    sure: float


class C4UCB(LinearPolicy):
    """Never worse than a list that is in use by more than a given share: it shows its own where it is sure enough.

    Wang et al.: Conservative Contextual Combinatorial Cascading Bandit, IEEE Access 9 (2021), arXiv 2104.08615,
    Algorithm C4-UCB. Only the abstract could be read: the rule is from memory, and that of Conservative Linear UCB
    (Kazerouni et al., NIPS 2017), which it carries over to the cascade. With the model and the bounds of
    :class:`CascadeLinUCB`, and ``f(w) = 1 - prod (1 - w_i)`` the chance of a click on a list:

    1. A = the list by upper bounds ``U(a) = z_a . beta + gamma |z_a|``, B = the baseline.
    2. ``sure(A) = f(L(a_1), ..., L(a_K))`` with lower bounds ``L(a) = z_a . beta - gamma |z_a|``; all cut to [0, 1].
    3. Show A if ``sum of sure(A_s) over its own lists so far + sure(A) + n_B r_B >= (1 - alpha) t r_B``, where ``n_B``
       is how often the baseline was shown, ``r_B`` its reward, t the number of this step, and alpha the ``share``.
       Otherwise show B.
    4. Learn from the items seen, as :class:`CascadeLinUCB` does.

    As t counts both kinds of lists, that is the same as ``... + alpha n_B r_B >= (1 - alpha) (n_A + 1) r_B`` with
    ``n_A`` lists of its own so far. If ``baseline_reward`` is not known, the lower bound of the model stands for r_B on
    the left, and the upper one on the right.

    If the bounds hold, what it has earned in expectation is at every step at least ``1 - alpha`` of what the baseline
    would have. The paper's regret is that of the same policy without a baseline and a constant.

    Where ours differs: ``gamma`` is a constant where the paper's radius grows with log t, so that "if the bounds
    hold" depends on it; positions have no discount; ``sure(A_s)`` is that of the step when the list was shown; and it
    learns from baselines too. The paper has relevance features only: a subclass with ``coverage = "diminishing"`` is
    the hybrid's conservative form. What is learned counts, so where lists are shown before the feedback on
    others came, as many of them may come on top of the share.

    Parameters
    ----------
    catalog : items with relevance.
    baseline, share, baseline_reward : see :class:`C4Settings`.
    gamma, feedback : as in :class:`CascadeLinUCB`.

    >>> policy = C4UCB(Catalog(relevance=[[1.0], [3.0], [2.0]]), share=0.2, baseline_reward=0.5)
    >>> for _ in range(5):
    ...     ranking = policy.rank(2)
    ...     policy.update(ranking, None)
    >>> ranking, policy.shown
    (Ranking(1, 2), (1, 4))
    """

    Settings = C4Settings
    summary = "relevance alone, never worse than a list in use by more than a given share"
    paper = "Wang et al.: Conservative Contextual Combinatorial Cascading Bandit, IEEE Access 2021"
    relevance = "constant"
    why_not_served = "what a list was sure to earn when it was shown is not kept with it"
    why_not_rewarded = "it is sure of clicks, and not of what they are worth"

    settings: C4Settings

    def prepare(self) -> None:
        """Lay out the columns, and the baseline."""
        super().prepare()
        self._lay_baseline()

    def _lay_baseline(self) -> None:
        order = rows("baseline", self.settings.baseline or (), self.n_items, ProblemError)
        self._worth: FloatArray = -np.arange(self.n_items, dtype=np.float64) - len(order)
        self._worth[order] = -np.arange(len(order), dtype=np.float64)
        self._fixed_lists: dict[int, Request] = {}

    def begin(self) -> None:
        """Nothing learned and nothing shown."""
        super().begin()
        self._account: FloatArray = np.zeros(3)

    @property
    def shown(self) -> tuple[int, int]:
        """How many lists of its own and how many baselines it has learned from."""
        return int(self._account[OWN]), int(self._account[BASELINE])

    @property
    def account(self) -> FloatArray:
        """What its own lists were sure to earn, how many they were, and how many baselines; live."""
        return self._account

    def with_prior(self, prior: Prior) -> Self:
        """The same policy, which has seen and shown the same and starts from this prior; a copy of it."""
        twin = super().with_prior(prior)
        twin._account = self._account.copy()
        return twin

    def baseline(self, k: int) -> IntArray:
        """The baseline of ``k`` items, out of all of them."""
        return check_request(k, self.n_items).best(self._worth)

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """Its own list if that can be afforded, otherwise the baseline, out of what was asked for."""
        own = super().choose(request, rng)
        base = super().choose(self._baseline_for(request), rng)
        sure, known = click_chance(own.means, own.widths, -self.gamma), self.settings.baseline_reward
        low = click_chance(base.means, base.widths, -self.gamma) if known is None else known
        high = click_chance(base.means, base.widths, self.gamma) if known is None else known
        if np.array_equal(own.items, base.items) or not affordable(self._account, self.settings.share, sure, low, high):
            return base.replace(note=Surety(True, low))
        return own.replace(note=Surety(False, sure))

    def _baseline_for(self, request: Request) -> Request:
        """The same request with the baseline at every position, as far as it may be shown."""
        plain = request.everything and request.rules is None and request.context is None and request.features is None
        held = self._fixed_lists.get(request.k) if plain else None
        if held is None:
            held = check_request(request.k, self.n_items, fixed=dict(enumerate(request.best(self._worth).tolist())))
            if plain:
                self._fixed_lists[request.k] = held
            else:
                held = held.within(request.context, request.features)
                held = held if request.rules is None else held.under(request.rules)
        return held

    def check_ranking(self, ranking: Ranking) -> None:
        """Refuse rankings that do not say whose list they are."""
        super().check_ranking(ranking)
        if not isinstance(ranking.note, Surety):
            raise self.foreign(ranking)

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from the items that count as seen, and enter the list in the account."""
        assert isinstance(ranking.note, Surety)
        super().learn(ranking, clicks)
        with self._model.lock:
            enter(self._account, ranking.note.baseline, ranking.note.sure)

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of the ridge model, and the account."""
        arrays = super().state()
        return {**arrays, "account": self._account.copy()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        account, others = np.empty(3), dict(arrays)
        if "account" not in others:
            raise ValueError("it needs the account of what was shown")
        fill(account, "account", others.pop("account"))
        if (account < 0).any():
            raise ValueError(f"the account is {account}; nothing in it can be below 0")
        super().restore(others)
        self._account = account
        self._lay_baseline()  # the settings may be others than before

    def with_catalog(self, catalog: Catalog) -> Never:
        """Not possible: the baseline names rows of one catalog."""
        raise CatalogError(f"the baseline of C4UCB names rows of one catalog, not of {catalog!r}; make a new policy")
