"""BubbleRank against its algorithm line by line, and its promise: never much worse than the list it was given."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_user import PlainUser, slope, users

from rankfall import Catalog, FeedbackError, ProblemError, Ranking, check_policy
from rankfall.experiments.simulation import simulate
from rankfall.policies import make_policy
from rankfall.policies.elimination.bubblerank import BubbleRank, Comparison
from rankfall.policies.elimination.toprank import TopRank


class Specification:
    """Algorithm 1 of the paper as it is written, positions from 1; of K items the user sees ``seen``."""

    def __init__(self, R0: list[int], delta: float) -> None:
        self.K, self.delta, self.t = len(R0), delta, 0
        self.bR = list(R0)
        self.s, self.n = np.zeros((self.K, self.K)), np.zeros((self.K, self.K))

    def sure(self, i: int, j: int) -> bool:
        return bool(self.s[i, j] > 2 * math.sqrt(self.n[i, j] * math.log(1 / self.delta)))

    def show(self, coins: Any) -> list[int]:
        self.t += 1
        self.h = self.t % 2
        self.R = [-1, *self.bR]
        for k in range(1, (self.K - self.h) // 2 + 1):
            a, b = 2 * k - 1 + self.h, 2 * k + self.h
            if not self.sure(self.R[a], self.R[b]) and (a - 1) // 2 < len(coins) and coins[(a - 1) // 2] < 0.5:
                self.R[a], self.R[b] = self.R[b], self.R[a]
        return self.R[1:]

    def learn(self, clicks: tuple[int, ...]) -> None:
        c = [0] * (self.K + 1)
        for position in clicks:
            c[position + 1] = 1
        for k in range(1, (self.K - self.h) // 2 + 1):
            a, b = 2 * k - 1 + self.h, 2 * k + self.h
            i, j = self.R[a], self.R[b]
            if abs(c[a] - c[b]) == 1:
                self.s[i, j] += c[a] - c[b]
                self.n[i, j] += 1
                self.s[j, i] += c[b] - c[a]
                self.n[j, i] += 1
        for k in range(self.K - 1):
            i, j = self.bR[k], self.bR[k + 1]
            if self.sure(j, i):
                self.bR[k], self.bR[k + 1] = j, i


def counts(policy: BubbleRank) -> tuple[Any, Any]:
    everything = range(policy.n_items)
    return (
        np.array([[policy.s(i, j) for j in everything] for i in everything]),
        np.array([[policy.n(i, j) for j in everything] for i in everything]),
    )


@pytest.mark.parametrize("newcomers", [False, True])
def test_keeps_the_contract(newcomers: bool) -> None:
    policy = BubbleRank(6, delta=0.5, newcomers=newcomers)
    check_policy(policy)
    simulate(policy, PlainUser("cascade", np.linspace(0.05, 0.9, 6)), 2000, 3)
    assert policy.base != tuple(range(6))
    check_policy(policy)


@pytest.mark.parametrize("user", users([0.1, 0.7, 0.3, 0.5, 0.05, 0.9, 0.2], 7), ids=lambda user: user.model)
@pytest.mark.parametrize("K", [7, 6, 3])
def test_is_the_algorithm_of_the_paper_at_every_step(user: PlainUser, K: int) -> None:
    R0 = [3, 0, 1, 2, 6, 5, 4]
    policy, spec = BubbleRank(7, base=R0, delta=0.01), Specification(R0, 0.01)
    rng, same, coins = (np.random.default_rng(seed) for seed in (1, 1, 2))
    for step in range(4000):
        ranking = policy.rank(K, rng=rng)
        assert ranking.items.tolist() == spec.show(same.random(K // 2 + 2)[:-1])[:K]
        clicks = user.click(ranking.items, coins.random(K)) or ()
        policy.update(ranking, clicks)
        spec.learn(clicks)
        assert list(policy.base) == spec.bR
        if step % 100 == 0:
            s, n = counts(policy)
            assert np.array_equal(s, spec.s)
            assert np.array_equal(n, spec.n)
    assert spec.bR != R0


def whole_list(ranking: Ranking) -> list[int]:
    """The list as shown, and below it the rest as the base list has it."""
    shown = ranking.items.tolist()
    return shown + [item for item in ranking.note.base if item not in shown]  # type: ignore[attr-defined]


@given(n=st.integers(2, 8), seed=st.integers(0, 2**32), delta=st.sampled_from([1e-3, 0.2, 1.0]))
def test_whatever_is_clicked_lists_stay_next_to_the_base_list_and_no_exchange_contradicts_the_counts(
    n: int, seed: int, delta: float
) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).tolist()
    policy, taste = BubbleRank(n, base=order, delta=delta), rng.random(n)
    truth = PlainUser("pbm", rng.random(n))
    waiting: list[Ranking] = []
    for step in range(150):
        if step % 50 == 0:
            taste = rng.permutation(taste)
        k = int(rng.integers(1, n + 1))
        exclude = [int(rng.integers(n))] if k < n and rng.random() < 0.2 else []
        ranking = policy.rank(k, rng=rng, exclude=exclude)
        base, shown = list(ranking.note.base), whole_list(ranking)  # type: ignore[attr-defined]
        assert base == [item for item in policy.base if item not in exclude]
        assert sorted(shown) == sorted(base)
        assert max(abs(base.index(item) - shown.index(item)) for item in base) <= 1
        moved = sum(a != b for a, b in zip(base, shown, strict=True))
        assert moved // 2 <= min((k + 1) // 2, len(base) // 2)
        assert truth.wrong_pairs(shown) <= truth.wrong_pairs(base) + min((k + 1) // 2, len(base) // 2)
        waiting.append(ranking)
        if rng.random() < 0.8:
            ranking = waiting.pop(int(rng.integers(len(waiting))))
            before = policy.base
            policy.update(ranking, np.flatnonzero(rng.random(len(ranking)) < taste[ranking.items]))
            after = policy.base
            assert sorted(after) == list(range(n))
            for high in range(n):
                for low in range(high + 1, n):
                    i, j = before[high], before[low]
                    if after.index(j) < after.index(i):
                        assert policy.s(j, i) > 2 * math.sqrt(policy.n(j, i) * math.log(1 / delta))


def violations(policy: Any, user: PlainUser, base: list[int], K: int, steps: int) -> int:
    """Lists with more than K / 2 pairs in the wrong order beyond those of the base list."""
    rng, coins = np.random.default_rng(3), np.random.default_rng(4)
    bound, count = user.wrong_pairs(base) + K / 2, 0
    for _ in range(steps):
        ranking = policy.rank(K, rng=rng)
        count += user.wrong_pairs(ranking.items.tolist()) > bound
        policy.update(ranking, user.click(ranking.items, coins.random(K)))
    return count


@pytest.mark.parametrize("user", users([0.8, 0.6, 0.5, 0.35, 0.3, 0.2, 0.1, 0.05], 8), ids=lambda user: user.model)
def test_is_safe_where_one_that_learns_from_scratch_is_not(user: PlainUser) -> None:
    base = [1, 0, 2, 4, 3, 5, 7, 6]
    policy = BubbleRank(8, base=base, steps=5000)
    assert violations(policy, user, base, 8, 5000) == 0
    assert user.wrong_pairs(policy.base) <= user.wrong_pairs(base)
    assert violations(TopRank(8, steps=5000), user, base, 8, 5000) > 100


@pytest.mark.parametrize("user", users([0.6, 0.3, 0.1, 0.01], 4), ids=lambda user: user.model)
def test_the_base_list_becomes_the_best_one(user: PlainUser) -> None:
    policy = BubbleRank(4, base=[3, 2, 1, 0], delta=1e-4)
    simulate(policy, user, 12_000, 4)
    assert policy.base == (0, 1, 2, 3)


def test_regret_is_sublinear_under_the_position_based_model() -> None:
    user = PlainUser("pbm", [0.05, 0.2, 0.5, 0.9], [1.0, 0.8, 0.6, 0.4])
    assert slope([simulate(BubbleRank(4, steps=30_000), user, 30_000, 4, seed) for seed in range(3)]) < 0.8


@pytest.mark.parametrize("newcomers", [False, True])
def test_regret_is_sublinear_under_the_cascade_model(newcomers: bool) -> None:
    user = PlainUser("cascade", [0.1, 0.5, 0.1, 0.6, 0.05])
    base = None if newcomers else [2, 1, 3, 0, 4]  # the best item just below the list
    policies = [BubbleRank(5, base=base, steps=30_000, newcomers=newcomers) for _ in range(3)]
    assert slope([simulate(policy, user, 30_000, 2, seed) for seed, policy in enumerate(policies)]) < 0.8


def test_newcomers_get_in_from_anywhere_and_others_only_from_just_below() -> None:
    user = PlainUser("cascade", [0.3, 0.2, 0.05, 0.05, 0.05, 0.9])
    strict, open_minded = BubbleRank(6, delta=0.01), BubbleRank(6, delta=0.01, newcomers=True)
    simulate(strict, user, 5000, 2)
    simulate(open_minded, user, 5000, 2)
    assert set(strict.base[:2]) == {0, 1}
    assert open_minded.base[0] == 5
    assert sorted(open_minded.base) == list(range(6))


@given(seed=st.integers(0, 2**32), n=st.integers(2, 7))
def test_with_newcomers_the_base_list_stays_a_list_and_changes_by_the_counts(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    policy, taste = BubbleRank(n, delta=0.5, newcomers=True), rng.random(n)
    waiting: list[Ranking] = []
    for step in range(200):
        if step % 70 == 0:
            taste = rng.permutation(taste)
        k = int(rng.integers(1, n + 1))
        ranking = policy.rank(k, rng=rng)
        shown, base = ranking.items.tolist(), list(policy.base)
        moved = sum(a != b for a, b in zip(shown, base[:k], strict=True))
        assert moved <= k
        assert set(shown[:-1]) <= set(base[:k])
        waiting.append(ranking)
        if rng.random() < 0.7:
            ranking = waiting.pop(int(rng.integers(len(waiting))))
            policy.update(ranking, np.flatnonzero(rng.random(len(ranking)) < taste[ranking.items]))
            assert sorted(policy.base) == list(range(n))


def test_alternates_with_each_answer_and_remembers_the_parity() -> None:
    policy = BubbleRank(5)
    first = policy.rank(5)
    assert first.note == Comparison(parity=1, base=(0, 1, 2, 3, 4), hidden=-1)
    assert policy.rank(5).note == first.note
    policy.update(first, None)
    assert policy.rank(5).note.parity == 0  # type: ignore[attr-defined]
    items = first.items.tolist()
    policy.update(first, [0, 1, 4])  # late; 0 had no mate, 1 and 2 were a pair, 3 and 4 were another
    assert policy.state()["wins"].tolist() == sorted([[items[1], items[2], 1], [items[4], items[3], 1]])
    policy.update(first, [1, 2])  # both of a pair say nothing
    assert policy.state()["wins"].sum(axis=0)[2] == 2
    assert policy.n_updates == 3


def test_the_item_below_the_list_competes_with_the_last_one() -> None:
    policy = BubbleRank(4, base=[3, 2, 1, 0])
    policy.update(policy.rank(2), None)
    policy.update(policy.rank(2), None)  # so that the parity is 1: positions 1 and 2 are a pair, and 2 is not seen
    lists = {tuple(policy.rank(2, rng=np.random.default_rng(seed)).items.tolist()) for seed in range(20)}
    assert lists == {(3, 2), (3, 1)}
    ranking = policy.rank(2)
    policy.update(ranking, 1)
    seen = int(ranking.items[1])
    assert policy.state()["wins"].tolist() == [[seen, 3 - seen, 1]]


def test_a_base_list_may_name_the_first_few() -> None:
    assert BubbleRank(5, base=[4, 2]).base == (4, 2, 0, 1, 3)
    assert BubbleRank(3).base == (0, 1, 2)
    assert BubbleRank(3, steps=10).delta == pytest.approx(1e-4)


@pytest.mark.parametrize(
    "settings",
    [{"base": [0, 0]}, {"base": [9]}, {"steps": 0}, {"delta": 0}, {"delta": 2}, {"newcomers": "yes"}],
)
def test_refuses_settings_without_meaning(settings: dict[str, Any]) -> None:
    with pytest.raises(ProblemError, match=r"base|steps|delta|newcomers"):
        BubbleRank(4, **settings)


def test_refuses_what_it_cannot_learn_from() -> None:
    policy = BubbleRank(4)
    for ranking in (Ranking([0, 1]), BubbleRank(9).rank(3), Ranking([0, 9], note=Comparison(0, (0, 1), -1))):
        with pytest.raises(FeedbackError, match=r"note|row"):
            policy.update(ranking, 1)
    assert policy.n_updates == 0
    assert len(policy.state()["wins"]) == 0


def test_is_made_by_name_for_a_number_of_steps() -> None:
    policy = make_policy("BubbleRank", Catalog(coverage=np.full((5, 2), 0.5)), k=2, steps=10)
    assert isinstance(policy, BubbleRank)
    assert repr(policy) == "BubbleRank(5 items, 0 updates, delta=0.0001)"


def test_the_same_seed_gives_the_same_run_and_a_copy_goes_on_the_same() -> None:
    user = users([0.1, 0.2, 0.8, 0.15, 0.6], 5)[2]
    one, two = BubbleRank(5, delta=0.1), BubbleRank(5, delta=0.1)
    assert simulate(one, user, 1000, 5, 7).regret.tolist() == simulate(two, user, 1000, 5, 7).regret.tolist()
    other = copy.deepcopy(one)
    assert simulate(one, user, 500, 5, 8).regret.tolist() == simulate(other, user, 500, 5, 8).regret.tolist()
    assert one.base == other.base
