"""Ranked bandits against plain forms of them, and what they learn."""

import math

import numpy as np
import pytest
from clickers import Cascade, PositionBased, slope
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import Catalog, Intents, RankedEXP3, RankedUCB1, RankedZooming, check_policy, generate_intents, simulate
from rankfall.errors import FeedbackError, ProblemError
from rankfall.policies import make_policy
from rankfall.policies.ranked.policy import Choices
from rankfall.policies.ranking import Ranking

LINE = Catalog(relevance=np.linspace(0, 1, 8)[:, None])


def policies(k=3):
    return [
        RankedUCB1(8, k=k),
        RankedUCB1(8, k=k, clicks="all"),
        RankedEXP3(8, k=k, exploration=0.1),
        RankedEXP3(8, k=k, steps=5000, clicks="all"),
        RankedZooming(LINE, k=k, steps=5000),
        RankedZooming(LINE, k=k, radius=0.5, correlated=False),
    ]


LOSSES = RankedEXP3(8, k=3, steps=5000, estimates="losses")


@pytest.mark.parametrize("policy", [*policies(), *policies(1), *policies(6), LOSSES], ids=repr)
def test_keep_the_contract(policy):
    check_policy(policy)
    simulate(policy, Cascade(np.linspace(0.9, 0.1, 8)), 500, 3)
    check_policy(policy)


@pytest.mark.parametrize("name", ["RankedUCB1", "RankedEXP3", "RankedZooming"])
def test_are_in_the_table(name):
    policy = make_policy(name, Catalog(relevance=np.eye(5)), k=2, steps=500)
    assert (type(policy).__name__, policy.n_items, policy.k) == (name, 5, 2)


@pytest.mark.parametrize("policy", policies(), ids=repr)
def test_bandits_that_chose_what_is_shown_above_show_another_and_earn_nothing(policy):
    shown = Ranking([4, 2, 5], note=Choices([4, 4, 5], [0.5, 0.5, 0.5]))
    before = {name: array.sum() for name, array in policy.state().items()}
    policy.update(shown, 1)
    after = {name: array.sum() for name, array in policy.state().items()}
    assert after.get("sums", 0) == before.get("sums", 0)
    assert after.get("log_weights", 0) == before.get("log_weights", 0)


@pytest.mark.parametrize("policy", policies(), ids=repr)
def test_lists_are_cut_or_filled_up(policy):
    simulate(policy, Cascade(np.linspace(0.9, 0.1, 8)), 300, 3)
    longer = policy.rank(8, rng=np.random.default_rng(2))
    assert sorted(longer.items.tolist()) == list(range(8))
    assert longer.items[3:].tolist() == sorted(longer.items[3:].tolist())
    assert longer.note.items[3:] == [-1] * 5
    before = policy.state()
    policy.update(longer, 6)  # no bandit there
    for name in set(before) & {"sums", "log_weights"}:
        np.testing.assert_array_equal(policy.state()[name], before[name])
    assert len(policy.rank(1)) == 1


@pytest.mark.parametrize("policy", policies(), ids=repr)
def test_refuse_rankings_of_others(policy):
    before = policy.state()
    for strange in (
        Ranking([0, 1]),
        Ranking([0, 1], note=Choices([0], [1.0])),
        Ranking([0, 1], note=Choices([0, 8], [1.0, 1.0])),
    ):
        with pytest.raises(FeedbackError):
            policy.update(strange, 0)
    np.testing.assert_equal(policy.state(), before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RankedUCB1(5, k=0),
        lambda: RankedUCB1(5, exploration=-1),
        lambda: RankedUCB1(5, clicks="last"),
        lambda: RankedEXP3(5, exploration=1.5),
        lambda: RankedEXP3(5, steps=0),
        lambda: RankedZooming(5),
        lambda: RankedZooming(2, distances=[[0, 1], [0.5, 0]]),
        lambda: RankedZooming(3, distances=[[0, 1], [1, 0]]),
        lambda: RankedZooming(Catalog(relevance=np.ones((3, 1)))),
        lambda: RankedZooming(LINE, radius=0),
    ],
)
def test_refuse_settings_that_make_no_sense(make):
    with pytest.raises(ProblemError):
        make()


# RankedUCB1 -----------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(
    attraction=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    k=st.integers(1, 4),
    exploration=st.sampled_from([0.1, 2.0]),
    counted=st.sampled_from(["first", "all"]),
    seed=st.integers(0, 1000),
)
def test_ucb1_does_what_the_plain_form_does(attraction, k, exploration, counted, seed):
    n_items = len(attraction)
    k = min(k, n_items)
    policy, rng = RankedUCB1(n_items, k=k, exploration=exploration, clicks=counted), np.random.default_rng(seed)
    user = PositionBased(attraction, [1.0] * k)
    told = [[[] for _ in range(n_items)] for _ in range(k)]  # what each bandit was told of each item
    for _ in range(200):
        ranking = policy.rank(k, rng=rng)
        items, choices = ranking.items.tolist(), ranking.note.items
        assert len(set(items)) == k
        for bandit, (shown, choice) in enumerate(zip(items, choices, strict=True)):
            t = max(1, sum(len(x) for x in told[bandit]))
            index = [
                np.mean(x) + math.sqrt(exploration * math.log(t) / len(x)) if x else math.inf for x in told[bandit]
            ]
            assert index[choice] == pytest.approx(max(index), abs=1e-12)
            assert (shown == choice) == (choice not in items[:bandit])
        clicks = user.click(ranking.items, rng.random(k))
        policy.update(ranking, clicks)
        if counted == "first":
            clicks = clicks[:1]
        for bandit, (shown, choice) in enumerate(zip(items, choices, strict=True)):
            told[bandit][choice].append(float(bandit in clicks and shown == choice))
    state = policy.state()
    assert state["counts"].tolist() == [[len(x) for x in bandit] for bandit in told]
    assert state["sums"].tolist() == [[sum(x) for x in bandit] for bandit in told]
    assert state["plays"].tolist() == [200] * k


# RankedEXP3 -----------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(
    attraction=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    k=st.integers(1, 3),
    gamma=st.floats(0.01, 1.0),
    seed=st.integers(0, 1000),
)
def test_exp3_does_what_the_plain_form_does_even_if_answers_are_late(attraction, k, gamma, seed):
    n_items = len(attraction)
    k = min(k, n_items)
    policy, rng = RankedEXP3(n_items, k=k, exploration=gamma), np.random.default_rng(seed)
    user, waiting, log_weights = Cascade(attraction), [], np.zeros((k, n_items))
    for _ in range(150):
        w = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        p = (1 - gamma) * w / w.sum(axis=1, keepdims=True) + gamma / n_items
        np.testing.assert_allclose(policy.probabilities(), p, rtol=1e-9)
        np.testing.assert_allclose(policy.probabilities().sum(axis=1), 1.0, rtol=1e-12)
        ranking = policy.rank(k, rng=rng)
        items, choices, odds = ranking.items.tolist(), *ranking.note
        assert odds == pytest.approx([p[i, a] for i, a in enumerate(choices)])
        assert [s == c for s, c in zip(items, choices, strict=True)] == [
            c not in items[:i] for i, c in enumerate(choices)
        ]
        waiting.append((ranking, user.click(ranking.items, rng.random(k))))
        if rng.random() < 0.7:
            late, click = waiting.pop(int(rng.integers(len(waiting))))
            policy.update(late, click)
            if click is not None and late.note.items[click] == late.items[click]:
                a = late.note.items[click]
                log_weights[click, a] += gamma * (1 / late.note.odds[click]) / n_items


def test_exp3_weighs_what_it_sees_without_bias():
    """The mean of reward / probability for what was chosen, and 0 for the rest, is what each item earns on average."""
    policy, rng = RankedEXP3(4, k=1, exploration=0.3), np.random.default_rng(0)
    attraction, n = np.array([0.7, 0.5, 0.2, 0.1]), 40_000
    user, total, squares = Cascade(attraction), np.zeros(4), np.zeros(4)
    drawn = np.zeros(4)
    for coins in rng.random((200, 1)):  # so that the probabilities differ
        ranking = policy.rank(1, rng=rng)
        policy.update(ranking, user.click(ranking.items, coins))
    p = policy.probabilities()[0]
    assert p.max() > 2 * p.min()
    for coins in rng.random((n, 1)):
        ranking = policy.rank(1, rng=rng)
        drawn[ranking.items[0]] += 1
        if user.click(ranking.items, coins) == 0:
            total[ranking.items[0]] += 1 / ranking.note.odds[0]
            squares[ranking.items[0]] += 1 / ranking.note.odds[0] ** 2
    error = np.sqrt((squares / n - (total / n) ** 2) / n)
    assert (abs(total / n - attraction) < 4.5 * error).all()
    assert (abs(drawn / n - p) < 4.5 * np.sqrt(p * (1 - p) / n)).all()


def test_exp3_never_overflows_and_finds_its_way_back():
    policy = RankedEXP3(3, k=1, exploration=0.5)
    for favourite, many in ((0, 3000), (1, 12_000)):
        rng = np.random.default_rng(favourite)
        for _ in range(many):
            ranking = policy.rank(1, rng=rng)
            policy.update(ranking, 0 if ranking.items[0] == favourite else None)
        assert policy.probabilities()[0, favourite] == pytest.approx(0.5 + 0.5 / 3, abs=1e-3)
        assert np.isfinite(policy.state()["log_weights"]).all()


def test_exp3_draws_from_what_may_be_shown_only():
    policy = RankedEXP3(5, k=2, exploration=0.2)
    ranking = policy.rank(1, candidates=[3])
    assert (ranking.items.tolist(), ranking.note) == ([3], Choices([3], [1.0]))


# RankedZooming --------------------------------------------------------------------------------------------------------


def check_covered(policy):
    state = policy.state()
    for counts, active in zip(state["counts"], state["active"], strict=True):
        reach = np.sqrt(policy.radius / (1 + counts))
        assert (active[:, None] & (policy.distances <= reach[:, None])).any(axis=0).all()
        assert not counts[~active].any()


@settings(max_examples=20)
@given(
    points=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=8, unique=True),
    k=st.integers(1, 3),
    radius=st.sampled_from([0.3, 1.0, 10.0]),
    correlated=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_zooming_does_what_the_plain_form_does(points, k, radius, correlated, seed):
    points = np.array(points)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    n_items, k, rng = len(points), min(k, len(points)), np.random.default_rng(seed)
    policy = RankedZooming(n_items, k=k, distances=distances, radius=radius, correlated=correlated)
    user = Cascade(points[:, 0])
    told = [[[] for _ in range(n_items)] for _ in range(k)]
    for _ in range(150):
        check_covered(policy)
        ranking = policy.rank(k)
        active = policy.state()["active"]
        items, choices = ranking.items.tolist(), ranking.note.items
        for bandit, (shown, choice) in enumerate(zip(items, choices, strict=True)):
            above, index = items[:bandit], np.full(n_items, -np.inf)
            for a in np.flatnonzero(active[bandit]):
                x = told[bandit][a]
                r = math.sqrt(radius / (1 + len(x)))
                index[a] = (np.mean(x) if x else 0.0) + 2 * r
                if correlated and above:
                    index[a] = min(index[a], distances[a, above].min() + r)
            assert choice == np.argmax(index) or index[choice] == pytest.approx(index.max(), abs=1e-12)
            free = [a for a in range(n_items) if a not in above]
            assert shown == choice if choice in free else shown == min(free, key=lambda a: distances[choice, a])
        click = user.click(ranking.items, rng.random(k))
        policy.update(ranking, click)
        for bandit, (shown, choice) in enumerate(zip(items, choices, strict=True)):
            if click is None or bandit <= click:  # below a click nothing is told
                told[bandit][choice].append(float(bandit == click and shown == choice))
    state = policy.state()
    assert state["counts"].tolist() == [[len(x) for x in bandit] for bandit in told]
    assert state["sums"].tolist() == [[sum(x) for x in bandit] for bandit in told]


def test_zooming_looks_closer_only_where_it_pays():
    """On a line with one good end, most items at the bad end are never tried."""
    line = np.linspace(0, 1, 200)
    user = Cascade(np.maximum(0.0, 0.9 - line))
    policy = RankedZooming(Catalog(relevance=line[:, None]), k=1, steps=20_000, radius=1.0)
    assert slope(simulate(policy, user, 20_000, 1)) < 0.8
    tried = policy.state()["counts"][0] > 0
    assert tried[:40].mean() > 4 * tried[100:].mean()
    assert tried[100:].mean() < 0.3


def test_zooming_keeps_from_what_is_like_the_items_above():
    """Items come in two groups of equals: the second position tries the other group, as it should."""
    group = np.repeat([0.0, 1.0], 10)
    distances = np.abs(group[:, None] - group[None])
    user = Intents(np.stack([group == 0, group == 0, group == 1]))
    found = {}
    for correlated in (True, False):
        policy = RankedZooming(20, k=2, steps=3000, distances=distances, radius=1.0, correlated=correlated)
        found[correlated] = simulate(policy, user, 3000, 2).regret[-1]
    assert found[True] < found[False]


def test_zooming_takes_distances_from_the_features_of_a_catalog():
    catalog = Catalog(coverage=[[0.0], [0.3], [0.0]], relevance=[[0.0], [0.4], [1.0]])
    expected = np.array([[0, 0.5, 1], [0.5, 0, math.hypot(0.3, 0.6)], [1, math.hypot(0.3, 0.6), 0]])
    np.testing.assert_allclose(RankedZooming(catalog).distances, expected, atol=1e-12)


# What they learn ------------------------------------------------------------------------------------------------------

ATTRACTION = [0.02, 0.4, 0.02, 0.3, 0.5, 0.02]


@pytest.mark.parametrize(
    "policy",
    [
        RankedUCB1(6, k=3),
        RankedEXP3(6, k=3, steps=20_000),
        RankedZooming(Catalog(relevance=np.array(ATTRACTION)[:, None]), k=3, steps=20_000),
    ],
    ids=repr,
)
def test_regret_is_sublinear_under_the_cascade(policy):
    assert slope(simulate(policy, Cascade(ATTRACTION), 20_000, 3, seed=1)) < 0.8


@pytest.mark.parametrize("policy", [RankedUCB1(12, k=3), RankedEXP3(12, k=3, steps=20_000)], ids=repr)
def test_few_users_of_many_intents_leave_without_a_click(policy):
    """Diversity: the most popular items are all of one intent, and the greedy list serves three."""
    relevant = np.zeros((10, 12), dtype=bool)
    relevant[:5, :4], relevant[5:8, 4:8], relevant[8:, 8:] = True, True, True
    user = Intents(relevant)
    assert user.reward(user.best(3)) == 1.0
    run = simulate(policy, user, 20_000, 3, seed=1)
    assert slope(run) < 0.8
    late = np.diff(run.regret[-20:]) / np.diff(run.steps[-20:])
    assert late.mean() < 0.25  # showing popular items alone would lose a half


def test_ucb1_beats_exp3_on_users_of_the_paper():
    """The synthetic users of section 5: 20 users, 50 items, 5 positions; UCB1 learns faster, both learn."""
    user = generate_intents(seed=0)
    last = {}
    for policy in (RankedUCB1(50, k=5, exploration=0.2), RankedEXP3(50, k=5, steps=20_000)):
        run = simulate(policy, user, 20_000, 5, seed=0)
        pace = np.diff(run.regret) / np.diff(run.steps)
        last[type(policy).__name__] = pace[-10:].mean()
        assert pace[-10:].mean() < 0.8 * pace[:10].mean()
    assert last["RankedUCB1"] < last["RankedEXP3"]


def test_all_clicks_count_where_asked():
    policy = RankedUCB1(4, k=3, clicks="all")
    ranking = policy.rank(3, rng=np.random.default_rng(3))
    own = [c == s for c, s in zip(ranking.note.items, ranking.items.tolist(), strict=True)]
    policy.update(ranking, [0, 1, 2])
    assert policy.state()["sums"].sum(axis=1).tolist() == [float(x) for x in own]


@pytest.mark.parametrize("clicks", ["first", "all"])
def test_exp3_with_losses_is_the_exponential_of_the_losses_estimated(clicks):
    """Sums of losses as the public code of BatchRank's authors keeps them, from the lists that were shown."""
    policy = RankedEXP3(5, k=2, steps=1000, clicks=clicks, estimates="losses")
    eta = math.sqrt(2 * math.log(5) / (1000 * 5))
    assert policy.exploration == pytest.approx(eta)
    rng, losses = np.random.default_rng(1), np.zeros((2, 5))
    for _ in range(400):
        ranking = policy.rank(2, rng=rng)
        p = np.exp(-eta * losses)
        p /= p.sum(axis=1, keepdims=True)
        assert policy.probabilities() == pytest.approx(p)
        clicked = np.flatnonzero(rng.random(2) < [0.6, 0.5]).tolist()
        policy.update(ranking, clicked)
        told = clicked if clicks == "all" else clicked[:1]
        for position, choice in enumerate(ranking.note.items):
            earned = position in told and ranking.items[position] == choice
            losses[position, choice] += (1 - earned) / p[position, choice]


def test_exp3_with_losses_learns():
    alpha = np.array([0.1, 0.1, 0.9, 0.2, 0.6, 0.1])
    policy = RankedEXP3(6, k=2, steps=20_000, clicks="all", estimates="losses")
    run = simulate(policy, PositionBased(alpha, [1.0, 0.8]), 20_000, 2, seed=2)
    assert policy.probabilities().argmax(axis=1).tolist() == [2, 4]
    assert slope(run) < 0.8


def test_exp3_knows_two_kinds_of_estimates():
    with pytest.raises(ProblemError, match="estimates must be one of rewards, losses"):
        RankedEXP3(5, k=2, estimates="both")
