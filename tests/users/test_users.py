"""Users of any attraction and click model, against enumeration of everything their coins can say."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import (
    Cascade,
    CascadeHybrid,
    CascadeUser,
    Catalog,
    ContractError,
    Coverage,
    DependentClick,
    DocumentBased,
    Drifting,
    Hybrid,
    Linear,
    PerItem,
    PositionBased,
    ProblemError,
    Ranking,
    User,
    check_environment,
    simulate,
)
from rankfall.errors import FeedbackError
from rankfall.experiments.episodes.general import _Memory, any_policy_with_any_user
from rankfall.experiments.simulation import streams
from rankfall.policies.ranking import all_clicks, eligible

PAIRS = [
    (model, reward)
    for model, rewards in {
        "cascade": ("any", "clicks", "satisfied"),
        "dependent": ("any", "clicks", "satisfied"),
        "position": ("any", "clicks"),
        "document": ("any", "clicks"),
    }.items()
    for reward in rewards
]
ATTRACTIONS = ["table", "linear", "hybrid", "coverage"]


def attraction(kind, rng, n=6):
    x, z = rng.random((n, 3)) * (rng.random((n, 3)) < 0.7), rng.random((n, 2))
    theta, beta = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))
    match kind:
        case "table":
            return PerItem(rng.random(n))
        case "linear":
            return Linear(z, beta)
        case "hybrid":
            return Hybrid(x, z, theta, beta, 0.4)
    return Coverage(x, theta)


def clicks(kind, rng, k=5):
    match kind:
        case "cascade":
            return Cascade()
        case "dependent":
            return DependentClick(rng.random(k))
        case "position":
            return PositionBased(rng.random(k))
    return DocumentBased()


def alphas(user, items):
    return user.attraction.of(np.array([items]))[0]


# --- reward and clicks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_reward_is_the_mean_over_everything_the_coins_can_say(model, reward, kind):
    """The coins matter only by where they fall: below v e alpha, below e alpha, or above. All cases, by their size."""
    rng = np.random.default_rng([PAIRS.index((model, reward)), ATTRACTIONS.index(kind)])
    user = User(attraction(kind, rng), clicks(model, rng), reward)
    for k in (1, 3, 5):
        items = rng.permutation(6)[:k]
        alpha = alphas(user, items)
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
            if model == "cascade" or (termination is not None and rng.random() < termination[i]):
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
            alphas(user, items),
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


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), tradeoff=st.sampled_from([0.0, 0.3, 1.0]))
def test_hybrid_attraction_with_cascade_clicks_is_the_user_of_the_paper(seed, tradeoff):
    rng = np.random.default_rng(seed)
    given_ = rng.random((7, 3)), rng.random((7, 2)), rng.dirichlet(np.ones(3)), rng.normal(size=2), tradeoff
    ours, papers = User(Hybrid(*given_), Cascade()), CascadeUser(*given_)
    items = rng.permutation(7)[:4]
    assert ours.reward(items) == papers.reward(items)
    assert ours.covered(items) == papers.covered(items)
    assert ours.best(4).tolist() == papers.best(4).tolist()
    for coins in rng.random((20, 4)):
        assert ours.click(items, coins) == papers.click(items, coins)
    assert ours.reward(ours.optimum(2)) == pytest.approx(papers.reward(papers.optimum(2)), abs=1e-14)


# --- oracles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "linear"])
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
            items.append(max(left, key=lambda a: alphas(user, [*items, a])[-1]))
        assert alphas(user, user.best(3)).tolist() == pytest.approx(alphas(user, items).tolist(), abs=1e-12)
        assert user.reward(user.best(3)) <= user.reward(user.optimum(3)) + 1e-12


def test_of_equals_the_lowest_row():
    assert User(PerItem([0.1, 0.5, 0.1, 0.5]), Cascade()).best(4).tolist() == [1, 3, 0, 2]
    assert User(PerItem([0.1, 0.5, 0.3]), PositionBased([0.2, 0.9, 0.2])).best(3).tolist() == [2, 1, 0]


# --- nonsense -----------------------------------------------------------------------------------------------------


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
        (lambda: Drifting([]), "changes are empty"),
        (lambda: Drifting([(5, User(PerItem([0.5]), Cascade()))]), "must stand at step 0, got 5"),
        (lambda: Drifting([(0, User(PerItem([0.5]), Cascade()))] * 2), "must ascend in steps, got 0 after 0"),
        (lambda: Drifting([(0, "me")]), "must hold environments"),
        (
            lambda: Drifting([(0, User(PerItem([0.5]), Cascade())), (5, User(PerItem([0.5, 0.1]), Cascade()))]),
            "the same items, got 1 and 2",
        ),
        (
            lambda: Drifting(
                [(0, User(PerItem([0.5]), Cascade())), (5, User(PerItem([0.5]), DocumentBased()))], smooth=True
            ),
            "one of attraction alone",
        ),
        (lambda: Drifting([(0, User(PerItem([0.5]), Cascade()))], every=3), "every is for smooth drift"),
        (lambda: Drifting([(0, User(PerItem([0.5]), Cascade()))]).at(-1), "step must be a whole number"),
    ],
)
def test_nonsense_is_refused_in_words(make, said):
    with pytest.raises(ProblemError, match=said):
        make()


# --- in a simulation ----------------------------------------------------------------------------------------------


class Shuffling:
    """Ranks at random and remembers what it was told."""

    def __init__(self, n_items):
        self.n_items = n_items
        self.told = []

    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        k, allowed = eligible(k, self.n_items, candidates, exclude)
        return Ranking(rng.permutation(allowed)[:k])

    def update(self, ranking, click):
        self.told.append((ranking.items.tolist(), click))


class Wrapped:
    """A user as anyone could write one: nothing that a simulation could know from inside."""

    def __init__(self, user):
        self.n_items, self.reward, self.click, self.best = user.n_items, user.reward, user.click, user.best
        self.covered = user.covered


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_the_fast_loop_does_what_the_plain_one_does_to_the_bit(model, reward, kind):
    rng = np.random.default_rng(1)
    user = User(attraction(kind, rng), clicks(model, rng), reward)
    policies, runs = [Shuffling(6), Shuffling(6)], []
    for policy, person in zip(policies, (user, Wrapped(user)), strict=True):
        runs.append(simulate(policy, person, 300, 3, seed=4))
    assert policies[0].told == policies[1].told
    for name in ("regret", "clicks", "touched", "covered"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()
    most = user.reward(user.best(3))
    by_hand = np.cumsum([most - user.reward(items) for items, _ in policies[0].told])
    assert runs[0].regret[-1] == pytest.approx(by_hand[-1], abs=1e-9)
    assert runs[0].clicks[-1] == sum(click not in (None, ()) for _, click in policies[0].told)


def test_policies_of_any_kind_on_the_user_of_the_paper_see_what_the_plain_loop_shows_to_the_bit():
    rng = np.random.default_rng(10)
    user = CascadeUser(rng.random((7, 3)), rng.random((7, 2)), rng.dirichlet(np.ones(3)), rng.normal(size=2), 0.6)
    policies = [Shuffling(7), Shuffling(7)]
    runs = [simulate(policy, one, 300, 3, seed=4) for policy, one in zip(policies, (user, Wrapped(user)), strict=True)]
    assert policies[0].told == policies[1].told
    for name in ("regret", "clicks", "touched", "covered"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()


def test_the_plain_loop_adds_up_as_it_always_did():
    """The sums before they were kept as plain numbers: an array, added to at each step."""
    person = User(PerItem(np.linspace(0.1, 0.7, 6)), Cascade())
    best = person.reward(person.best(3))
    totals, expected = np.zeros(4), np.zeros(4)
    policy, again = Shuffling(6), Shuffling(6)
    coin_rng, rng = streams(3)
    coins = coin_rng.random((200, 3))
    any_policy_with_any_user(policy, Wrapped(person), 3, best, rng)(coins, totals)
    _, rng = streams(3)
    for flips in coins:
        ranking = again.rank(3, rng=rng)
        click = person.click(ranking.items, flips)
        expected += best - person.reward(ranking.items), click is not None, *person.covered(ranking.items)
    assert totals.tobytes() == expected.tobytes()


def test_a_simulation_remembers_a_bounded_number_of_lists():
    user = User(PerItem(np.linspace(0.1, 0.7, 6)), Cascade())
    memory = _Memory(user, room=10)
    for items in itertools.permutations(range(6), 3):
        for _ in range(2):
            assert memory.look(np.array(items)).reward == user.reward(items)
        assert len(memory._lists) <= 10


def test_a_list_of_another_integer_type_is_not_mistaken():
    user = User(PerItem([0.1, 0.5, 0.9]), Cascade())
    for kind in (np.int64, np.int32, np.uint8):
        assert user.reward(np.array([2, 0], dtype=kind)) == user.reward([2, 0])
    assert user.reward(np.array([0, 1, 2, 0])[::2][:1]) == user.reward([0])


# --- users who change ---------------------------------------------------------------------------------------------


class Fixed(Shuffling):
    def rank(self, k, *, rng=None, candidates=None, exclude=None):
        return Ranking(np.arange(k))


def test_regret_is_against_the_best_list_of_each_step():
    one, other = User(PerItem([0.6, 0.2, 0.1]), Cascade()), User(PerItem([0.1, 0.2, 0.9]), Cascade())
    drifting = Drifting([(0, one), (70, other), (90, one)])
    run = simulate(Fixed(3), drifting, 120, 1, checkpoints=[70, 90, 120])
    assert run.regret.tolist() == pytest.approx([0.0, 20 * 0.8, 20 * 0.8])
    assert run.best == pytest.approx((100 * 0.6 + 20 * 0.9) / 120)


def test_smooth_drift_moves_in_a_straight_line_and_stays():
    one, other = User(PerItem([0.8, 0.2]), DocumentBased()), User(PerItem([0.0, 0.6]), DocumentBased())
    drifting = Drifting([(0, one), (100, other), (200, other)], smooth=True)
    for step in (0, 1, 50, 99):
        mixed = drifting.at(step)
        assert mixed is drifting.at(step)
        np.testing.assert_allclose(mixed.attraction.alone, [0.8 - 0.008 * step, 0.2 + 0.004 * step])
    assert drifting.at(100) is other
    assert drifting.at(10**9) is other
    run = simulate(Fixed(2), Drifting([(0, one), (100, other)], smooth=True), 100, 1)
    by_hand = sum(max(0.0, (0.2 + 0.004 * s) - (0.8 - 0.008 * s)) for s in range(100))
    assert run.regret[-1] == pytest.approx(by_hand)
    coarse = Drifting([(0, one), (100, other)], smooth=True, every=10)
    assert coarse.at(37) is coarse.at(30)
    assert coarse.at(37).attraction.alone[0] == pytest.approx(0.8 - 0.24)


def test_smooth_drift_of_hybrid_attraction():
    rng = np.random.default_rng(8)
    one, other = (User(attraction("hybrid", rng), Cascade()) for _ in range(2))
    middle = Drifting([(0, one), (10, other)], smooth=True).at(5)
    items = np.array([4, 0, 3])
    np.testing.assert_allclose(alphas(middle, items), (alphas(one, items) + alphas(other, items)) / 2)
    greedy = middle.best(3)
    assert alphas(middle, greedy)[0] == max(alphas(middle, [a])[0] for a in range(6))
    check_environment(middle)


def test_a_drifting_user_of_the_paper_is_two_users_one_after_the_other():
    """Linear policies stay on their compiled path, and go on with what they know."""
    rng = np.random.default_rng(9)
    x, z = rng.random((20, 3)), rng.random((20, 2))
    one, other = (CascadeUser(x, z, rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))) for _ in range(2))
    policy = CascadeHybrid(Catalog(x, z))
    run = simulate(policy, Drifting([(0, one), (130, other)]), 300, 4, seed=6)
    by_hand = CascadeHybrid(Catalog(x, z))
    regret = 0.0
    for step, coins in enumerate(streams(6)[0].random((300, 4))):
        user = one if step < 130 else other
        ranking = by_hand.rank(4)
        by_hand.update(ranking, user.click(ranking.items, coins))
        regret += user.reward(user.best(4)) - user.reward(ranking.items)
    assert policy.weights.tobytes() == by_hand.weights.tobytes()
    assert run.regret[-1] == pytest.approx(regret, abs=1e-9)


def test_checkpoints_do_not_change_what_happens_to_a_drifting_user():
    one, other = User(PerItem([0.6, 0.2, 0.1]), Cascade()), User(PerItem([0.1, 0.2, 0.9]), Cascade())
    runs = [
        simulate(Shuffling(3), Drifting([(0, one), (70, other)], smooth=True), 200, 2, seed=2, checkpoints=marks)
        for marks in (None, [200])
    ]
    assert runs[0].regret[-1] == runs[1].regret[-1]


# --- the checker --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ATTRACTIONS)
@pytest.mark.parametrize(("model", "reward"), PAIRS)
def test_every_user_keeps_the_contract(model, reward, kind):
    rng = np.random.default_rng(2)
    check_environment(User(attraction(kind, rng), clicks(model, rng), reward), trials=2000)


def test_the_checker_looks_at_drifting_users_at_many_steps():
    class Promising(User):
        def reward(self, items):
            return super().reward(items) + 0.5

    one = User(PerItem([0.3, 0.2, 0.1, 0.4]), DependentClick([0.5, 0.5, 0.5]))
    check_environment(Drifting([(0, one), (50, User(PerItem([0.1] * 4), Cascade()))]), trials=2000)
    check_environment(
        Drifting([(0, one), (500, User(PerItem([0.1] * 4), DependentClick([0.5] * 3)))], smooth=True), trials=2000
    )
    with pytest.raises(ContractError, match="was earned on average"):
        check_environment(Drifting([(0, one), (50, Promising(PerItem([0.3] * 4), Cascade()))]), trials=2000)


def test_the_checker_knows_clicks_on_several_positions():
    class Backwards(User):
        def click(self, items, coins):
            return super().click(items, coins)[::-1]

    class Beyond(User):
        def click(self, items, coins):
            return tuple(i + 1 for i in super().click(items, coins))

    for broken in (Backwards, Beyond):
        with pytest.raises(ContractError, match="tuple of ascending positions"):
            check_environment(broken(PerItem([0.5] * 4), DocumentBased()), trials=500)


def test_clicks_as_users_give_them_are_read_as_any_others():
    assert all_clicks((0, 2), 3) == all_clicks([2, 0], 3) == all_clicks((2, 0, 2), 3) == [0, 2]
    assert all_clicks((), 3) == []
    assert all_clicks((np.int64(1),), 3) == [1]
    for wrong in ((0, 3), (-1, 0), (0, True), (0, 1.5), 3, -1, True, (3,)):
        with pytest.raises(FeedbackError):
            all_clicks(wrong, 3)
