"""Users with different intents, against plain forms and all lists of small populations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import Catalog, Intents, ProblemError, check_environment, generate_intents, simulate
from rankfall.policies import make_policy
from rankfall.users import Drifting


@st.composite
def populations(draw):
    users, items = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    row = st.lists(st.booleans(), min_size=items, max_size=items)
    wanted = draw(st.lists(row, min_size=users, max_size=users))
    chance = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
    return Intents(wanted, relevant=draw(chance), other=draw(chance))


def plain_reward(population, items):
    total = 0.0
    for wanted in population.wanted.tolist():
        total += 1 - math.prod(1 - (population.relevant if wanted[a] else population.other) for a in items)
    return total / population.n_users


@settings(max_examples=100, deadline=None)
@given(population=populations(), data=st.data())
def test_rewards_best_and_optimum_against_all_lists(population, data):
    k = data.draw(st.integers(1, population.n_items))
    lists = list(itertools.permutations(range(population.n_items), k))
    rewards = [plain_reward(population, items) for items in lists]
    for items, reward in zip(lists[:50], rewards, strict=False):
        assert population.reward(items) == pytest.approx(reward, abs=1e-12)
    optimum = population.optimum(k)
    assert len(set(optimum.tolist())) == k
    assert population.reward(optimum) == pytest.approx(max(rewards), abs=1e-12)
    greedy = population.best(k).tolist()
    for position in range(k):
        above = greedy[:position]
        earned = [plain_reward(population, [*above, a]) for a in range(population.n_items) if a not in above]
        assert plain_reward(population, greedy[: position + 1]) == pytest.approx(max(earned), abs=1e-12)
    assert population.reward(greedy) >= (1 - 1 / math.e) * max(rewards) - 1e-12


@settings(max_examples=100, deadline=None)
@given(population=populations(), seed=st.integers(0, 1000))
def test_one_of_the_users_comes_and_reads_from_the_top(population, seed):
    rng = np.random.default_rng(seed)
    items = rng.permutation(population.n_items)
    for u, wanted in enumerate(population.wanted):
        coins = rng.random(len(items))
        given_coins = np.array([(u + coins[0]) / population.n_users, *coins[1:]])
        chance = np.where(wanted[items], population.relevant, population.other)
        clicked = np.flatnonzero(coins < chance)
        assert population.click(items, given_coins) == (clicked[0] if len(clicked) else None)


def test_the_last_coin_there_is_brings_the_last_user():
    for users in range(1, 200):
        assert Intents(np.eye(users)).click([users - 1], [np.nextafter(1.0, 0.0)]) == 0


@pytest.mark.parametrize(("relevant", "other"), [(1.0, 0.0), (0.7, 0.1), (0.0, 0.3)])
def test_they_keep_the_contract(relevant, other):
    population = generate_intents(7, 12, 2.0, relevant=relevant, other=other, seed=3)
    check_environment(population, trials=5000)
    check_environment(Drifting([(0, population), (100, generate_intents(5, 12, seed=4))]), trials=1000)


def test_greedy_may_miss_the_optimum():
    """The item that most users want shuts out the two that serve all."""
    wanted = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 1], [0, 0, 1]])
    population = Intents(wanted)
    assert (population.best(2).tolist(), population.optimum(2).tolist()) == ([0, 1], [1, 2])
    assert (population.reward([0, 1]), population.reward([1, 2])) == (pytest.approx(5 / 6), 1.0)


def test_the_optimum_at_the_size_of_the_paper():
    """50 choose 5 is more than is tried; documents that are alike make it small."""
    for seed in range(5):
        population = generate_intents(seed=seed)
        best, most = (population.reward(items) for items in (population.best(5), population.optimum(5)))
        assert (1 - 1 / math.e) * most <= best <= most
    with pytest.raises(ProblemError, match="5 of 60 items make 5,461,512 lists; trying all is offered up to 2,000,000"):
        Intents(np.eye(60)).optimum(5)


def test_generated_topics_have_as_many_documents_as_users():
    topics = []
    for seed in range(300):
        population = generate_intents(seed=seed)
        kinds, count = np.unique(population.wanted, axis=0, return_counts=True)
        size = kinds.sum(axis=1)
        assert (count % size == 0).all()  # twice as many users where two topics drew the same documents
        topics.append((count // size).sum())
    expected = sum(3 / (3 + n) for n in range(20))
    assert np.mean(topics) == pytest.approx(expected, abs=5 * np.std(topics) / math.sqrt(300))
    assert (generate_intents(seed=5).wanted == generate_intents(seed=5).wanted).all()
    assert len(np.unique(generate_intents(9, 4, 0.0).wanted, axis=0)) == 1  # one topic, of every document
    assert repr(generate_intents(3, 4, relevant=0.8)) == "Intents(3 users, 4 items, relevant=0.8, other=0)"


def test_regret_is_against_the_greedy_list():
    population = generate_intents(6, 8, seed=2)
    policy = make_policy("CascadeKLUCB", Catalog(relevance=np.eye(8)), k=2, steps=200)
    run = simulate(policy, population, 200, 2)
    assert run.best == population.reward(population.best(2))
    assert 0 < run.clicks[-1] <= 200


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Intents([[0, 2]]), "wanted holds 2; expected 1 for a relevant item"),
        (lambda: Intents([0, 1]), "wanted must have 2 axes"),
        (lambda: Intents(np.empty((0, 3))), "at least one user and one item"),
        (lambda: Intents([[1]], relevant=1.5), "relevant must be a number in"),
        (lambda: Intents([[1]], other=-1), "other must be a number in"),
        (lambda: Intents([[1]]).best(2), "k must be a whole number from 1 to 1"),
        (lambda: Intents([[1]]).reward([1]), "items holds row 1"),
        (lambda: Intents([[1, 0]]).click([0, 1], [0.5]), "1 coins for 2 positions"),
        (lambda: Intents([[1, 0], [0, 1]]).click([0, 1], [1.0, 0.5]), "coins must lie in"),
        (lambda: generate_intents(0), "users must be a whole number from 1 on"),
        (lambda: generate_intents(documents=0), "documents must be a whole number from 1 on"),
        (lambda: generate_intents(alpha=-1), "alpha must be a number in"),
        (lambda: generate_intents(seed=-1), "seed must be a whole number from 0 on"),
    ],
)
def test_nonsense_is_refused_in_words(make, said):
    with pytest.raises(ProblemError, match=said):
        make()
