"""check_policy must catch policies that are broken in each way it names."""

from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from rankfall import ContractError, Policy, Ranking, check_policy
from rankfall.policies.clicks import first_click
from rankfall.policies.request import Request, check_request


class Popular:
    """A policy of one's own: the most clicked items first. Twenty lines."""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items
        self.clicks = np.zeros(n_items)

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
    ) -> Ranking:
        allowed = check_request(k, self.n_items, candidates, exclude).rows
        return Ranking(allowed[np.argsort(-self.clicks[allowed], kind="stable")[:k]])

    def update(self, ranking: Ranking, click: object) -> None:
        position = first_click(click, len(ranking))
        if position is not None:
            self.clicks[ranking.items[position]] += 1


def test_a_policy_of_ones_own_passes() -> None:
    check_policy(Popular(10))


class Changes(Popular):
    def rank(self, k: int, **options: object) -> Ranking:
        self.clicks[self.n_items - 1 - int(self.clicks.sum()) % self.n_items] += 1
        return super().rank(k, **options)  # type: ignore[arg-type]


class Deaf(Popular):
    def rank(self, k: int, **options: object) -> Ranking:
        check_request(k, self.n_items, options.get("candidates"), None)  # type: ignore[arg-type]
        return super().rank(k)


class GlobalRandom(Popular):
    def rank(self, k: int, **options: object) -> Ranking:
        np.random.random()  # noqa: NPY002
        return super().rank(k, **options)  # type: ignore[arg-type]


class Twice(Popular):
    def rank(self, k: int, **options: object) -> Ranking:
        ranking = super().rank(k, **options)  # type: ignore[arg-type]
        ranking.items = np.zeros(k, dtype=np.int64)
        return ranking


class Lenient(Popular):
    def update(self, ranking: Ranking, click: object) -> None:
        self.clicks[0] += 1


class WrongError(Popular):
    def rank(self, k: int, **options: object) -> Ranking:
        if k < 1:
            raise ValueError("k")
        return super().rank(k, **options)  # type: ignore[arg-type]


class Forgetful(Popular):
    def update(self, ranking: Ranking, click: object) -> None:
        if list(ranking.items) != list(self.rank(len(ranking)).items):
            raise RuntimeError("that is not my last list")
        super().update(ranking, click)
        self.clicks = np.roll(self.clicks, 1)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Changes, "it must not change the policy"),
        (Deaf, "was excluded and shown all the same"),
        (Deaf, "candidates were"),
        (GlobalRandom, "global random state"),
        (Twice, "different rows"),
        (Lenient, "a click at 3 of 3 positions was accepted"),
        (WrongError, r"rank\(0\) raised ValueError"),
        (Forgetful, "feedback may come late and out of order: raised RuntimeError"),
    ],
)
def test_what_is_broken_is_said_in_words(broken: type[Popular], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        check_policy(broken(10))


def test_the_policy_itself_is_left_alone() -> None:
    policy = Popular(10)
    check_policy(policy)
    assert policy.clicks.sum() == 0


class Own(Policy):
    """As Popular, by the contract."""

    def begin(self) -> None:
        self.arrays = {"clicks": np.zeros(self.n_items)}

    def choose(self, request: Request, rng: np.random.Generator | None) -> Ranking:
        return Ranking(request.best(self.arrays["clicks"]))

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        self.arrays["clicks"][ranking.items[clicks]] += 1


class KeepsSomethingElse(Own):
    def begin(self) -> None:
        super().begin()
        self.last = 0

    def choose(self, request: Request, rng: np.random.Generator | None) -> Ranking:
        scores = self.arrays["clicks"].copy()
        scores[self.last] += 100
        return Ranking(request.best(scores))

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        super().learn(ranking, clicks)
        self.last = int(ranking.items[-1])


class SaysThatItLearnsRewards(Own):
    why_not_rewarded = None


class CountsRewardsTwice(Own):
    why_not_rewarded = None

    def learn_rewards(self, ranking: Ranking, clicks: list[int], rewards: Mapping[int, float]) -> None:
        for position, reward in rewards.items():
            self.arrays["clicks"][ranking.items[position]] += 2 * reward


class LeavesOutFixedRows(Own):
    def choose(self, request: Request, rng: np.random.Generator | None) -> Ranking:
        order = request.rows[np.argsort(-self.arrays["clicks"][request.rows], kind="stable")]
        return Ranking([*order, *request.fixed.values()][: request.k])


def test_what_a_policy_can_do_is_said() -> None:
    checked = check_policy(Own(10))
    assert (checked.saved, checked.served, checked.fixed, checked.rewarded) == (True, False, True, False)
    assert "what to keep of a list" in str(checked.why_not_served)
    plain = check_policy(Popular(10))
    assert (plain.saved, plain.served, plain.fixed) == (False, False, False)
    assert plain.why_not_saved == "it is no subclass of rankfall.Policy"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (KeepsSomethingElse, r"everything that learn\(\) changes must be in state\(\)"),
        (LeavesOutFixedRows, "rank with fixed={2: 0, 0: 9} gave"),
        (SaysThatItLearnsRewards, "update with rewards raised .* say why in why_not_rewarded, or learn them"),
        (CountsRewardsTwice, "a reward of 1 for the click: the array 'clicks' of the state is not the same"),
    ],
)
def test_what_is_broken_in_a_subclass(broken: type[Own], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        check_policy(broken(10))
