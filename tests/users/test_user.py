"""Users of any attraction and click model, against enumeration of all that their coins can decide."""

import itertools
import math

import numpy as np
import pytest
from user_kinds import ATTRACTIONS, PAIRS, attraction, clicks

from rankfall import (
    Cascade,
    ClickChain,
    Coverage,
    DependentClick,
    DocumentBased,
    DynamicBayesian,
    Hybrid,
    Linear,
    PerItem,
    PositionBased,
    ProblemError,
    User,
    UserBrowsing,
)


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_reward_is_the_mean_over_everything_the_coins_can_say(model, reward, kind):
    """The coins matter only by where they fall among the decisions at a position. All cases, by their size."""
    rng = np.random.default_rng([PAIRS.index((model, reward)), ATTRACTIONS.index(kind)])
    user = User(attraction(kind, rng), clicks(model, rng), reward)
    for k in (1, 3, 5):
        items = rng.permutation(6)[:k]
        alpha = user.attraction_of(items)
        mean, total = 0.0, 0.0
        cuts = [sorted({0.0, *decisions(user.clicks, i, items[i], a), 1.0}) for i, a in enumerate(alpha)]
        for parts in itertools.product(*(range(len(cut) - 1) for cut in cuts)):
            low = [cuts[i][part] for i, part in enumerate(parts)]
            high = [cuts[i][part + 1] for i, part in enumerate(parts)]
            size = math.prod(b - a for a, b in zip(low, high, strict=True))
            mean += size * user.earned(items, [(a + b) / 2 for a, b in zip(low, high, strict=True)])
            total += size
        assert total == pytest.approx(1.0)
        assert user.reward(items) == pytest.approx(mean, abs=1e-12)


def decisions(model, i, item, alpha):
    """Where a coin decides otherwise, at position i with this item."""
    if isinstance(model, UserBrowsing):
        return [e * alpha for e in model.examination[i, : i + 1]]
    if isinstance(model, DynamicBayesian):
        s, gamma = model.satisfaction(np.array([item]), np.array([alpha]))[0], model.continuation
        return [s * alpha, (1 - gamma * (1 - s)) * alpha, alpha, alpha + gamma * (1 - alpha)]
    if isinstance(model, ClickChain):
        none, dull, attractive = model.continuation
        return [(1 - dull * (1 - alpha) - attractive * alpha) * alpha, alpha, alpha + none * (1 - alpha)]
    e = model.examination[i] if hasattr(model, "examination") else 1.0
    v = model.termination[i] if hasattr(model, "termination") else 1.0
    return [v * e * alpha, e * alpha]


def literal(model, items, alpha, rng):
    """Clicks drawn as the click models' papers tell the story, with a draw for every decision."""
    positions, satisfied = [], False
    for i, a in enumerate(alpha):
        if isinstance(model, UserBrowsing):
            above = positions[-1] + 1 if positions else 0
            if rng.random() >= model.examination[i, above]:
                continue
        elif hasattr(model, "examination") and rng.random() >= model.examination[i]:
            continue
        clicked = rng.random() < a
        if clicked:
            positions.append(i)
            satisfied = model.single
            if isinstance(model, DependentClick):
                satisfied = rng.random() < model.termination[i]
            if isinstance(model, DynamicBayesian):
                satisfied = rng.random() < model.satisfaction(items, alpha)[i]
            if satisfied:
                break
        if isinstance(model, DynamicBayesian) and rng.random() >= model.continuation:
            break
        if isinstance(model, ClickChain):
            relevant = rng.random() < a
            case = 0 if not clicked else 2 if relevant else 1
            if rng.random() >= model.continuation[case]:
                break
    return positions, satisfied


@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_clicks_and_rewards_are_as_frequent_as_the_story_says(model, reward):
    rng = np.random.default_rng(7)
    user = User(PerItem([0.6, 0.3, 0.5, 0.2]), clicks(model, rng, 4, 4), reward)
    items, trials = np.array([1, 0, 2, 3]), 20_000
    stories = [literal(user.clicks, items, user.attraction_of(items), rng) for _ in range(trials)]
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
    browsing = UserBrowsing([[0.9], [0.5, 0.8]])
    assert User(table, browsing).reward([0, 1]) == pytest.approx(0.45 + 0.4 * (0.45 * 0.8 + 0.55 * 0.5))
    assert User(table, browsing, "any").reward([0, 1]) == pytest.approx(1 - 0.55 * 0.8)
    bayesian = DynamicBayesian([0.7, 0.6], 0.9)
    goes_on = 0.9 * (1 - 0.5 * 0.7)
    assert User(table, bayesian, "clicks").reward([0, 1]) == pytest.approx(0.5 + goes_on * 0.4)
    assert User(table, bayesian).reward([0, 1]) == pytest.approx(0.35 + goes_on * 0.24)
    assert User(table, bayesian, "any").reward([0, 1]) == pytest.approx(0.5 + 0.5 * 0.9 * 0.4)
    chain = ClickChain([0.9, 0.8, 0.2])
    assert User(table, chain).reward([0, 1]) == pytest.approx(0.5 + (0.5 * 0.9 + 0.5 * 0.5) * 0.4)
    assert User(table, chain, "any").reward([0, 1]) == pytest.approx(0.5 + 0.5 * 0.9 * 0.4)


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
    # 0.45 is below 0.5 * 1; then 0.39 is not below 0.4 * 0.5, and 0.8 is below 0.9 * 1, that of a last click at the top
    browsing = UserBrowsing([[1.0], [1.0, 0.5], [0.0, 1.0, 0.0]])
    assert User(table, browsing).click(items, [0.45, 0.39, 0.8]) == (0, 2)
    assert User(table, browsing).click(items, [0.5, 0.4, 0.0]) == ()
    # satisfied below 0.1, gone below 0.1 + 0.25 * 0.4, clicks below 0.5, goes on below 1 - 0.25 * 0.5
    bayesian = User(table, DynamicBayesian([0.2, 0.2, 0.2], 0.75))
    coins = [0.05, 0.15, 0.21, 0.8, 0.88]
    assert [bayesian.click(items, [u, 0.3, 0.0]) for u in coins] == [(0,), (0,), (0, 1, 2), (1, 2), ()]
    assert [bayesian.earned(items, [u, 0.3, 0.9]) for u in coins] == [1, 0, 0, 0, 0]
    # leaves after a click below 0.25, clicks below 0.5, goes on below 1 - 0.4 * 0.5
    chain = User(table, ClickChain([0.6, 1.0, 0.0]))
    assert [chain.click(items, [u, 0.3, 0.0]) for u in (0.24, 0.25, 0.79, 0.8)] == [(0,), (0, 1, 2), (1, 2), ()]


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


@pytest.mark.parametrize(("model", "reward"), PAIRS[-7:])
def test_best_of_ten_items_is_the_optimum(model, reward):
    rng = np.random.default_rng(PAIRS.index((model, reward)))
    for _ in range(3):
        user = User(PerItem(rng.random(10)), clicks(model, rng, 5, 10), reward)
        assert user.reward(user.best(5)) == pytest.approx(user.reward(user.optimum(5)), abs=1e-12)


def test_best_where_a_click_spoils_what_is_below():
    """By hand: after a click at the top nothing else is examined, so the dullest item stands there."""
    user = User(PerItem([0.9, 0.8, 0.5, 0.1]), UserBrowsing([[1.0], [1.0, 0.0], [1.0, 0.0, 1.0]]))
    assert user.best(3)[0] == 3
    assert user.reward(user.best(3)) == pytest.approx(0.1 + 0.9 * (0.9 + 0.8))
    patient = User(PerItem([0.9, 0.5, 0.4]), DynamicBayesian([1.0, 0.0, 0.1]), "clicks")
    assert patient.best(3).tolist() == [1, 2, 0]


def test_best_of_long_lists_where_examination_depends_on_clicks():
    rng = np.random.default_rng(5)
    user = User(PerItem(rng.random(12)), UserBrowsing(np.tril(rng.random((10, 10)))))
    best = user.best(10)
    assert user.reward(best) >= user.reward(user.attraction.greedy(10))
    others = np.array([rng.permutation(12)[:10] for _ in range(2000)])
    assert user.reward(best) > max(user.reward(items) for items in others)


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
    # who leaves only satisfied is satisfied as often in any order of the same items
    assert User(PerItem([0.1, 0.3, 0.7, 0.7]), DynamicBayesian([0.7, 0.9, 0.3, 0.3])).best(3).tolist() == [1, 2, 3]


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
        (lambda: UserBrowsing([]), "examination is empty"),
        (lambda: UserBrowsing(0.5), "examination must have a row for each position, got 0.5"),
        (lambda: UserBrowsing([[1.0], [0.5]]), "row 2 of examination has 1 entries; it needs 2: no click above"),
        (lambda: UserBrowsing([[1.0, 0.2], [0.5, 0.4]]), "row 1 of examination has 2 entries; it needs 1"),
        (lambda: UserBrowsing([[1.0], [0.5, 2.0]]), "examination holds 2; it is a probability for each position and"),
        (lambda: DynamicBayesian([0.5, 2.0]), "satisfaction holds 2; it is a probability for each item"),
        (lambda: DynamicBayesian([0.5], 1.5), r"continuation must be a number in \[0, 1\], got 1.5"),
        (lambda: User(PerItem([0.5, 0.4]), DynamicBayesian([0.5])), "DynamicBayesian has 1 items and the attraction 2"),
        (lambda: ClickChain([0.5]), "continuation of a ClickChain has 1 numbers; it needs three"),
        (lambda: ClickChain([0.5, 0.5, -1.0]), "continuation holds -1; it is a probability for each case"),
        (lambda: User(PerItem([0.5]), ClickChain([1, 1, 1]), "satisfied"), "makes no sense with ClickChain"),
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
