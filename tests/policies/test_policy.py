"""What all policies of the registry share: the contract, checks in one place, settings, copies."""

import copy
import inspect
import pydoc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import (
    POLICIES,
    Catalog,
    CatalogError,
    FeedbackError,
    LinearPolicy,
    Policy,
    ProblemError,
    RankError,
    Ranking,
)
from rankfall.policies import check_policy, make_policy
from rankfall.policies.request import check_request

CATALOG = Catalog(coverage=np.eye(5), relevance=np.eye(5))
EVERY = pytest.mark.parametrize("kind", list(POLICIES.values()), ids=lambda kind: kind.__name__)
OTHERS = [kind for kind in POLICIES.values() if not issubclass(kind, LinearPolicy)]


@given(data=st.data())
def test_a_request_holds_the_rows_that_may_be_chosen(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12), "items")
    some = st.lists(st.integers(0, n - 1), unique=True)
    candidates, exclude = data.draw(st.none() | some, "candidates"), data.draw(st.none() | some, "exclude")
    held = data.draw(some, "fixed")
    free = set(range(n) if candidates is None else candidates) - set(exclude or []) - set(held)
    k = data.draw(st.integers(max(1, len(held)), 13), "k")
    fixed = dict(zip(data.draw(st.permutations(range(k)), "positions"), held, strict=False))
    if k > len(free) + len(held):
        with pytest.raises(RankError, match="may be shown"):
            check_request(k, n, candidates, exclude, fixed)
        return
    expected = sorted(free) if len(held) < k else []
    for given_as in (list, np.array):
        request = check_request(
            k,
            n,
            None if candidates is None else given_as(candidates),
            None if exclude is None else given_as(exclude),
            fixed,
        )
        assert request.rows.tolist() == np.flatnonzero(request.allowed).tolist() == expected
        assert (request.n_rows, request.everything) == (len(expected), len(expected) == n)


def test_copies_of_a_policy_lay_out_the_items_once() -> None:
    policy = POLICIES["CascadeHybrid"](CATALOG)
    twin = policy.fresh()
    twin.rank(2)
    assert isinstance(policy, LinearPolicy)
    assert isinstance(twin, LinearPolicy)
    assert policy.compiled(2).vectors is twin.compiled(2).vectors


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_nothing_is_learned_from_what_is_no_answer(kind: type[Policy]) -> None:
    policy = make_policy(kind, CATALOG, k=2, steps=100)
    note = policy.rank(2).note
    before = {name: np.copy(array) for name, array in policy.state().items()}
    for ranking, said in (
        ([0, 1], "expected the Ranking"),
        (Ranking([0, 5], note=note), "shows row 5 of 5 items"),
        (Ranking([], note=note), "shows no items"),
    ):
        with pytest.raises(FeedbackError, match=said):
            policy.update(ranking, None)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError, match="click must be a whole number from 0 to 1"):
        policy.update(policy.rank(2), 2)
    np.testing.assert_equal(policy.state(), before)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_lists_that_cannot_be_made_are_refused(kind: type[Policy]) -> None:
    policy = make_policy(kind, CATALOG, k=2, steps=100)
    for k, limits in ((0, {}), (6, {}), (True, {}), (3, {"candidates": [0, 1]}), (1, {"exclude": [5]})):
        with pytest.raises(RankError):
            policy.rank(k, **limits)
    for name in ("candidates", "exclude"):
        with pytest.raises(RankError, match=f"{name} must be a flat sequence of row numbers, got 3"):
            policy.rank(1, **{name: 3})  # type: ignore[arg-type]


@EVERY
def test_every_policy_keeps_the_contract_and_is_restored_bit_for_bit(kind: type[Policy]) -> None:
    rng = np.random.default_rng(2)
    catalog = Catalog(np.round(rng.random((9, 3)), 2), np.round(rng.normal(size=(9, 2)), 2), ids=list("ihgfedcba"))
    policy = make_policy(kind, catalog, k=4, steps=300)
    checked = check_policy(policy, 4)
    assert checked.saved
    assert checked.why_not_served == kind.why_not_served
    assert checked.served == isinstance(policy.learned() if checked.served else None, list)
    for turn in range(150):
        policy.update(policy.rank(4, rng=rng), (None, 0, [1, 3], 2)[turn % 4])
    check_policy(policy, 4)
    assert policy.n_updates == 150


@EVERY
def test_every_policy_tells_about_itself(kind: type[Policy]) -> None:
    text = pydoc.render_doc(kind)
    assert kind.summary
    assert kind.paper
    assert ">>>" in (inspect.getdoc(kind) or "")
    for name, parameter in inspect.signature(kind).parameters.items():
        assert name in text
        assert name == "catalog" or parameter.default is not inspect.Parameter.empty
    with pytest.raises(ProblemError, match=f"{kind.__name__} has no setting 'luck'"):
        kind(CATALOG, luck=1)
    if kind.needs:
        with pytest.raises(CatalogError, match="must be a Catalog, got int"):
            kind(5)


@EVERY
def test_rows_held_at_their_positions(kind: type[Policy]) -> None:
    policy, rng = make_policy(kind, CATALOG, k=3, steps=100), np.random.default_rng(0)
    for turn in range(20):
        policy.update(policy.rank(3, rng=rng), turn % 3)
    if kind.why_not_fixed is not None:
        with pytest.raises(RankError, match=f"{kind.__name__} cannot hold rows at fixed positions: "):
            policy.rank(3, fixed={0: 1})
        return
    for fixed in ({0: 4}, {2: 0, 1: 3}, {0: 1, 1: 2, 2: 3}):
        shown = policy.rank(3, rng=rng, fixed=fixed, exclude=[4])
        items = shown.items.tolist()
        assert {position: items[position] for position in fixed} == fixed
        assert len(set(items)) == 3
        assert 4 not in items or 4 in fixed.values()
        policy.update(shown, 1)
    free = policy.rank(3, rng=np.random.default_rng(1))
    assert policy.rank(3, rng=np.random.default_rng(1), fixed={}).items.tolist() == free.items.tolist()


@EVERY
def test_policies_that_cannot_be_served_say_so(kind: type[Policy]) -> None:
    if kind.why_not_served is None:
        return
    policy = make_policy(kind, CATALOG, k=2, steps=100)
    ranking = policy.rank(2)
    calls = (
        lambda: kind.serve(CATALOG),
        lambda: policy.sharing(policy),
        lambda: policy.record(ranking),
        lambda: policy.records(np.array([[0, 1]])),
        lambda: policy.learn_record(b"", 0),
        lambda: policy.add_outcome_to_record(b"", 0, 0, 1.0),
    )
    if not issubclass(kind, LinearPolicy):  # which have weights to show
        calls += (lambda: policy.explain(ranking), lambda: policy.learned())
    for call in calls:
        with pytest.raises(ProblemError, match=kind.why_not_served):
            call()
    if issubclass(kind, LinearPolicy):
        return
    with pytest.raises(CatalogError, match="learns about the rows of one catalog"):
        policy.with_catalog(CATALOG)


def test_copies_share_what_never_changes_and_learn_on_their_own() -> None:
    policy = POLICIES["TopRank"](6, steps=50)
    twin = policy.fresh()
    twin.update(twin.rank(3), 0)
    assert (policy.n_updates, twin.n_updates) == (0, 1)
    assert twin.catalog is policy.catalog
    assert policy.with_settings(delta=0.5).settings == policy.Settings(steps=50, delta=0.5)


@EVERY
def test_a_policy_without_rng_draws_on_from_a_generator_of_its_own(
    kind: type[Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def seeded(*seed: int) -> np.random.Generator:
        assert not seed, "the policy's own generator starts with fresh entropy"
        started.append(np.random.Generator(np.random.PCG64(3 + len(started))))
        return started[-1]

    policy, same = (make_policy(kind, CATALOG, k=4, steps=100) for _ in range(2))
    rng, before = np.random.Generator(np.random.PCG64(3)), policy.state()
    with monkeypatch.context() as patched:
        patched.setattr(np.random, "default_rng", seeded)
        own = [policy.rank(4).items.tolist() for _ in range(30)]
        copy.deepcopy(policy).rank(4)
        assert len(started) == 2, "one generator for all lists of a policy, another for its copy"
    assert own == [same.rank(4, rng=rng).items.tolist() for _ in range(30)]
    assert (len(set(map(tuple, own))) > 1) == kind.randomised
    np.testing.assert_equal(policy.state(), before)


@EVERY
def test_what_is_no_generator_is_refused(kind: type[Policy]) -> None:
    policy = make_policy(kind, CATALOG, k=2, steps=100)
    with pytest.raises(RankError, match=r"rng must be a numpy\.random\.Generator or None, got int"):
        policy.rank(2, rng=5)  # type: ignore[arg-type]
