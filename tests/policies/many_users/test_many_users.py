"""Every way to rank for many users: the contract, who gains from whom, and CLUB beside its description."""

from collections.abc import Callable, Hashable

import numpy as np
import pytest

from rankfall import (
    AcrossUsers,
    CascadeHybrid,
    CascadeLinUCB,
    CascadeUCB1,
    ClusteredUsers,
    Discount,
    IndependentUsers,
    LinearPolicy,
    ManyUsers,
    Prior,
    ProblemError,
    Segments,
    SharedModel,
    generate,
    learn_prior,
)

USERS = range(6)
WAYS: dict[str, Callable[[LinearPolicy], ManyUsers]] = {
    "across": lambda policy: AcrossUsers(policy, first=10),
    "independent": IndependentUsers,
    "shared": SharedModel,
    "segments": lambda policy: Segments(policy, lambda user: user % 2),  # type: ignore[operator]
    "clusters": lambda policy: ClusteredUsers(policy, USERS, alpha=0.5, edges=1.0),
}


def taught(many: ManyUsers, lists: int, seed: int = 0) -> list[tuple[Hashable, list[int], int | None]]:
    """Lists, to whom they were shown, and the click: user 0 and 1 like the first items, the others the last ones."""
    rng = np.random.default_rng(seed)
    shown = []
    for turn in range(lists):
        user = int(rng.integers(len(USERS)))
        ranking = many.rank(user, 4, rng=np.random.default_rng(turn))
        liked = [p for p, item in enumerate(ranking.items) if (item < 15) == (user < 2)]
        click = liked[0] if liked and rng.random() < 0.7 else None
        many.update(user, ranking, click)
        shown.append((user, ranking.items.tolist(), click))
    return shown


@pytest.fixture(scope="module")
def policy() -> LinearPolicy:
    return CascadeHybrid(generate(items=30, topics=4, features=3, seed=4).catalog)


@pytest.mark.parametrize("way", WAYS)
def test_ranking_changes_nothing_and_learning_is_deterministic(way: str, policy: LinearPolicy) -> None:
    one, other = WAYS[way](policy), WAYS[way](policy)
    for user in USERS:
        assert one.rank(user, 4).items.tolist() == one.rank(user, 4).items.tolist()
    assert taught(one, 60) == taught(other, 60)
    ranking = one.rank(0, 4, fixed={0: 7}, exclude=[2])
    assert ranking.items[0] == 7
    assert 2 not in ranking.items
    late = [one.rank(user, 4) for user in USERS]
    for user in reversed(USERS):
        one.update(user, late[user], None)


def test_independent_users_are_policies_of_their_own(policy: LinearPolicy) -> None:
    many, alone = IndependentUsers(policy), {user: policy.fresh() for user in USERS}
    for user, items, click in taught(many, 80):
        ranking = alone[user].rank(4)  # type: ignore[index]
        assert ranking.items.tolist() == items
        alone[user].update(ranking, click)  # type: ignore[index]


def test_a_shared_model_is_one_policy_and_segments_are_several(policy: LinearPolicy) -> None:
    one, two = policy.fresh(), {0: policy.fresh(), 1: policy.fresh()}
    for _, items, click in taught(SharedModel(policy), 80):
        ranking = one.rank(4)
        assert ranking.items.tolist() == items
        one.update(ranking, click)
    for user, items, click in taught(WAYS["segments"](policy), 80):
        model = two[user % 2]  # type: ignore[operator]
        ranking = model.rank(4)
        assert ranking.items.tolist() == items
        model.update(ranking, click)


def test_across_users_every_model_has_the_prior_and_its_own_sums(policy: LinearPolicy) -> None:
    many = AcrossUsers(policy, first=30, growth=0.5)
    assert many.prior.covariance.tobytes() == np.eye(7).tobytes()
    shown = taught(many, 29)
    before = many.statistics()
    assert many.prior.users == 0
    assert many.lists_ahead() == 1
    more = taught(many, 1, seed=1)
    assert many.prior.users == len({user for user, _, _ in shown + more})
    assert many.lists_ahead() == 15
    assert before.seen.sum() < many.statistics().seen.sum()
    expected = learn_prior(many.statistics())
    assert many.prior.mean.tobytes() == expected.mean.tobytes()
    assert many.prior.covariance.tobytes() == expected.covariance.tobytes()
    inverse = np.linalg.inv(expected.covariance)
    for model in many.models.values():
        assert model.model.own is not None
        direct = np.linalg.solve(inverse + model.model.own.gram, inverse @ expected.mean + model.model.own.moment)
        np.testing.assert_allclose(model.weights, direct, atol=1e-8)
    np.testing.assert_allclose(many.model_for("new").weights, expected.mean, atol=1e-8)


def test_a_prior_can_be_given(policy: LinearPolicy) -> None:
    prior = Prior(np.full(7, 0.1), 0.2 * np.eye(7), noise=0.1, users=3)
    many = AcrossUsers(policy.with_prior(prior))
    assert many.prior is prior
    many.start_from(Prior.identity(7))
    assert not many.model_for("new").weights.any()


class PlainClub:
    """CLUB as its paper has it (figure 1), over plain vectors; a list is what one round of an item is there."""

    def __init__(self, users: int, columns: int, alpha: float) -> None:
        self.M = np.tile(np.eye(columns), (users, 1, 1))
        self.b, self.T = np.zeros((users, columns)), np.zeros(users)
        self.E, self.alpha = ~np.eye(users, dtype=bool), alpha

    def clusters(self) -> list[set[int]]:
        left, found = set(range(len(self.T))), []
        while left:
            group, grown = set(), {min(left)}
            while grown != group:
                group, grown = grown, grown | {j for i in grown for j in np.flatnonzero(self.E[i])}
            found.append(group)
            left -= group
        return found

    def model(self, user: int) -> tuple[np.ndarray, np.ndarray]:
        members = sorted(next(group for group in self.clusters() if user in group))
        eye = np.eye(self.b.shape[1])
        return eye + (self.M[members] - eye).sum(axis=0), self.b[members].sum(axis=0)

    def learn(self, user: int, features: np.ndarray, rewards: np.ndarray) -> None:
        self.M[user] += features.T @ features
        self.b[user] += features.T @ rewards
        self.T[user] += 1
        w = np.array([np.linalg.solve(M, b) for M, b in zip(self.M, self.b, strict=True)])
        bound = self.alpha * np.sqrt((1 + np.log(1 + self.T)) / (1 + self.T))
        for j in np.flatnonzero(self.E[user]):
            if np.linalg.norm(w[user] - w[j]) > bound[user] + bound[j]:
                self.E[user, j] = self.E[j, user] = False


def test_clusters_are_those_of_the_paper(policy: LinearPolicy) -> None:
    many, plain = ClusteredUsers(policy, USERS, alpha=0.35, edges=1.0), PlainClub(6, 7, 0.35)
    rng, sizes = np.random.default_rng(2), []
    for turn in range(150):
        user = int(rng.integers(6))
        ranking = many.rank(user, 4)
        gram, moment = plain.model(user)
        np.testing.assert_allclose(many.model_for(user).model.gram, gram, atol=1e-9)
        np.testing.assert_allclose(many.model_for(user).weights, np.linalg.solve(gram, moment), atol=1e-9)
        click = next((p for p, item in enumerate(ranking.items) if (item < 15) == (user < 2)), None)
        seen = 4 if click is None else click + 1
        many.update(user, ranking, click)
        plain.learn(user, ranking.features[:seen], np.array([float(p == click) for p in range(seen)]))
        found = {frozenset(u for u in USERS if many.clusters[u] == c) for c in many.clusters.values()}
        assert found == {frozenset(group) for group in plain.clusters()}, turn
        sizes.append(len(found))
    assert sizes[0] == 1
    assert sizes[-1] > 1


def test_what_makes_no_sense_is_refused(policy: LinearPolicy) -> None:
    learned = policy.fresh()
    learned.update(learned.rank(2), 0)
    for kind in (IndependentUsers, AcrossUsers):
        with pytest.raises(ProblemError, match="has learned already"):
            kind(learned)
    for kind in (SharedModel, AcrossUsers):
        with pytest.raises(ProblemError, match="linear policy"):
            kind(CascadeUCB1(4))  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="none of the 6 users"):
        ClusteredUsers(policy, USERS).rank("stranger", 2)
    with pytest.raises(ProblemError, match="do not forget"):
        ClusteredUsers(policy.with_settings(forgetting=Discount(0.9)), USERS)
    with pytest.raises(ProblemError, match="users are none"):
        ClusteredUsers(policy, [])
    with pytest.raises(ProblemError, match="first"):
        AcrossUsers(policy, first=0)
    assert AcrossUsers(CascadeLinUCB(policy.catalog, forgetting=Discount(0.9))).rank("anyone", 2) is not None
