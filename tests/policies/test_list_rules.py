"""Lists under rules, against brute force over all items and all lists of small catalogs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_rules import broken_at, completions, holds

from rankfall import (
    C2UCB,
    DCMKLUCB,
    PDGD,
    Apart,
    AtLeast,
    AtMost,
    CascadeHybrid,
    CascadeHybridEpsilon,
    CascadeHybridGreedy,
    CascadeHybridTS,
    CascadeKLUCB,
    CascadeLinUCB,
    CascadeLSB,
    CascadeLSBFull,
    CascadeSWUCB,
    CascadeTS,
    CascadeUCB1,
    Catalog,
    LinearPolicy,
    Only,
    Policy,
    RankError,
    Ranking,
    TopRank,
)
from rankfall.policies.list_rules import ListRules
from rankfall.wire.rules import Rule

NOW = 20_000 * 86400.0
LINEAR = (CascadeHybrid, CascadeLinUCB, CascadeLSB, CascadeLSBFull, CascadeHybridGreedy, CascadeHybridTS)
TABULAR = (CascadeUCB1, CascadeKLUCB, CascadeTS, CascadeSWUCB)
ITEMS = 7

brands = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=ITEMS, max_size=ITEMS)
stocks = st.lists(st.sampled_from([True, True, False, None]), min_size=ITEMS, max_size=ITEMS)
ages = st.lists(st.sampled_from([0.0, 3.0, 30.0, None]), min_size=ITEMS, max_size=ITEMS)
firsts = st.none() | st.integers(1, 5)

caps: st.SearchStrategy[Rule] = st.builds(
    AtMost, n=st.integers(1, 2), attribute=st.just("brand"), first=firsts
) | st.builds(AtMost, n=st.integers(0, 2), attribute=st.just("brand"), value=st.sampled_from("ab"), first=firsts)
ONE_EACH = AtMost(n=1, attribute="brand")
spacing: st.SearchStrategy[Rule] = st.builds(Apart, attribute=st.just("brand"), within=st.integers(2, 4))
filters: st.SearchStrategy[Rule] = (
    st.builds(Only, attribute=st.just("in_stock"), value=st.booleans())
    | st.builds(Only, attribute=st.just("brand"), op=st.just("in"), value=st.just(("a", "b")))
    | st.builds(Only, attribute=st.just("brand"), op=st.just("!="), value=st.just("a"))
    | st.builds(
        Only, attribute=st.just("day"), op=st.sampled_from(["<", "<=", ">", ">="]), value=st.just(NOW - 86400.0)
    )
)
without_quotas = st.lists(caps | spacing | filters, min_size=1, max_size=4)


@st.composite
def quotas(draw: st.DrawFn) -> Rule:
    first = draw(firsts)
    n = draw(st.integers(1, min(3, first or 3)))
    if draw(st.booleans()):
        return AtLeast(n=n, attribute="day", op="newer_than", value="7d", first=first)
    return AtLeast(n=n, attribute="in_stock", value=True, first=first)


@st.composite
def scarce(draw: st.DrawFn) -> Catalog:
    """Few items serve a quota, and those of few brands."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    serving = draw(st.sets(st.integers(0, ITEMS - 1), min_size=1, max_size=3))
    brand = ["a" if row in serving else draw(st.sampled_from(["a", "b", "c", None])) for row in range(ITEMS)]
    return Catalog(
        relevance=rng.normal(size=(ITEMS, 2)).round(1),
        attributes={"brand": brand, "in_stock": [row in serving or None for row in range(ITEMS)]},
    )


@st.composite
def catalogs(draw: st.DrawFn) -> Catalog:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    days = [None if age is None else NOW - age * 86400.0 for age in draw(ages)]
    return Catalog(
        coverage=rng.random((ITEMS, 3)) * (rng.random((ITEMS, 3)) < 0.6),
        relevance=rng.normal(size=(ITEMS, 2)).round(1),  # ties happen
        attributes={"brand": draw(brands), "in_stock": draw(stocks), "day": days},
    )


def columns(catalog: Catalog) -> dict[str, Any]:
    nothing = (None,) * len(catalog)
    return {name: catalog.attributes.get(name, nothing) for name in ("brand", "in_stock", "day")}


def over(rules: list[Rule], catalog: Catalog) -> ListRules:
    return ListRules(rules, catalog, NOW, checked=False)  # an attribute may be missing from all items


def taught(kind: type[Policy], catalog: Catalog, seed: int) -> Policy:
    policy = kind(catalog, **({"window": 50} if kind is CascadeSWUCB else {}))
    rng = np.random.default_rng(seed)
    for _ in range(seed % 5):
        policy.update(policy.rank(4, rng=rng), int(rng.integers(4)))
    return policy


def score_at(policy: Policy, above: list[int], row: int, seed: int) -> float:
    """The score of an item below others: of a list in which all are fixed. Independent of who chooses."""
    rows = [*above, row]
    return float(policy.rank(len(rows), fixed=dict(enumerate(rows)), rng=np.random.default_rng(seed)).scores[-1])


def allowed_at(
    rules: list[Rule], values: dict[str, Any], begun: list[int], fixed: dict[int, int], k: int, row: int
) -> bool:
    """Whether an item breaks no rule (none is a quota) with those above it and those fixed below."""
    whole: list[int | None] = [*begun, row, *[fixed.get(i) for i in range(len(begun) + 1, k)]]
    for rule in rules:
        padded = [*values[rule.attribute], None]
        if isinstance(rule, Only):
            if broken_at(rule, padded, [row], NOW):
                return False
            continue
        with_it = broken_at(rule, padded, [-1 if one is None else one for one in whole], NOW)
        whole_without = [-1 if one is None or one == row else one for one in whole]
        if len(with_it) > len(broken_at(rule, padded, whole_without, NOW)):
            return False
    return True


def most_important(rules: list[Rule]) -> list[Rule]:
    return [r for r in rules if isinstance(r, Only)] + [r for r in rules if not isinstance(r, Only)]


@settings(max_examples=400, deadline=None)
@given(
    catalogs(),
    without_quotas,
    st.sampled_from([*LINEAR, *TABULAR]),
    st.integers(0, 30),
    st.dictionaries(st.integers(0, 4), st.integers(0, ITEMS - 1), max_size=2),
    st.integers(1, 5),
)
def test_every_position_has_the_best_item_that_the_rules_allow(
    catalog: Catalog, rules: list[Rule], kind: type[Policy], seed: int, pins: dict[int, int], k: int
) -> None:
    policy, values = taught(kind, catalog, seed), columns(catalog)
    fixed = {i: row for i, row in pins.items() if i < k}
    fixed = {i: row for i, row in fixed.items() if list(fixed.values()).count(row) == 1}
    shown = policy.rank(k, rules=over(rules, catalog), fixed=fixed or None, rng=np.random.default_rng(seed))
    rows = shown.items.tolist()
    for i, row in enumerate(rows):
        if i in fixed:
            assert row == fixed[i]
            continue
        open_rows = [one for one in range(ITEMS) if one not in rows[:i] and one not in fixed.values()]
        kept: list[Rule] = []
        for rule in most_important(rules):
            if any(allowed_at([*kept, rule], values, rows[:i], fixed, k, one) for one in open_rows):
                kept.append(rule)
        scores = {
            one: score_at(policy, rows[:i], one, seed)
            for one in open_rows
            if allowed_at(kept, values, rows[:i], fixed, k, one)
        }
        assert row == min(scores, key=lambda one: (-scores[one], one))
        assert shown.scores[i] == scores[row]
        held = shown.kept.held_at(i)
        all_scores = {one: score_at(policy, rows[:i], one, seed) for one in open_rows}
        best = min(all_scores, key=lambda one: (-all_scores[one], one))
        assert (None if held is None else held.row) == (None if best == row else best)
        if held is not None:
            assert held.score == all_scores[best]
            assert not allowed_at([held.rule], values, rows[:i], fixed, k, best)


@settings(max_examples=400, deadline=None)
@given(catalogs(), st.lists(caps | spacing | filters | quotas(), min_size=1, max_size=5), st.integers(1, 6), st.data())
def test_a_rule_is_broken_only_where_the_list_says_so(
    catalog: Catalog, rules: list[Rule], k: int, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from([CascadeHybrid, CascadeUCB1, CascadeHybridEpsilon]))
    settings = {"epsilon": 1.0} if kind is CascadeHybridEpsilon else {}
    policy = kind(catalog, **settings)
    fixed = data.draw(st.none() | st.builds(lambda i, row: {i: row}, st.integers(0, k - 1), st.integers(0, ITEMS - 1)))
    shown = policy.rank(k, rules=over(rules, catalog), fixed=fixed, rng=np.random.default_rng(3))
    assert len(set(shown.items.tolist())) == k
    found = {
        (i, r)
        for r, rule in enumerate(rules)
        for i in broken_at(rule, columns(catalog)[rule.attribute], shown.items, NOW)
    }
    assert sorted((one.position, str(one.rule)) for one in shown.relaxed) == sorted(
        (i, str(rules[r])) for i, r in found
    )
    if kind is not CascadeUCB1:
        assert (shown.features == policy.features_of(shown.items[None])[0]).all()


@settings(max_examples=400, deadline=None)
@given(
    catalogs() | scarce(),
    quotas(),
    st.lists(st.just(ONE_EACH) | caps, max_size=2),
    st.integers(2, 4),
    st.integers(0, 9),
)
def test_one_quota_and_caps_hold_whenever_they_can_and_cost_as_little_as_they_can(
    catalog: Catalog, quota: Rule, given_caps: list[Rule], k: int, seed: int
) -> None:
    """Caps that hold at least as far as the quota: at each position the best item after which all can be kept."""
    assert isinstance(quota, AtLeast)
    far = [cap for cap in given_caps if isinstance(cap, AtMost) and (cap.first or 99) >= (quota.first or 99)]
    rules, values = [*far, quota], columns(catalog)
    policy = taught(CascadeHybrid if catalog.n_topics else CascadeLinUCB, catalog, seed)
    if not any(holds(rules, values, rows, NOW) for rows in completions([], {}, range(ITEMS), k)):
        return
    shown = policy.rank(k, rules=over(rules, catalog))
    assert shown.relaxed == ()
    rows = shown.items.tolist()
    for i in range(k):
        can = [
            one
            for one in range(ITEMS)
            if one not in rows[:i]
            and any(holds(rules, values, whole, NOW) for whole in completions([*rows[:i], one], {}, range(ITEMS), k))
        ]
        assert rows[i] == min(can, key=lambda one: (-score_at(policy, rows[:i], one, 0), one))


@settings(max_examples=60, deadline=None)
@given(catalogs(), st.integers(0, 9), st.integers(1, 5))
def test_no_rules_are_the_plain_list_to_the_bit(catalog: Catalog, seed: int, k: int) -> None:
    for kind in (*LINEAR, *TABULAR, CascadeHybridEpsilon):
        policy = taught(kind, catalog, seed)
        plain, ruled = (policy.rank(k, rules=r, rng=np.random.default_rng(seed)) for r in (None, []))
        never = policy.rank(
            k, rules=over([AtMost(n=ITEMS, attribute="brand")], catalog), rng=np.random.default_rng(seed)
        )
        assert plain.items.tolist() == ruled.items.tolist() == never.items.tolist()
        assert plain.scores.tobytes() == ruled.scores.tobytes() == never.scores.tobytes()
        assert plain.features.tobytes() == ruled.features.tobytes() == never.features.tobytes()


def test_no_item_takes_the_place_under_a_cap_that_a_quota_needs() -> None:
    catalog = Catalog(
        relevance=[[5.0], [4.0], [3.0], [2.0]],
        attributes={"brand": ["a", "b", "c", "a"], "new": [None, None, None, True]},
    )
    rules = [AtMost(n=1, attribute="brand"), AtLeast(n=1, attribute="new", value=True, first=3)]
    shown = CascadeLinUCB(catalog).rank(3, rules=rules)
    assert shown.items.tolist() == [1, 2, 3]  # 0 would be the one of its brand
    assert shown.relaxed == ()
    assert shown.held_back[0].rule == rules[1]


def test_pins_below_count_only_where_a_rule_looks() -> None:
    catalog = Catalog(relevance=[[5.0], [4.0], [3.0], [2.0]], attributes={"brand": ["a", "b", "c", "a"]})
    rules = [AtMost(n=1, attribute="brand", first=2)]
    assert CascadeLinUCB(catalog).rank(3, rules=rules, fixed={2: 3}).items.tolist() == [0, 1, 3]
    assert CascadeLinUCB(catalog).rank(3, rules=rules, fixed={1: 3}).items.tolist() == [1, 3, 0]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(caps | spacing | filters | quotas(), min_size=1, max_size=4),
    st.sampled_from([CascadeHybrid, CascadeLinUCB, CascadeLSBFull, CascadeHybridGreedy]),
    st.integers(0, 2**32),
    st.integers(1, 6),
)
def test_shortlists_make_the_same_lists_under_rules(rules: list[Rule], kind: type[Policy], seed: int, k: int) -> None:
    """A model that learns for long enough keeps shortlists; one that may not keep any makes the same lists."""
    rng = np.random.default_rng(seed)
    catalog = Catalog(
        rng.random((60, 4)) * (rng.random((60, 4)) < 0.4),
        rng.normal(size=(60, 3)) * 0.4,
        attributes={
            "brand": rng.choice(["a", "a", "b", "c", "d"], 60).tolist(),
            "in_stock": (rng.random(60) < 0.6).tolist(),
            "day": (NOW - rng.integers(0, 30, 60) * 86400.0).tolist(),
        },
    )
    by_shortlists, plainly = kind(catalog), kind(catalog)
    plainly.compact = True
    listed, taste = over(rules, catalog), rng.random(60) * 0.5
    for _ in range(60):
        one, other = (policy.rank(k, rules=listed) for policy in (by_shortlists, plainly))
        assert one.items.tolist() == other.items.tolist()
        for name in ("features", "means", "widths", "scores"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
        assert one.kept == other.kept
        clicked = np.flatnonzero(rng.random(k) < taste[one.items])
        for policy in (by_shortlists, plainly):
            policy.update(one, int(clicked[0]) if len(clicked) else None)
    assert isinstance(by_shortlists, LinearPolicy)
    kept = by_shortlists._lists.under_rules
    assert kept is not None
    assert kept[1] is not None  # they were used


@settings(max_examples=60, deadline=None)
@given(catalogs(), st.lists(caps | spacing | filters | quotas(), min_size=1, max_size=3), st.integers(1, 3), st.data())
def test_the_chances_of_all_lists_that_can_be_drawn_sum_to_one(
    catalog: Catalog, rules: list[Rule], k: int, data: st.DataObject
) -> None:
    fixed = data.draw(st.none() | st.tuples(st.integers(0, k - 1), st.integers(0, ITEMS - 1)))
    items = np.full(k, -1)
    if fixed is not None:
        items[fixed[0]] = fixed[1]
    listed, pool = over(rules, catalog), [row for row in range(ITEMS) if row not in items]
    pins = {} if fixed is None else {fixed[0]: fixed[1]}
    chances = {
        tuple(rows): listed.chances_of(np.array(rows), pool, items).chance for rows in completions([], pins, pool, k)
    }
    assert sum(chances.values()) == pytest.approx(1.0)
    drawn = [listed.at_random(pool, items, np.random.default_rng(seed)) for seed in range(20)]
    for one in drawn:
        assert one.chance == chances[tuple(one.rows.tolist())] > 0.0
        assert one.relaxed == listed.told_of(one.rows).relaxed


def test_lists_are_drawn_as_often_as_their_chances_say() -> None:
    catalog = Catalog(ids=range(5), attributes={"brand": ["a", "a", "a", "b", None]})
    rules = ListRules([AtMost(n=1, attribute="brand"), Apart(attribute="brand", within=2)], catalog)
    rng, n, seen = np.random.default_rng(1), 20_000, dict[tuple[int, ...], int]()
    for _ in range(n):
        one = rules.at_random(range(5), np.full(2, -1), rng)
        seen[tuple(one.rows.tolist())] = seen.get(tuple(one.rows.tolist()), 0) + 1
    for rows, times in seen.items():
        chance = rules.chances_of(np.array(rows), range(5), np.full(2, -1)).chance
        assert abs(times / n - chance) < 5 * (chance / n) ** 0.5


def test_two_quotas_that_one_item_serves_are_both_met() -> None:
    catalog = Catalog(
        relevance=[[4.0], [3.0], [2.0], [1.0]],
        attributes={"new": [False, True, False, True], "own": [False, False, True, True]},
    )
    rules = [AtLeast(n=1, attribute="new", value=True, first=1), AtLeast(n=1, attribute="own", value=True, first=1)]
    shown = CascadeLinUCB(catalog).rank(2, rules=rules)
    assert shown.items.tolist() == [3, 0]
    assert shown.relaxed == ()
    assert [(one.row, one.rule) for one in shown.held_back] == [(0, rules[0])]


def test_what_a_quota_cannot_get_is_told_and_the_rest_is_shown() -> None:
    catalog = Catalog(relevance=[[3.0], [2.0], [1.0]], attributes={"new": [None, None, True]})
    rule = AtLeast(n=2, attribute="new", value=True, first=2)
    shown = CascadeLinUCB(catalog).rank(3, rules=[rule])
    assert shown.items.tolist() == [0, 2, 1]
    assert [(one.rule, one.position) for one in shown.relaxed] == [(rule, 1)]


def test_filters_outlast_the_others_and_the_first_outlast_the_last() -> None:
    catalog = Catalog(
        relevance=[[5.0], [4.0], [3.0], [2.0]],
        attributes={"brand": ["a", "a", "a", "b"], "in_stock": [True, True, True, False]},
    )
    cap, apart, stock = (
        AtMost(n=1, attribute="brand"),
        Apart(attribute="brand", within=3),
        Only(attribute="in_stock", value=True),
    )
    shown = CascadeLinUCB(catalog).rank(3, rules=[cap, apart, stock])
    assert shown.items.tolist() == [0, 1, 2]  # never the one out of stock
    assert {(one.rule, one.position) for one in shown.relaxed} == {(cap, 1), (apart, 1), (cap, 2), (apart, 2)}
    apart_2 = Apart(attribute="brand", within=2)
    twice = [AtMost(n=2, attribute="brand"), apart_2, stock]
    assert [(one.rule, one.position) for one in CascadeLinUCB(catalog).rank(2, rules=twice).relaxed] == [(apart_2, 1)]


def test_a_pin_wins_counts_and_is_told() -> None:
    catalog = Catalog(
        relevance=[[5.0], [4.0], [3.0], [2.0]],
        attributes={"brand": ["a", "a", "b", "c"], "in_stock": [True, False, True, True]},
    )
    rules = [AtMost(n=1, attribute="brand"), Only(attribute="in_stock", value=True)]
    shown = CascadeLinUCB(catalog).rank(3, rules=rules, fixed={2: 1})
    assert shown.items.tolist() == [2, 3, 1]  # 0 has the brand of the pin
    assert [(one.rule, one.position) for one in shown.relaxed] == [(rules[1], 2)]


def test_an_explanation_names_the_rule_that_held_an_item_back() -> None:
    catalog = Catalog(relevance=[[3.0], [2.0], [1.0]], ids=["x", "y", "z"], attributes={"brand": ["a", "a", "b"]})
    for kind in (CascadeLinUCB, CascadeUCB1):
        policy = kind(catalog)
        told = policy.explain(policy.rank(2, rules=[AtMost(n=1, attribute="brand")]))
        assert told[0].held_back is None
        assert told[1].held_back is not None
        assert (told[1].held_back.id, str(told[1].held_back.rule)) == ("y", "at most 1 of each brand")
        assert "not y (" in str(told[1])
        assert str(told[1]).endswith("at most 1 of each brand")


def test_a_moment_is_what_is_newer_than() -> None:
    catalog = Catalog(
        relevance=[[3.0], [2.0], [1.0]],
        attributes={"published_at": ["2026-11-01", "2026-11-17T12:00:00+02:00", None]},
    )
    rules = [Only(attribute="published_at", op="newer_than", value="2d")]
    policy = CascadeLinUCB(catalog)
    with pytest.raises(RankError, match=r"say what time it is: now=time.time\(\)"):
        policy.rank(1, rules=rules)
    at = 1_794_960_000.0  # 2026-11-18
    assert policy.rank(1, rules=rules, now=at).ids == (1,)
    assert policy.rank(1, rules=rules, now=at - 16 * 86400).ids == (0,)  # what is to come is newer too
    assert policy.rank(1, rules=[Only(attribute="published_at", op="<", value="2026-11-02")]).ids == (0,)


def test_candidates_and_exclude_hold_under_rules() -> None:
    catalog = Catalog(relevance=[[float(9 - i)] for i in range(9)], attributes={"brand": list("aabbccdde"[:9])})
    policy = CascadeLinUCB(catalog)
    rules = [AtMost(n=1, attribute="brand")]
    assert policy.rank(2, rules=rules, candidates=[1, 0, 5]).items.tolist() == [0, 5]
    assert policy.rank(3, rules=rules, exclude=[0, 2]).items.tolist() == [1, 3, 4]
    assert policy.rank(2, rules=rules, fixed={0: 1, 1: 0}).items.tolist() == [1, 0]


def test_a_policy_of_ones_own_keeps_rules_through_best() -> None:
    class ByNumber(Policy):
        why_not_ruled = None

        def choose(self, request: Any, rng: np.random.Generator) -> Ranking:
            return Ranking(request.best(np.arange(self.n_items, dtype=float)))

        def learn(self, ranking: Ranking, clicks: list[int]) -> None:
            pass

    policy = ByNumber(Catalog(ids=range(4), attributes={"brand": ["a", "b", "c", "c"]}))
    rules = [AtMost(n=1, attribute="brand")]
    assert policy.rank(2, rules=rules).items.tolist() == [3, 1]
    assert [one.position for one in policy.rank(4, rules=rules).relaxed] == [3]


@pytest.mark.parametrize("kind", [C2UCB, PDGD, TopRank, DCMKLUCB])
def test_policies_that_cannot_keep_rules_say_why(kind: type[Policy]) -> None:
    catalog = Catalog([[0.5], [0.2]], [[1.0], [2.0]], attributes={"brand": ["a", "b"]})
    with pytest.raises(RankError, match=f"the lists of {kind.__name__} cannot keep rules: it "):
        kind(catalog).rank(1, rules=[AtMost(n=1, attribute="brand")])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([AtMost(n=1, attribute="brnd")], "no item has the attribute 'brnd'; there are brand, price"),
        ([Only(attribute="brand", value=True)], "compares true or false with 'brand', which is text"),
        ([Only(attribute="brand", op="<", value=3)], "no 'brand' of an item is one"),
        ([Only(attribute="price", value="cheap")], "compares text with 'price', which is number"),
        (AtMost(n=1, attribute="brand"), "rules must be a sequence of rules"),
        ("brand", "rules must be a sequence of rules"),
        ([{"kind": "at_most"}], "a rule must be one of AtMost, AtLeast, Apart, Only"),
    ],
)
def test_rules_that_do_not_fit_the_items_are_refused(rules: Any, message: str) -> None:
    catalog = Catalog(relevance=[[1.0], [2.0]], attributes={"brand": ["a", "b"], "price": [1, 2.5]})
    with pytest.raises(RankError, match=message):
        CascadeLinUCB(catalog).rank(1, rules=rules)


def test_rules_over_another_catalog_are_refused() -> None:
    one, other = (Catalog(relevance=[[1.0], [2.0]], attributes={"brand": ["a", "b"]}) for _ in range(2))
    with pytest.raises(RankError, match="over another catalog"):
        CascadeLinUCB(one).rank(1, rules=ListRules([AtMost(n=1, attribute="brand")], other))
