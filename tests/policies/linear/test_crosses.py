"""Linear policies in a context: what they show and learn is what ridge regression on all columns gives."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_policies import LINEAR

import rankfall
from rankfall import (
    AcrossUsers,
    CascadeHybrid,
    CascadeHybridTS,
    CascadeLinUCB,
    CascadeLSB,
    CascadeUCB1,
    Catalog,
    Category,
    Context,
    Discount,
    FeedbackError,
    Hour,
    LinearPolicy,
    Number,
    Prior,
    ProblemError,
    RankError,
    Window,
    check_policy,
    generate,
)
from rankfall.kernels.crossing import evidence
from rankfall.policies.linear import crosses

CONTEXT = Context({"hour": Hour(), "device": Category(["mobile", "desktop"]), "age": Number(scale=10)})
FEATURES = {"bm25": {"scale": 2.0}, "km": {}}
K = 4


def catalog(seed: int = 0, items: int = 25) -> Catalog:
    return generate(items=items, topics=4, features=3, seed=seed).catalog


def values(rng: np.random.Generator) -> dict[str, Any]:
    """A context, with parts of it missing now and then."""
    every = {"hour": rng.uniform(0, 24), "device": str(rng.choice(["mobile", "desktop", "tv"])), "age": rng.normal()}
    return {name: value for name, value in every.items() if rng.random() < 0.8}


def shown(policy: LinearPolicy, rows: list[int], extra: np.ndarray) -> np.ndarray:
    """Features as shown of a list, by hand: what items above leave of topics, then relevance, then the request's."""
    blocks = []
    for how, block in ((policy.coverage, policy.catalog.coverage), (policy.relevance, policy.catalog.relevance)):
        if how != "absent":
            left = np.ones(block.shape[1])
            part = np.empty((len(rows), block.shape[1]))
            for i, row in enumerate(rows):
                part[i] = left * block[row]
                if how == "diminishing":
                    left = left * (1 - block[row])
            blocks.append(part)
    return np.hstack([*blocks, extra[rows]])


class ByHand:
    """The model over all columns at once, by the book: sums of outer products, solved afresh each time, which scores
    every item."""

    def __init__(self, policy: LinearPolicy, context: Context, sd: float) -> None:
        self.policy, self.context = policy, context
        self.n = (len(policy.weights)) // len(context.columns)
        sds = np.where(context.belongs == 0, 1.0, sd)
        self.prior = np.diag(1.0 / np.repeat(sds, self.n) ** 2)
        self.gram, self.moment = np.zeros_like(self.prior), np.zeros(len(self.prior))

    def learn(self, features: np.ndarray, c: np.ndarray, earned: np.ndarray) -> None:
        for phi, reward in zip(features, earned, strict=True):
            column = np.kron(c, phi)
            self.gram += np.outer(column, column)
            self.moment += reward * column

    def scores(self, c: np.ndarray, above: list[int], rows: list[int], extra: np.ndarray) -> dict[int, float]:
        """What each of these rows scores below those above, with all columns."""
        covariance = np.linalg.inv(self.prior + self.gram)
        weights = covariance @ self.moment
        found = {}
        for row in rows:
            column = np.kron(c, shown(self.policy, [*above, row], extra)[-1])
            found[row] = float(column @ weights + self.policy.gamma * np.sqrt(column @ covariance @ column))
        return found


@pytest.mark.parametrize("name", ["CascadeHybrid", "CascadeLinUCB", "CascadeLSB", "CascadeLinUCBFull", "LSBGreedy"])
@settings(max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_a_list_is_the_greedy_one_of_the_model_over_all_columns(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy = LINEAR[name](
        catalog(seed % 7), gamma=0.7, context=CONTEXT, context_variance=0.3, request_features=FEATURES
    )
    hand = ByHand(policy, CONTEXT, 0.3**0.5)
    for _ in range(12):
        context, c_given = values(rng), rng.random() < 0.8
        allowed = sorted(rng.choice(25, size=12, replace=False).tolist())
        given = {int(row): {"bm25": rng.normal(), "km": rng.normal()} for row in allowed if rng.random() < 0.5}
        extra = np.zeros((25, 2))
        for row, named in given.items():
            extra[row] = np.clip([named["bm25"] / 2, named["km"]], -3, 3)
        ranking = policy.rank(K, context=context if c_given else None, features=given or None, candidates=allowed)
        c = CONTEXT.encode(context if c_given else None)
        rows = ranking.items.tolist()
        for i, row in enumerate(rows):
            scores = hand.scores(c, rows[:i], [one for one in allowed if one not in rows[:i]], extra)
            assert ranking.scores[i] == pytest.approx(scores[row], rel=1e-9)
            assert scores[row] == pytest.approx(max(scores.values()), rel=1e-9)
        np.testing.assert_array_equal(ranking.features, shown(policy, rows, extra))
        np.testing.assert_array_equal(ranking.context, c)
        click = int(rng.integers(K)) if rng.random() < 0.6 else None
        policy.update(ranking, click)
        seen = K if click is None or policy.learns_from == "all" else click + 1
        earned = np.zeros(seen)
        if click is not None:
            earned[click] = 1.0
        hand.learn(ranking.features[:seen], c, earned)
    covariance = np.linalg.inv(hand.prior + hand.gram)
    np.testing.assert_allclose(policy.covariance, covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(policy.weights, covariance @ hand.moment, rtol=1e-8, atol=1e-12)


def taught(policy: LinearPolicy, lists: int, seed: int = 0, **more: Any) -> LinearPolicy:
    rng = np.random.default_rng(seed)
    for _ in range(lists):
        ranking = policy.rank(K, context=values(rng), rng=rng, **more)
        policy.update(ranking, int(rng.integers(K)) if rng.random() < 0.6 else None)
    return policy


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_keeps_the_contract(name: str) -> None:
    more = {} if LINEAR[name].relevance == "diminishing" else {"request_features": FEATURES}
    checked = check_policy(taught(LINEAR[name](catalog(), context=CONTEXT, **more), 20))
    assert checked.saved
    assert checked.served


@pytest.mark.parametrize("forgetting", [Discount(0.9), Window(5)], ids=repr)
def test_forgets_in_a_context(forgetting: Discount | Window) -> None:
    policy = CascadeHybrid(catalog(), context=CONTEXT, forgetting=forgetting)
    check_policy(taught(policy, 12))
    rng = np.random.default_rng(1)
    sums, last = [], np.zeros(0)
    for _ in range(9):
        ranking = policy.fresh().rank(K, context=values(rng))
        sums.append((ranking, 1))
    policy = policy.fresh()
    for ranking, click in sums:
        policy.update(ranking, click)
    rows = [np.array([np.kron(one.context, phi) for phi in one.features[:2]]) for one, _ in sums]
    weigh = [0.9**age for age in range(len(rows))][::-1]
    if isinstance(forgetting, Window):
        weigh = [0.0] * 4 + [1.0] * 5
    sds = np.repeat(np.where(CONTEXT.belongs == 0, 1.0, crosses.START), 7)
    gram = np.diag(1 / sds**2) + sum(w * one.T @ one for w, one in zip(weigh, rows, strict=True))
    last = sum(w * one[1] for w, one in zip(weigh, rows, strict=True))
    np.testing.assert_allclose(policy.weights, np.linalg.solve(gram, last), rtol=1e-9, atol=1e-12)


def test_without_a_declaration_nothing_changes(tmp_path: Path) -> None:
    plain = CascadeHybrid(catalog())
    assert sorted(plain.state()) == ["counts", "covariance", "gram", "moment", "weights"]
    with pytest.raises(RankError, match="takes no context; declare its factors"):
        plain.rank(K, context={})
    with pytest.raises(RankError, match="takes no features of candidates"):
        plain.rank(K, features={})
    with pytest.raises(RankError, match="CascadeUCB1 takes no context"):
        CascadeUCB1(5).rank(2, context={"hour": 8})
    with pytest.raises(RankError, match="CascadeUCB1 takes no features of candidates"):
        CascadeUCB1(5).rank(2, features={})


def test_a_context_of_which_nothing_is_known_is_the_average_one() -> None:
    policy = taught(CascadeHybrid(catalog(), context=CONTEXT, context_variance=0.2), 30)
    c = CONTEXT.encode(None)
    assert policy.rank(K).items.tolist() == policy.rank(K, context={"device": "fridge"}).items.tolist()
    np.testing.assert_array_equal(policy.rank(K).context, c)
    np.testing.assert_allclose(policy.rank(K).weights, policy.weights[:7])


def test_draws_have_the_distribution_of_the_model_at_the_context() -> None:
    policy = taught(CascadeHybridTS(catalog(items=6), context=CONTEXT, gamma=1.0), 30)
    context = {"hour": 3, "device": "mobile"}
    rng = np.random.default_rng(0)
    lists = [policy.rank(1, context=context, rng=rng).items[0] for _ in range(4000)]
    cross = np.kron(CONTEXT.encode(context)[:, None], np.eye(7))
    mean, covariance = cross.T @ policy.weights, cross.T @ policy.covariance @ cross
    phi = np.hstack([policy.catalog.coverage, policy.catalog.relevance])
    draws = np.random.default_rng(1).multivariate_normal(mean, covariance, size=4000)
    wanted = np.bincount((draws @ phi.T).argmax(axis=1), minlength=6) / 4000
    np.testing.assert_allclose(np.bincount(lists, minlength=6) / 4000, wanted, atol=0.06)
    full = np.array([policy.draw(rng) for _ in range(4000)])
    np.testing.assert_allclose(full.mean(axis=0), policy.weights, atol=0.1)
    np.testing.assert_allclose(np.cov(full.T).diagonal(), policy.covariance.diagonal(), rtol=0.2)


def log_likelihood(rows: np.ndarray, clicked: np.ndarray, sds: np.ndarray) -> float:
    """Of clicks that are normal around rows . w, with w ~ N(0, s^2 diag(sds^2)) and the s^2 that makes it largest."""
    n = len(clicked)
    spread = np.eye(n) + rows @ np.diag(sds**2) @ rows.T
    noise = clicked @ np.linalg.solve(spread, clicked) / n
    return float(-0.5 * (n * np.log(2 * np.pi * noise) + np.linalg.slogdet(spread)[1] + n))


@given(st.integers(0, 1000), st.integers(3, 30))
def test_the_evidence_is_the_marginal_likelihood_of_the_clicks(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows, clicked = rng.normal(size=(n, 5)), np.array([1.0, *(rng.random(n - 1) < 0.4)])
    found, direct = [], []
    for sds in ([1, 1, 1, 1, 1], [1, 1, 0.5, 0.5, 0.1], [1, 1, 1, 0.25, 2]):
        scale = np.array(sds, dtype=float)
        found.append(evidence(np.eye(5) + rows.T @ rows, rows.T @ clicked, scale, clicked.sum(), float(n)))
        direct.append(log_likelihood(rows, clicked, scale))
    for (a, b), (c, d) in zip(pairwise(found), pairwise(direct), strict=True):
        assert b - a == pytest.approx(d - c, rel=1e-6, abs=1e-6)


def world(moves: bool, lists: int, seed: int = 0) -> tuple[LinearPolicy, list[Any]]:
    """A policy and the lists it has learned from, of a user whose taste moves with the device, or does not."""
    rng = np.random.default_rng(seed)
    policy = CascadeLinUCB(Catalog(relevance=rng.normal(size=(20, 3)) / 2), gamma=0.3, context=CONTEXT)
    common, mobile = np.array([0.2, 0.1, 0.0]), np.array([-0.3, 0.3, 0.4]) if moves else np.zeros(3)
    history = []
    for _ in range(lists):
        context = {"hour": rng.uniform(0, 24), "device": str(rng.choice(["mobile", "desktop"]))}
        ranking = policy.rank(K, context=context)
        beta = common + (mobile if context["device"] == "mobile" else 0.0)
        hits = np.flatnonzero(rng.random(K) < np.clip(ranking.features @ beta, 0, 1))
        click = int(hits[0]) if len(hits) else None
        policy.update(ranking, click)
        history.append((ranking, click))
    return policy, history


def test_variances_are_those_that_make_clicks_most_likely() -> None:
    """A factor that matters may move tastes, one that does not may not; and no other step is any better."""
    found = {}
    for moves in (True, False):
        policy, history = world(moves, 512)
        assert policy._crosses is not None
        found[moves] = policy._crosses.scales.tolist()
        rows, clicked = [], []
        for ranking, click in history:
            for i, phi in enumerate(ranking.features[: None if click is None else click + 1]):
                rows.append(np.kron(ranking.context, phi))
                clicked.append(float(i == click))
        likely = {}
        for factor in (0, 1, 2, 3):
            for step in (0.5, 2.0) if factor else (1.0,):
                tried = np.array(found[moves])
                tried[factor] *= step
                if crosses.NARROWEST <= tried[factor] <= crosses.WIDEST:
                    sds = np.repeat(tried[CONTEXT.belongs], 3)
                    likely[factor, step] = log_likelihood(np.array(rows), np.array(clicked), sds)
        assert max(likely, key=lambda one: likely[one]) == (0, 1.0)
    assert found[True][2] > 4 * found[True][1]
    assert found[False][2] < found[True][2]


def test_rewards_do_not_change_what_is_believed_of_a_context() -> None:
    """So outcomes may come at any time, before a choice of variances or after it."""
    policies = [CascadeLinUCB(catalog(), context=CONTEXT) for _ in range(2)]
    rng = np.random.default_rng(3)
    late = []
    for _ in range(64):
        ranking, click = policies[0].rank(K, context=values(rng)), int(rng.integers(K))
        policies[0].update(ranking, click, rewards={click: 1.5})
        policies[1].update(ranking, click, rewards={click: 0.5})
        late.append((ranking, click))
    for ranking, click in reversed(late):
        policies[1].add_outcome(ranking, click, click, 1.0)
    one, other = (policy.state() for policy in policies)
    assert one["cross_scales"].tobytes() == other["cross_scales"].tobytes()
    assert one["gram"].tobytes() == other["gram"].tobytes()
    np.testing.assert_allclose(one["weights"], other["weights"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lists", [5, 40])
def test_topics_that_come_later(lists: int) -> None:
    """Lists and states of before count as if the topics had always been there, bit for bit."""
    before = Catalog(np.random.default_rng(0).random((8, 2)), np.random.default_rng(1).normal(size=(8, 3)))
    after = before.with_topics(["new", "newer"])
    settings: dict[str, Any] = {"context": CONTEXT, "request_features": FEATURES}
    old, new, always = (CascadeHybrid(one, **settings) for one in (before, after, after))
    rng = np.random.default_rng(2)
    records = []
    for _ in range(lists):
        context, given = values(rng), {3: {"bm25": rng.normal()}}
        ranking, click = old.rank(K, context=context, features=given), int(rng.integers(K))
        old.update(ranking, click)
        records.append((old.record(ranking), click))
        held = dict(enumerate(ranking.items.tolist()))
        always.update(always.rank(K, fixed=held, context=context, features=given), click)
    for record, click in records:
        new.learn_record(record, click, topics=2)
    again = CascadeHybrid(after, **settings).with_state(new.widened(old.state(), [2]))
    for policy in (new, again):
        for name, array in always.state().items():
            assert policy.state()[name].tobytes() == array.tobytes(), name


def test_features_by_id_by_row_and_as_an_array_are_the_same() -> None:
    items = Catalog(relevance=np.random.default_rng(0).normal(size=(5, 2)), ids=list("abcde"))
    policy = CascadeLinUCB(items, request_features=FEATURES)
    policy.update(policy.rank(2, features={"a": {"bm25": 4.0}}, fixed={0: 0, 1: 1}), 0)
    by_id = {"d": {"bm25": 2.0}, "b": {"km": 1.0}}
    by_row = {3: {"bm25": 2.0}, 1: {"km": 1.0}}
    array = [[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    lists = [
        policy.rank(3, candidates=["d", "b", "a"], features=by_id),
        policy.rank(3, candidates=[3, 1, 0], features=by_row),
        policy.rank(3, candidates=iter([3, 1, 0]), features=np.array(array)),
    ]
    assert len({(one.items.tobytes(), one.features.tobytes(), one.scores.tobytes()) for one in lists}) == 1
    every = policy.rank(5, features=np.array([[0, 0], [0, 1], [0, 0], [2, 0], [0, 0]]))
    assert every.items.tolist() == policy.rank(5, features=by_row).items.tolist()
    nothing = policy.rank(5, features={})
    assert nothing.scores.tobytes() == policy.rank(5).scores.tobytes()
    for wrong, said in [
        ({9: {}}, "from 0 to 4, got 9"),
        ({"z": {}}, "features are given for 'z', and the catalog has no such item"),
        ({"a": {}, 0: {}}, "given twice"),
        ({"a": {"age": 1}}, "no feature of candidates 'age'"),
        ([[1.0, 0.0]], "features of 1 candidates are given, and there are 5"),
    ]:
        with pytest.raises(RankError, match=said):
            policy.rank(2, features=wrong)


def test_a_feature_of_candidates_is_learned() -> None:
    """Users who click what matches the query, and nothing else."""
    rng = np.random.default_rng(0)
    policy = CascadeHybrid(catalog(), request_features={"match": {}}, gamma=0.2)
    for _ in range(200):
        rows = rng.choice(25, size=10, replace=False).tolist()
        match = dict(zip(rows, rng.integers(0, 2, size=10).tolist(), strict=True))
        ranking = policy.rank(3, candidates=rows, features={row: {"match": value} for row, value in match.items()})
        clicks = [i for i, row in enumerate(ranking.items.tolist()) if match[row]]
        policy.update(ranking, clicks[0] if clicks else None)
    assert policy.weights[-1] > 0.8
    assert policy.learned()[-1].name == "match"
    (first,) = policy.explain(policy.rank(1, candidates=[4, 7], features={7: {"match": 1.0}}))
    assert first.features["match"] == pytest.approx(policy.weights[-1])


def test_explanations_are_of_the_context_and_sum_to_the_score() -> None:
    items = Catalog([[0.5, 0.2]], [[1.0]], topics=["war", "love"], features=["price"])
    policy = CascadeHybrid(items, context={"device": {"kind": "category", "levels": ["tv"]}}, context_variance=1.0)
    for device, click in (("tv", 0), ("phone", None)):
        policy.update(policy.rank(1, context={"device": device}), click)
    relevance = {}
    for device in ("tv", "phone"):
        (said,) = policy.explain(policy.rank(1, context={"device": device}))
        assert said.score == pytest.approx(said.relevance + sum(said.coverage.values()) + said.bonus)
        relevance[device] = said.relevance
    assert relevance["tv"] > 2 * relevance["phone"] > 0
    names = [one.name for one in policy.learned()]
    assert names == ["war", "love", "price", "war x device=tv", "love x device=tv", "price x device=tv"]
    assert [one.block for one in policy.learned()] == ["topic", "topic", "feature"] * 2


def test_saved_and_loaded(tmp_path: Path) -> None:
    policy = taught(CascadeHybrid(catalog(), context=CONTEXT, request_features=FEATURES), 40)
    policy.save(tmp_path / "policy")
    again = rankfall.load(tmp_path / "policy")
    assert again.settings == policy.settings
    context = {"hour": 8, "device": "mobile"}
    assert again.rank(K, context=context).scores.tobytes() == policy.rank(K, context=context).scores.tobytes()


def test_what_does_not_go_together() -> None:
    items, other = catalog(), Context({"hour": Hour()})
    with pytest.raises(ProblemError, match="context_variance is for policies with a context"):
        CascadeHybrid(items, context_variance=0.1)
    with pytest.raises(ProblemError, match="CascadeLSBFull has no request_features: all that it knows of items"):
        LINEAR["CascadeLSBFull"](items, request_features=FEATURES)
    with pytest.raises(ProblemError, match="context must map names"):
        CascadeHybrid(items, context="hour")
    policy = CascadeHybrid(items, context=CONTEXT)
    with pytest.raises(ProblemError, match="context cannot change"):
        policy.with_settings(context=other)
    assert policy.with_settings(gamma=0.1).context == CONTEXT
    with pytest.raises(ProblemError, match="cannot share the state"):
        policy.sharing(CascadeHybrid(items, context=other))
    with pytest.raises(FeedbackError, match="the ranking is of another policy"):
        policy.update(CascadeHybrid(items, context=other).rank(K), 0)
    with pytest.raises(FeedbackError, match="a context of 3 numbers; expected 6"):
        policy.update(policy.rank(K).replace(context=other.encode(None)), 0)
    with pytest.raises(ValueError, match="7 columns for a policy of 42"):
        policy.with_state(CascadeHybrid(items).state())
    assert CascadeLSB(items, request_features=FEATURES).rank(2, features={}).features.shape == (2, 6)


def test_users_share_a_prior_over_all_columns() -> None:
    users = AcrossUsers(CascadeLinUCB(Catalog(relevance=[[0.6, 0.0], [0.0, 0.5]]), context={"hour": Hour()}), first=30)
    for turn in range(40):
        name = f"user {turn % 3}"
        ranking = users.rank(name, 1, fixed={0: turn % 2}, context={"hour": 6 + 12 * (turn % 2)})
        users.update(name, ranking, 0 if turn % 2 else None)
    assert len(users.prior.mean) == 6
    prior = Prior(np.full(6, 0.1), np.eye(6))
    started = users.policy.fresh().with_prior(prior)
    np.testing.assert_allclose(started.rank(1, context={"hour": 0}).weights, [0.2, 0.2])
