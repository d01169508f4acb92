"""The contract of the linear policies; that they are right is shown in test_algorithm_1."""

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankfall
from rankfall import (
    POLICIES,
    CascadeHybrid,
    CascadeLinUCB,
    CascadeLSB,
    Catalog,
    CatalogError,
    Discount,
    FeedbackError,
    FileError,
    LinearPolicy,
    ProblemError,
    RankError,
    Ranking,
    Window,
    check_policy,
    generate,
)
from rankfall.array_container import pack, unpack
from rankfall.experiments.paper import PAPER

K = 4


def learned(
    name: str = "CascadeHybrid", seed: int = 0, steps: int = 50, forgetting: Discount | Window | None = None
) -> LinearPolicy:
    policy = POLICIES[name](generate(items=30, topics=5, features=3, seed=seed).catalog, forgetting=forgetting)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        click = int(rng.integers(K + 1))
        policy.update(policy.rank(K), click if click < K else None)
    return policy


def snapshot(policy: LinearPolicy) -> bytes:
    return b"".join(array.tobytes() for array in policy.state().values())


each_policy = pytest.mark.parametrize("name", list(PAPER))
each_forgetting = pytest.mark.parametrize("forgetting", [Discount(0.9), Window(1), Window(20), Window(99)], ids=repr)


@each_policy
def test_keeps_the_contract(name: str) -> None:
    check_policy(learned(name))
    check_policy(learned(name, steps=0))


@each_policy
def test_a_ranking_holds_what_was_shown(name: str) -> None:
    policy = learned(name)
    ranking = policy.rank(K)
    assert ranking.ids == tuple(policy.catalog.ids[row] for row in ranking.items)
    assert ranking.features.shape == (K, len(policy.weights))
    np.testing.assert_allclose(ranking.means, ranking.features @ policy.weights, atol=1e-12)
    variance = np.einsum("ki,ij,kj->k", ranking.features, policy.covariance, ranking.features)
    np.testing.assert_allclose(ranking.widths, np.sqrt(variance), atol=1e-12)
    np.testing.assert_array_equal(ranking.scores, ranking.means + policy.gamma * ranking.widths)
    with pytest.raises(ValueError, match="read-only"):
        ranking.features[0, 0] = 1


@each_policy
def test_explanations_sum_to_the_score_even_after_learning_more(name: str) -> None:
    policy = learned(name)
    ranking = policy.rank(K)
    for _ in range(5):
        policy.update(policy.rank(K), None)
    for row, explanation in enumerate(policy.explain(ranking)):
        total = explanation.relevance + sum(explanation.coverage.values()) + explanation.bonus
        assert total == pytest.approx(ranking.scores[row], abs=1e-12)
        assert explanation.id == ranking.ids[row]
        assert set(explanation.coverage) <= set(policy.catalog.topics)
        assert explanation.bonus >= 0
    assert ("relevance" in str(policy.explain(ranking)[0])) == (name != "CascadeLSB")


@each_policy
@pytest.mark.parametrize("click", [0, 2, 3, None])
def test_learns_above_the_click_and_nothing_below(name: str, click: int | None) -> None:
    policy = learned(name)
    gram, moment = policy._model.gram.copy(), policy._model.state.moment.copy()
    ranking = policy.rank(K)
    policy.update(ranking, click)
    seen = ranking.features[: K if click is None else click + 1]
    np.testing.assert_allclose(policy._model.gram - gram, seen.T @ seen, atol=1e-9)
    gained = np.zeros_like(moment) if click is None else ranking.features[click]
    np.testing.assert_allclose(policy._model.state.moment - moment, gained, atol=1e-9)


def test_of_several_clicks_the_first_counts() -> None:
    one, many, array = learned(), learned(), learned()
    one.update(one.rank(K), 1)
    many.update(many.rank(K), [3, 1])
    array.update(array.rank(K), np.array([1, 3]))
    assert snapshot(one) == snapshot(many) == snapshot(array)


def test_late_feedback_uses_the_features_as_shown() -> None:
    policy = learned()
    early = policy.rank(K)
    late = copy.deepcopy(policy)
    clicks: list[tuple[Ranking, int | None]] = []
    for click in (0, 1, None, 2):
        ranking = late.rank(K)
        late.update(ranking, click)
        clicks.append((ranking, click))
    late.update(early, 3)
    for ranking, click in [*clicks, (early, 3)]:
        policy.update(ranking, click)
    assert snapshot(policy) == snapshot(late)


def test_ties_go_to_the_lowest_row() -> None:
    same = Catalog(coverage=[[0.5, 0.1]] * 6, relevance=[[1.0]] * 6)
    for recipe in (POLICIES[name] for name in PAPER):
        assert recipe(same).rank(3, candidates=[5, 3, 1, 2]).items.tolist() == [1, 2, 3]


@each_policy
def test_candidates_and_exclude_rank_as_a_smaller_catalog_would(name: str) -> None:
    policy = learned(name)
    allowed = np.array([2, 3, 5, 7, 11, 13, 17, 19])
    smaller = policy.with_catalog(
        Catalog(
            policy.catalog.coverage[allowed],
            policy.catalog.relevance[allowed],
            ids=[policy.catalog.ids[row] for row in allowed],
        )
    )
    shown = policy.rank(K, candidates=np.r_[allowed[::-1], 1], exclude=[1, 0])
    assert shown.ids == smaller.rank(K).ids
    np.testing.assert_array_equal(shown.scores, smaller.rank(K).scores)


def same(one: Ranking, other: Ranking) -> bool:
    fields = ("items", "features", "means", "widths", "scores")
    return all(getattr(one, field).tobytes() == getattr(other, field).tobytes() for field in fields)


@each_policy
@given(data=st.data())
def test_fixed_rows_stand_where_they_are_put_and_the_rest_is_the_best_around_them(
    name: str, data: st.DataObject
) -> None:
    policy = learned(name, seed=data.draw(st.integers(0, 2)), steps=20)
    k = data.draw(st.integers(1, 6))
    fixed = data.draw(st.dictionaries(st.integers(0, k - 1), st.integers(0, 29), max_size=k))
    fixed = {position: row for row, position in {row: position for position, row in fixed.items()}.items()}
    candidates = data.draw(st.none() | st.sets(st.integers(0, 29), min_size=k + len(fixed)))
    exclude = data.draw(st.sets(st.sampled_from(range(30)), max_size=3)) if candidates is None else set()
    shown = policy.rank(k, candidates=candidates, exclude=exclude, fixed=fixed)
    items = shown.items.tolist()
    assert len(set(items)) == k
    assert fixed.items() <= dict(enumerate(items)).items()
    assert same(shown, policy.rank(k, fixed=dict(enumerate(items))))
    free = (set(range(30)) if candidates is None else candidates) - exclude - set(fixed.values())
    for position in set(range(k)) - set(fixed):
        choice = sorted(free - set(items[:position]))
        scores = [
            policy.rank(position + 1, fixed=dict(enumerate([*items[:position], row]))).scores[-1] for row in choice
        ]
        assert items[position] == choice[int(np.argmax(scores))]


@each_policy
def test_holding_what_would_be_shown_anyway_changes_nothing(name: str) -> None:
    policy = learned(name)
    shown = policy.rank(K)
    assert same(shown, policy.rank(K, fixed={}))
    for positions in ([0], [2], [3, 1], [0, 1, 2, 3]):
        assert same(shown, policy.rank(K, fixed={position: shown.items[position] for position in positions}))


def test_a_fixed_row_overrides_candidates_and_exclude() -> None:
    policy = learned()
    assert policy.rank(2, candidates=[3], exclude=[7], fixed={0: 7}).items.tolist() == [7, 3]
    assert policy.rank(1, candidates=[], fixed={0: 7}).items.tolist() == [7]


def test_a_given_list_is_scored_without_a_look_at_the_catalog() -> None:
    policy = learned()
    before = policy.scored
    policy.rank(3, fixed={0: 4, 1: 8, 2: 1})
    assert policy.scored == before + 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number from 1 on, got 0"),
        ({"k": -3}, "got -3"),
        ({"k": 2.5}, "got 2.5"),
        ({"k": True}, "got True"),
        ({"k": "3"}, "got '3'"),
        ({"k": None}, "got None"),
        ({"k": 31}, "k is 31 and only 30 of 30"),
        ({"k": 3, "candidates": [1, 2]}, "k is 3 and only 2 of 30"),
        ({"k": 2, "candidates": [1, 2], "exclude": [2]}, "k is 2 and only 1 of 30"),
        ({"k": 2, "candidates": [1, 1]}, "candidates holds 1 twice"),
        ({"k": 2, "candidates": [1, 30]}, "candidates holds row 30; rows go from 0 to 29"),
        ({"k": 2, "candidates": [-1, 3]}, "candidates holds row -1"),
        ({"k": 2, "candidates": [0.5, 1.5]}, "flat sequence of row numbers"),
        ({"k": 2, "candidates": [[1, 2]]}, "flat sequence of row numbers"),
        ({"k": 2, "candidates": ["a", "b"]}, "no item with id 'a' in this catalog of 30 items"),
        ({"k": 2, "candidates": []}, "k is 2 and only 0"),
        ({"k": 2, "exclude": [99]}, "exclude holds row 99"),
        ({"k": 2, "fixed": {2: 5}}, "a position in fixed must be a whole number from 0 to 1, got 2"),
        ({"k": 2, "fixed": {-1: 5}}, "from 0 to 1, got -1"),
        ({"k": 2, "fixed": {0.5: 5}}, "from 0 to 1, got 0.5"),
        ({"k": 2, "fixed": {"0": 5}}, "from 0 to 1, got '0'"),
        ({"k": 2, "fixed": {0: 30}}, "fixed holds row 30; rows go from 0 to 29"),
        ({"k": 2, "fixed": {0: -1}}, "fixed holds row -1"),
        ({"k": 2, "fixed": {0: 5, 1: 5}}, "fixed holds 5 twice"),
        ({"k": 2, "fixed": {0: "a"}}, "fixed must be a flat sequence of row numbers"),
        ({"k": 2, "fixed": [5, 6]}, "fixed must map positions to rows, got list"),
        ({"k": 2, "fixed": {0: 5, 1: 6}, "candidates": [99]}, "candidates holds row 99"),
        ({"k": 4, "fixed": {0: 5, 3: 6}, "candidates": [5, 7]}, "k is 4 and only 3 of 30"),
        ({"k": 31, "fixed": {0: 5}}, "k is 31 and only 30 of 30"),
    ],
)
def test_a_list_that_cannot_be_made(options: dict[str, object], message: str) -> None:
    policy = learned()
    before = snapshot(policy)
    with pytest.raises(RankError, match=message):
        policy.rank(**options)  # type: ignore[arg-type]
    assert snapshot(policy) == before


@pytest.mark.parametrize("click", [K, -1, 1.0, True, "1", [0, K], float("nan"), np.array([0.5])])
def test_a_click_that_cannot_be(click: object) -> None:
    policy = learned()
    ranking, before = policy.rank(K), snapshot(policy)
    with pytest.raises(FeedbackError, match="click must be a whole number from 0 to 3, got"):
        policy.update(ranking, click)  # type: ignore[arg-type]
    assert snapshot(policy) == before


def strangers() -> dict[str, object]:
    policy = learned()
    good = policy.rank(K)
    poisoned, short = good.features.copy(), good.features[:2].copy()
    poisoned[1, 1] = np.nan
    return {
        "of another policy": learned("CascadeLinUCBFull").rank(K),
        "of another number of columns": learned("CascadeLinUCB").rank(K),
        "of another catalog": learned(seed=1).rank(K),
        "made by hand": Ranking(np.arange(K)),
        "with NaN": good.replace(features=poisoned),
        "with too few features": good.replace(features=short),
        "a list": [1, 2, 3],
        "nothing": None,
    }


@pytest.mark.parametrize("what", list(strangers()))
def test_a_ranking_that_is_not_ours_changes_nothing(what: str) -> None:
    policy = learned()
    before = snapshot(policy)
    with pytest.raises(FeedbackError):
        policy.update(strangers()[what], 0)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError):
        policy.explain(strangers()[what])  # type: ignore[arg-type]
    assert snapshot(policy) == before


@pytest.mark.parametrize("gamma", [-1, float("nan"), float("inf"), "1", None, True])
def test_gamma_must_be_a_number_from_zero_on(gamma: object) -> None:
    with pytest.raises(ProblemError, match="gamma must be a number"):
        CascadeHybrid(generate().catalog, gamma=gamma)  # type: ignore[arg-type]


def test_a_catalog_without_the_columns_a_policy_needs() -> None:
    with pytest.raises(CatalogError, match="CascadeLinUCB needs relevance features"):
        CascadeLinUCB(Catalog(coverage=[[0.5]]))
    with pytest.raises(CatalogError, match="CascadeLSB needs topics"):
        CascadeLSB(Catalog(relevance=[[0.5]]))
    with pytest.raises(CatalogError, match="must be a Catalog, got list"):
        CascadeLSB([[0.5]])  # type: ignore[arg-type]


def test_features_too_large_for_double_precision_are_refused() -> None:
    times = Catalog(relevance=[[1.6e9, 1.0], [1.5e9, 2.0]])
    with pytest.raises(CatalogError, match=r"relevance is 1.6e\+09 at row 0, feature 0; scale features"):
        CascadeLinUCB(times)
    growing = POLICIES["CascadeLSBFull"](Catalog(coverage=[[0.1]] * 8, relevance=[[-999.0]] * 8))
    growing.update(growing.rank(2), 0)
    before = snapshot(growing)
    with pytest.raises(RankError, match="grow down the list"):
        growing.rank(8)
    assert snapshot(growing) == before


def test_a_newer_catalog_keeps_what_was_learned_and_old_feedback_counts() -> None:
    policy = learned()
    shown = policy.rank(K)
    newer = policy.with_catalog(policy.catalog.withdraw([shown.ids[0]]))
    np.testing.assert_array_equal(newer.weights, policy.weights)
    assert shown.ids[0] not in newer.rank(10).ids
    newer.update(shown, 0)
    policy.update(shown, 0)
    np.testing.assert_array_equal(newer.weights, policy.weights)
    assert newer.explain(shown)[0].title == str(shown.ids[0])
    with pytest.raises(CatalogError, match="do not fit a catalog"):
        policy.with_catalog(generate(topics=6, features=3).catalog)


@each_policy
def test_saved_and_loaded_bit_for_bit(name: str, tmp_path: Path) -> None:
    policy = learned(name)
    shown = policy.rank(K)
    policy.save(tmp_path / "policy.npz")
    again = rankfall.load(tmp_path / "policy.npz")
    assert snapshot(again) == snapshot(policy)
    assert again.catalog == policy.catalog
    assert (type(again), again.settings) == (type(policy), policy.settings)
    for twin in (policy, again):
        twin.update(shown, 2)
    assert snapshot(again) == snapshot(policy)
    assert again.rank(K).scores.tobytes() == policy.rank(K).scores.tobytes()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "policy.npz"
    learned().save(path)
    whole = path.read_bytes()
    if data.draw(st.booleans(), label="truncate"):
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    else:
        path.write_bytes(data.draw(st.binary(max_size=200)))
    with pytest.raises(FileError, match="not a policy saved by rankfall"):
        rankfall.load(path)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        rankfall.load(tmp_path / "nothing.npz")
    np.savez(tmp_path / "foreign.npz", a=np.arange(3))
    with pytest.raises(FileError, match="not a policy saved by rankfall"):
        rankfall.load(tmp_path / "foreign.npz")
    learned().save(tmp_path / "policy.npz")
    header, blocks = unpack((tmp_path / "policy.npz").read_bytes())
    for broken in (
        {"format": "rankfall policy 99"},
        {"topics": ["a"]},
        {"policy": "TopRank"},
        {"settings": {"luck": 1}},
    ):
        (tmp_path / "foreign.npz").write_bytes(pack({**header, **broken}, blocks))
        with pytest.raises(FileError, match="not a policy saved by rankfall"):
            rankfall.load(tmp_path / "foreign.npz")
    for name, array in (("moment", np.zeros(3)), ("gram", np.full((8, 8), np.nan)), ("counts", np.zeros(2))):
        (tmp_path / "foreign.npz").write_bytes(pack(header, {**blocks, f"state.{name}": array}))
        with pytest.raises(FileError, match="not a policy saved by rankfall"):
            rankfall.load(tmp_path / "foreign.npz")


def test_saving_leaves_the_old_file_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy.npz"
    learned().save(path)
    before = path.read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match="No space left on device"):
        learned("CascadeLSB").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


class Mine(LinearPolicy):
    coverage = "constant"


def test_a_linear_policy_of_ones_own() -> None:
    assert check_policy(Mine(generate().catalog)).served
    with pytest.raises(ProblemError, match="neither coverage nor relevance"):

        class Nothing(LinearPolicy):
            pass


@each_forgetting
def test_a_policy_that_forgets_keeps_the_contract(forgetting: Discount | Window) -> None:
    check_policy(learned(forgetting=forgetting))
    check_policy(learned(forgetting=forgetting, steps=0))
    assert repr(forgetting) in repr(learned(forgetting=forgetting))


@each_forgetting
@each_policy
def test_a_policy_that_forgets_goes_on_to_the_bit(name: str, forgetting: Discount | Window, tmp_path: Path) -> None:
    policy = learned(name, forgetting=forgetting)
    policy.save(tmp_path / "policy.npz")
    loaded = rankfall.load(tmp_path / "policy.npz")
    twins = [loaded, copy.deepcopy(policy), policy.with_catalog(policy.catalog)]
    shown = [policy.rank(K) for _ in range(30)]
    for twin in twins:
        assert twin.forgetting == forgetting
        assert snapshot(twin) == snapshot(policy)
    for number, ranking in enumerate(shown):
        for one in (policy, *twins):
            one.update(ranking, (None, 0, 3)[number % 3])
    for twin in twins:
        assert snapshot(twin) == snapshot(policy)
        assert same(twin.rank(K), policy.rank(K))


def test_copies_of_a_policy_with_a_window_learn_on_their_own() -> None:
    policy = learned(forgetting=Window(20))
    before, twin = snapshot(policy), copy.deepcopy(policy)
    for _ in range(25):
        twin.update(twin.rank(K), 0)
    assert snapshot(policy) == before


@each_forgetting
def test_a_policy_that_forgets_keeps_no_shortlists(forgetting: Discount | Window) -> None:
    policy = learned(forgetting=forgetting)
    plain = learned(forgetting=forgetting)
    plain.pruning = False
    for click in (0, None, 2):
        assert same(policy.rank(K), plain.rank(K))
        assert policy._lists.shortlists is None  # they rely on widths that only shrink
        for one in (policy, plain):
            one.update(one.rank(K), click)


def test_what_is_forgotten_makes_widths_grow() -> None:
    policy = CascadeLinUCB(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0]]), forgetting=Window(3))
    first, second = ({0: row} for row in (0, 1))
    for _ in range(3):
        policy.update(policy.rank(1, fixed=first), None)
    narrow = policy.rank(1, fixed=first).widths[0]
    for _ in range(3):
        policy.update(policy.rank(1, fixed=second), None)
    assert (narrow, policy.rank(1, fixed=first).widths[0]) == (0.5, 1.0)


def rewritten(source: Path, target: Path, settings: dict[str, object], **arrays: np.ndarray) -> Path:
    """A saved policy with some of its settings and arrays replaced."""
    header, blocks = unpack(source.read_bytes())
    header["settings"] |= settings
    target.write_bytes(pack(header, {**blocks, **{f"state.{name}": array for name, array in arrays.items()}}))
    return target


def test_a_damaged_memory_is_refused(tmp_path: Path) -> None:
    learned(forgetting=Window(20)).save(tmp_path / "policy.npz")
    source, target = tmp_path / "policy.npz", tmp_path / "broken.npz"
    for said in (None, {}, {"Window": {"lists": 0}}, {"Window": {"lists": 19}}, {"Habit": {}}, "Window", {"Window": 3}):
        with pytest.raises(FileError, match="not a policy saved by rankfall"):
            rankfall.load(rewritten(source, target, {"forgetting": said}))
    with pytest.raises(FileError, match="window_features is float64 of shape"):
        rankfall.load(rewritten(source, target, {}, window_rewards=np.zeros(3)))


def test_forgetting_must_be_of_a_known_kind() -> None:
    with pytest.raises(ProblemError, match="forgetting must be a Discount, a Window or None, got 1000"):
        CascadeHybrid(generate().catalog, forgetting=1000)  # type: ignore[arg-type]
