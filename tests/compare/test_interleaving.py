"""Interleaving against all that can happen in small cases: every order of turns, every list, every assignment."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from rankfall.compare import Interleaved, Probabilistic, TeamDraft
from rankfall.compare.interleaving import draft
from rankfall.errors import FeedbackError, ProblemError, RankError

TWO = [[0, 1, 2, 3], [2, 0, 3, 1]]
THREE = [[0, 1, 2, 3], [2, 0, 3, 1], [3, 4, 0, 2]]
TAU = 3


def every_draft(lists: list[list[int]], k: int) -> list[Interleaved]:
    """The list of every order of turns, all of them equally likely."""
    rounds = -(-k // len(lists))
    orders = itertools.product(itertools.permutations(range(len(lists))), repeat=rounds)
    names = tuple("abc"[: len(lists)])
    return [Interleaved(tuple(items), names, credit) for items, credit in (draft(lists, k, sum(o, ())) for o in orders)]


def click_sets(k: int) -> list[tuple[int, ...]]:
    return [clicks for n in range(1, k + 1) for clicks in itertools.combinations(range(k), n)]


def rank_weights(items: list[int], above: tuple[int, ...]) -> dict[int, Fraction]:
    """The softmax of probabilistic interleaving over the items that are not above, as exact fractions."""
    weights = {item: Fraction(1, rank**TAU) for rank, item in enumerate(items, 1) if item not in above}
    total = sum(weights.values())
    return {item: weight / total for item, weight in weights.items()}


def every_assigned_list(lists: list[list[int]], k: int) -> dict[tuple[int, ...], dict[tuple[int, ...], Fraction]]:
    """For every list and every assignment of its positions to rankers, the probability of both: nothing is shared."""
    found: dict[tuple[int, ...], dict[tuple[int, ...], Fraction]] = {}
    pool = sorted({item for items in lists for item in items})
    for shown in itertools.permutations(pool, k):
        for who in itertools.product(range(len(lists)), repeat=k):
            chance = Fraction(1)
            for position, (item, ranker) in enumerate(zip(shown, who, strict=True)):
                chance *= Fraction(1, len(lists)) * rank_weights(lists[ranker], shown[:position]).get(item, Fraction(0))
            if chance:
                found.setdefault(shown, {})[who] = chance
    return found


class Script:
    """Draws what it is told to, and multiplies the probabilities with which that would have been drawn."""

    def __init__(self, pool: list[int], wanted: tuple[int, ...]) -> None:
        self.rows = [pool.index(item) for item in wanted]
        self.chance = 1.0

    def choice(self, n: int, p: np.ndarray) -> int:
        row = self.rows.pop(0)
        assert len(p) == n
        self.chance *= p[row]
        return row


@pytest.mark.parametrize("lists", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_team_draft_prefers_nobody_where_clicks_do_not_look_at_items(lists: list[list[int]], k: int) -> None:
    drafts = every_draft(lists, k)
    for clicks in click_sets(k):
        for a, b in itertools.combinations(drafts[0].rankers, 2):
            shares = [shown.preference(a, b, clicks) for shown in drafts]
            assert sum(shares) == len(shares) / 2
            assert shares.count(0.0) == shares.count(1.0)


def test_equal_rankers_win_equally_often_with_team_draft() -> None:
    drafts = every_draft([[0, 1, 2, 3]] * 2, 4)
    assert {shown.items for shown in drafts} == {(0, 1, 2, 3)}
    for clicks in click_sets(4):
        wins = [shown.preference("a", "b", clicks) for shown in drafts]
        assert wins.count(1.0) == wins.count(0.0)


def test_team_draft_takes_the_best_that_is_left_and_skips_who_has_none() -> None:
    items, credit = draft([[0, 1], [1, 2, 3]], 10, [1, 0, 0, 1, 0, 1])
    assert items == [1, 0, 2, 3]
    assert credit.tolist() == [[0, 1, 0, 0], [1, 0, 1, 1]]


def test_team_draft_draws_every_order_of_turns_equally_often() -> None:
    rng, lists = np.random.default_rng(0), {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]}
    n = 4000
    shown = [TeamDraft().interleave(lists, 4, rng).items for _ in range(n)]
    for items in {each.items for each in every_draft(list(lists.values()), 4)}:
        assert abs(shown.count(items) - n / 4) < 5 * (n * 3 / 16) ** 0.5


@pytest.mark.parametrize(("lists", "k"), [(TWO, 3), (THREE, 2)], ids=["two", "three"])
def test_every_list_of_probabilistic_interleaving_has_the_probability_it_should_have(
    lists: list[list[int]], k: int
) -> None:
    pool = list(dict.fromkeys(itertools.chain(*lists)))
    total = 0.0
    for shown, assigned in every_assigned_list(lists, k).items():
        script = Script(pool, shown)
        items, credit = Probabilistic(tau=TAU).mix(lists, k, script)  # type: ignore[arg-type]
        assert tuple(items) == shown
        chance = sum(assigned.values())
        assert script.chance == pytest.approx(float(chance), rel=1e-12)  # and so of every prefix, as k varies
        for ranker, position in itertools.product(range(len(lists)), range(k)):
            mine = sum(p for who, p in assigned.items() if who[position] == ranker)
            assert credit[ranker, position] == pytest.approx(float(mine / chance), rel=1e-12, abs=1e-15)
        total += script.chance
    assert total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("lists", "k"), [(TWO, 3), (THREE, 3)], ids=["two", "three"])
def test_probabilistic_preferences_are_sums_over_all_assignments(lists: list[list[int]], k: int) -> None:
    pool = list(dict.fromkeys(itertools.chain(*lists)))
    names = tuple("abc"[: len(lists)])
    means = dict.fromkeys(itertools.product(click_sets(k), itertools.combinations(range(len(lists)), 2)), 0.0)
    for shown, assigned in every_assigned_list(lists, k).items():
        items, credit = Probabilistic().mix(lists, k, Script(pool, shown))  # type: ignore[arg-type]
        made = Interleaved(tuple(items), names, credit)
        chance = sum(assigned.values())
        for clicks, (a, b) in means:
            preferred = Fraction(0)
            for who, p in assigned.items():
                lead = sum((who[c] == a) - (who[c] == b) for c in clicks)
                preferred += p / chance * Fraction(1 + (lead > 0) - (lead < 0), 2)
            ours = made.preference(names[a], names[b], clicks)
            assert ours == pytest.approx(float(preferred), rel=1e-10)
            means[clicks, (a, b)] += float(chance) * ours
    for mean in means.values():  # where clicks do not look at items, nobody is preferred
        assert mean == pytest.approx(0.5, rel=1e-10)


@pytest.mark.parametrize(
    ("shown", "clicks", "wins", "losses"),
    [
        ([0, 3, 1], [0], 0.8888888888888888, 0.1111111111111111),
        ([3, 1, 0], [0, 2], 0.00870051357856236, 0.4277825155873938),
        ([4, 0, 3, 1], [0, 1, 3], 0.5607853137177187, 0.43921468628228133),
        ([2, 3, 0, 4], [0], 0.8223684210526315, 0.17763157894736842),
    ],
)
def test_preferences_of_the_public_package(shown: list[int], clicks: list[int], wins: float, losses: float) -> None:
    """How likely each ranker has more clicks, by ``Probabilistic`` of github.com/mpkato/interleaving (7907f7dd)."""
    lists = {"a": [0, 1, 2, 3, 4], "b": [3, 0, 4, 1, 2]}
    made = Probabilistic().interleave(lists, len(shown), Script([0, 1, 2, 3, 4], tuple(shown)))  # type: ignore[arg-type]
    assert list(made.items) == shown
    assert made.preference("a", "b", clicks) == pytest.approx(wins + (1.0 - wins - losses) / 2.0, abs=1e-12)


@pytest.mark.parametrize("interleaving", [TeamDraft(), Probabilistic()])
def test_the_ranker_with_the_better_items_on_top_is_preferred(interleaving: TeamDraft | Probabilistic) -> None:
    rng = np.random.default_rng(3)
    lists = {"good": [0, 1, 2, 3, 4], "bad": [4, 3, 2, 1, 0]}
    shares = []
    for _ in range(1000):
        shown = interleaving.interleave(lists, 4, rng)
        clicks = [position for position, item in enumerate(shown.items) if item in (0, 1)]
        shares.append(shown.preference("good", "bad", clicks))
    assert np.mean(shares) > 0.75


def test_a_list_can_be_kept_as_text() -> None:
    shown = Probabilistic().interleave({"a": ["x", "y"], "b": ["y", "z"]}, 3, np.random.default_rng(0))
    again = Interleaved.decode(shown.encode())
    assert (again.items, again.rankers) == (shown.items, shown.rankers)
    assert again.credit.tobytes() == shown.credit.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"items": [1], "rankers": ["a"], "credit": [[1, 0]]}',
        '{"items": [1], "rankers": ["a", "b"], "credit": [[-5], [3]]}',
        '{"items": [1], "rankers": ["a", "b"], "credit": [[0.7], [0.7]]}',
        '{"items": [1], "rankers": ["a", "b"], "credit": [[NaN], [1]]}',
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(FeedbackError):
        Interleaved.decode(text)


@pytest.mark.parametrize(
    ("lists", "k", "said"),
    [
        ({}, 3, "no list"),
        ({"a": [1], "b": []}, 3, "'b' is empty"),
        ({"a": [1, 1], "b": [2]}, 3, "'a' has an item twice"),
        ({"a": [1], "b": [2]}, 0, "k must be"),
        ({"a": [1], "b": 2}, 3, "the list of 'b' must be ids, best first, got 2"),
        ({"a": [1], "b": "xy"}, 3, "the list of 'b' must be ids, best first, got 'xy'"),
        ({"a": [1.5], "b": [2]}, 3, r"the list of 'a' holds 1\.5; ids are whole numbers or strings"),
        ({"a": [np.nan], "b": [2]}, 3, "the list of 'a' holds nan"),
        ({"a": [None], "b": [2]}, 3, "the list of 'a' holds None"),
    ],
)
def test_lists_that_make_no_sense_are_refused(lists: dict[str, list[int]], k: int, said: str) -> None:
    with pytest.raises(RankError, match=said):
        TeamDraft().interleave(lists, k, np.random.default_rng(0))


@pytest.mark.parametrize("ids", [[np.int64(3), np.int64(1)], [np.str_("x"), np.str_("y")], np.array([3, 1])])
def test_ids_that_numpy_made_can_be_kept_as_text_too(ids: list[int]) -> None:
    shown = TeamDraft().interleave({"a": ids, "b": ids}, 2, np.random.default_rng(0))
    assert Interleaved.decode(shown.encode()).items == shown.items == tuple(one.item() for one in ids)  # type: ignore[attr-defined]


def test_tau_is_a_number_that_can_be_raised_to() -> None:
    lists = {"a": list(range(100)), "b": list(range(100))[::-1]}
    assert len(Probabilistic(tau=50.0).interleave(lists, 100, np.random.default_rng(0))) == 100
    with pytest.raises(ProblemError, match="tau must be"):
        Probabilistic(tau=2000.0)


def test_a_preference_is_between_those_who_were_compared() -> None:
    shown = TeamDraft().interleave({"a": [1], "b": [2]}, 2, np.random.default_rng(0))
    with pytest.raises(FeedbackError, match="not of 'c'"):
        shown.preference("a", "c", 0)
    with pytest.raises(FeedbackError, match="click"):
        shown.preference("a", "b", 2)
