"""Users of any attraction and click model, against enumeration of all that their coins can decide."""

import itertools
import math

import numpy as np
import pytest
from user_kinds import ATTRACTIONS, PAIRS, attraction, clicks

from rankfall import (
    Cascade,
    Coverage,
    DependentClick,
    DocumentBased,
    Hybrid,
    Linear,
    PerItem,
    PositionBased,
    ProblemError,
    User,
)


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_reward_is_the_mean_over_everything_the_coins_can_say(model, reward, kind):
    """The coins matter only by where they fall: below v e alpha, below e alpha, or above. All cases, by their size."""
    rng = np.random.default_rng([PAIRS.index((model, reward)), ATTRACTIONS.index(kind)])
    user = User(attraction(kind, rng), clicks(model, rng), reward)
    for k in (1, 3, 5):
        items = rng.permutation(6)[:k]
        alpha = user.attraction_of(items)
        examination, termination = user.clicks.chain(k)
        mean, total = 0.0, 0.0
        cuts = [(0.0, v * e * a, e * a, 1.0) for v, e, a in zip(termination, examination, alpha, strict=True)]
        for parts in itertools.product(range(3), repeat=k):
            low = [cuts[i][part] for i, part in enumerate(parts)]
            high = [cuts[i][part + 1] for i, part in enumerate(parts)]
            size = math.prod(b - a for a, b in zip(low, high, strict=True))
            if size > 0:
                mean += size * user.earned(items, [(a + b) / 2 for a, b in zip(low, high, strict=True)])
                total += size
        assert total == pytest.approx(1.0)
        assert user.reward(items) == pytest.approx(mean, abs=1e-12)


def literal(model, alpha, rng, termination=None, examination=None):
    """Clicks drawn as the click models' papers tell the story, with a draw for every decision."""
    positions, satisfied = [], False
    for i, a in enumerate(alpha):
        if examination is not None and rng.random() >= examination[i]:
            continue
        if rng.random() < a:
            positions.append(i)
            if model in ("cascade", "examined") or (termination is not None and rng.random() < termination[i]):
                satisfied = True
                break
    return positions, satisfied


@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_clicks_and_rewards_are_as_frequent_as_the_story_says(model, reward):
    rng = np.random.default_rng(7)
    user = User(PerItem([0.6, 0.3, 0.5, 0.2]), clicks(model, rng, 4), reward)
    items, trials = np.array([1, 0, 2, 3]), 20_000
    stories = [
        literal(
            model,
            user.attraction_of(items),
            rng,
            getattr(user.clicks, "termination", None),
            getattr(user.clicks, "examination", None),
        )
        for _ in range(trials)
    ]
    story = np.zeros((trials, 4))
    for row, (positions, _) in zip(story, stories, strict=True):
        row[positions] = 1
    ours = np.zeros((trials, 4))
    for row, coins in zip(ours, rng.random((trials, 4)), strict=True):
        click = user.click(items, coins)
        row[[] if click is None else click if isinstance(click, int) else list(click)] = 1
    error = np.sqrt((story.var(axis=0) + ours.var(axis=0)) / trials)
    assert (abs(story.mean(axis=0) - ours.mean(axis=0)) <= 5 * error + 1e-9).all()
    together = np.cov(story.T) - np.cov(ours.T)  # clicks at two positions come together as often
    assert abs(together).max() < 5 * 2 * 0.25 / math.sqrt(trials)
    earned = {
        "any": story.any(axis=1).astype(float),
        "clicks": story.sum(axis=1),
        "satisfied": np.array([float(satisfied) for _, satisfied in stories]),
    }[reward]
    assert abs(earned.mean() - user.reward(items)) < 5 * earned.std() / math.sqrt(trials)


def test_rewards_by_hand():
    table = PerItem([0.5, 0.4])
    dependent = DependentClick([0.8, 0.5])
    assert User(table, Cascade()).reward([0, 1]) == pytest.approx(0.7)
    assert User(table, dependent, "any").reward([0, 1]) == pytest.approx(0.7)
    assert User(table, dependent, "clicks").reward([0, 1]) == pytest.approx(0.5 + 0.6 * 0.4)
    assert User(table, dependent).reward([0, 1]) == pytest.approx(1 - 0.6 * 0.8)
    assert User(table, PositionBased([0.9, 0.5])).reward([0, 1]) == pytest.approx(0.45 + 0.2)
    assert User(table, PositionBased([0.9, 0.5]), "any").reward([0, 1]) == pytest.approx(1 - 0.55 * 0.8)
    assert User(table, DocumentBased()).reward([0, 1]) == pytest.approx(0.9)


def test_clicks_by_hand():
    table = PerItem([0.5, 0.4, 0.9])
    items, coins = [0, 1, 2], [0.45, 0.39, 0.5]
    assert User(table, Cascade()).click(items, coins) == 0
    assert User(table, Cascade()).click(items, [0.5, 0.4, 0.9]) is None
    assert User(table, DocumentBased()).click(items, coins) == (0, 1, 2)
    assert User(table, DocumentBased()).click(items, [0.9, 0.9, 0.9]) == ()
    assert User(table, PositionBased([0.5, 1.0, 0.5])).click(items, coins) == (1,)
    # 0.45 is not below 0.8 * 0.5, so reads on; 0.39 is below 1 * 0.4, so leaves
    assert User(table, DependentClick([0.8, 1.0, 1.0])).click(items, coins) == (0, 1)
    assert User(table, DependentClick([0.8, 1.0, 1.0])).click(items, [0.3, 0.0, 0.0]) == (0,)


@pytest.mark.parametrize("kind", ["per_item", "linear"])
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_best_is_the_optimum_where_a_formula_gives_it(model, reward, kind):
    rng = np.random.default_rng(PAIRS.index((model, reward)))
    for _ in range(60):
        k = int(rng.integers(1, 5))
        chosen = clicks(model, rng)
        if (model, reward) == ("dependent", "clicks"):
            chosen = DependentClick(np.sort(rng.random(5)))
        user = User(attraction(kind, rng), chosen, reward)
        assert user.reward(user.best(k)) == pytest.approx(user.reward(user.optimum(k)), abs=1e-12)


def test_best_where_termination_falls_is_close_and_never_worse_than_sorting():
    """By hand: with v = (1, 0, 0) an attractive item on top ends it all; the best list has the dullest there."""
    rng = np.random.default_rng(3)
    user = User(PerItem([0.9, 0.8, 0.7, 0.1]), DependentClick([1.0, 0.0, 0.0]), "clicks")
    assert user.best(3)[0] == 3
    exact = 0
    for _ in range(100):
        user = User(PerItem(rng.random(6)), DependentClick(rng.random(4)), "clicks")
        ours, most = user.reward(user.best(4)), user.reward(user.optimum(4))
        assert user.reward(user.attraction.greedy(4)) - 1e-12 <= ours <= most + 1e-12
        assert ours > 0.97 * most
        exact += ours > most - 1e-9
    assert exact > 80


@pytest.mark.parametrize("kind", ["hybrid", "coverage"])
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_best_is_greedy_where_items_take_from_each_other(model, reward, kind):
    rng = np.random.default_rng(PAIRS.index((model, reward)))
    for _ in range(10):
        user = User(attraction(kind, rng), clicks(model, rng), reward)
        items = []
        for _ in range(3):
            left = [a for a in range(6) if a not in items]
            items.append(max(left, key=lambda a: user.attraction_of([*items, a])[-1]))
        assert user.attraction_of(user.best(3)).tolist() == pytest.approx(user.attraction_of(items).tolist(), abs=1e-12)
        assert user.reward(user.best(3)) <= user.reward(user.optimum(3)) + 1e-12


def test_of_equals_the_lowest_row():
    assert User(PerItem([0.1, 0.5, 0.1, 0.5]), Cascade()).best(4).tolist() == [1, 3, 0, 2]
    assert User(PerItem([0.1, 0.5, 0.3]), PositionBased([0.2, 0.9, 0.2])).best(3).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PerItem([0.5, 1.5]), "alpha holds 1.5; attraction is a probability"),
        (lambda: PerItem([]), "alpha is empty"),
        (lambda: PerItem([math.nan]), "alpha holds nan"),
        (lambda: Linear([[1.0, 2.0]], [1.0]), "beta has 1 entries for 2 columns"),
        (lambda: Linear(np.empty((0, 1)), [1.0]), "relevance has no rows"),
        (lambda: Coverage([[2.0]], [1.0]), r"coverage must lie in \[0, 1\]"),
        (lambda: Hybrid([[0.5]], [[1.0]], [1.0], [1.0], 2.0), "tradeoff must be"),
        (lambda: DependentClick([0.5, -0.1]), "termination holds -0.1"),
        (lambda: PositionBased([]), "examination is empty"),
        (lambda: User([0.5], Cascade()), "attraction must be a PerItem"),
        (lambda: User(PerItem([0.5]), "cascade"), "clicks must be a Cascade"),
        (lambda: User(PerItem([0.5]), Cascade(), "regret"), "reward must be one of any, clicks, satisfied"),
        (lambda: User(PerItem([0.5]), PositionBased([1.0]), "satisfied"), "makes no sense with PositionBased"),
        (lambda: User(PerItem([0.5]), DocumentBased(), "satisfied"), "choose from clicks, any"),
        (lambda: User(PerItem([0.5]), Cascade()).best(2), "k must be a whole number from 1 to 1"),
        (lambda: User(PerItem([0.5]), Cascade()).reward([1]), "items holds row 1"),
        (lambda: User(PerItem([0.5, 0.5]), Cascade()).reward([1, 1]), "items holds 1 twice"),
        (lambda: User(PerItem([0.5, 0.5]), Cascade()).click([1, 0], [0.5]), "1 coins for 2 positions"),
        (lambda: User(PerItem([0.5, 0.5]), DependentClick([0.5])).reward([1, 0]), "longer than the 1 positions"),
        (lambda: User(PerItem(np.ones(300)), Cascade()).optimum(3), "26,730,600 lists"),
    ],
)
def test_nonsense_is_refused_in_words(make, said):
    with pytest.raises(ProblemError, match=said):
        make()


def test_a_list_of_another_integer_type_is_not_mistaken():
    user = User(PerItem([0.1, 0.5, 0.9]), Cascade())
    for kind in (np.int64, np.int32, np.uint8):
        assert user.reward(np.array([2, 0], dtype=kind)) == user.reward([2, 0])
    assert user.reward(np.array([0, 1, 2, 0])[::2][:1]) == user.reward([0])
