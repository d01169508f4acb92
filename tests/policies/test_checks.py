"""check_policy must catch policies that are broken in each way it names."""

from collections.abc import Iterable

import numpy as np
import pytest

from rankfall import ContractError, Ranking, check_policy
from rankfall.policies.clicks import first_click
from rankfall.policies.request import check_request


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
        object.__setattr__(ranking, "items", np.zeros(k, dtype=np.int64))
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
