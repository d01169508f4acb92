"""Tabular policies over a catalog that changes, in either of the two ways they keep counts: nothing is lost."""

import copy
import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import Catalog, Discount, ProblemError, Ranking, Window, check_policy, load
from rankfall.errors import FeedbackError, FileError
from rankfall.policies import POLICIES, SERVED
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.tabular.policy import TabularPolicy

FORGETS: dict[str, Forgetting] = {"CascadeDUCB": Discount(0.9), "CascadeSWUCB": Window(6)}
IDS = tuple("abcdefgh")

TABULAR = {name: kind for name, kind in POLICIES.items() if issubclass(kind, TabularPolicy)}

names = pytest.mark.parametrize("name", list(TABULAR))


def served(name: str, ids: tuple[str, ...] = IDS, *, shared: bool = False) -> TabularPolicy:
    """A policy that keeps counts by id alone, as a service has one for each user; or with rows for the catalog."""
    return TABULAR[name].serve(Catalog(ids=ids), forgetting=FORGETS.get(name), shared=shared)


def plain(name: str, ids: tuple[str, ...] = IDS) -> TabularPolicy:
    told = {"CascadeDUCB": {"discount": 0.9}, "CascadeSWUCB": {"window": 6}}.get(name, {})
    return TABULAR[name](Catalog(ids=ids), **told)


def bits(policy: TabularPolicy) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in policy.state().items()}


def taught(name: str, lists: int = 30, seed: int = 0) -> TabularPolicy:
    policy, rng = served(name), np.random.default_rng(seed)
    for _ in range(lists):
        policy.update(policy.rank(3, rng=rng), sorted(rng.permutation(3)[: rng.integers(3)].tolist()) or None)
    return policy


@names
def test_the_contract(name: str) -> None:
    check_policy(served(name))
    check_policy(taught(name))


@names
def test_counts_by_id_and_rows_for_the_catalog_give_the_same(name: str) -> None:
    ours, theirs = served(name), plain(name)
    coins = np.random.default_rng(1)
    for turn in range(60):
        seed = [turn, 7]
        limits = {"exclude": [int(coins.integers(8))]} if turn % 3 == 0 else {}
        mine = ours.rank(3, rng=np.random.default_rng(seed), **limits)
        other = theirs.rank(3, rng=np.random.default_rng(seed), **limits)
        assert mine.items.tolist() == other.items.tolist()
        assert mine.scores.tolist() == other.scores.tolist()
        assert mine.ids == tuple(IDS[row] for row in mine.items.tolist())
        clicks = sorted(coins.permutation(3)[: coins.integers(3)].tolist()) or None
        ours.update(mine, clicks)
        theirs.update(other, clicks)
    assert bits(ours) == bits(theirs)
    assert ours.observed.tolist() == theirs.observed.tolist()
    assert ours.clicked.tolist() == theirs.clicked.tolist()


@names
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_items_come_and_go_and_what_is_known_of_them_stays(name: str, data: st.DataObject) -> None:
    """Against a dictionary of what was seen, which knows nothing of rows."""
    policy, lists = served(name), []
    for _ in range(data.draw(st.integers(1, 12))):
        here = tuple(data.draw(st.lists(st.sampled_from(IDS), min_size=2, max_size=8, unique=True)))
        policy = served(name, here, shared=data.draw(st.booleans())).sharing(policy)
        ranking = policy.rank(data.draw(st.integers(1, len(here))), rng=np.random.default_rng(0))
        assert set(ranking.ids) <= set(here)
        clicks = data.draw(st.lists(st.integers(0, len(ranking) - 1), max_size=2, unique=True))
        lists.append((ranking.ids, sorted(clicks)))
        if data.draw(st.booleans()):
            policy.update(ranking, clicks)
        else:
            policy.learn_record(policy.record(ranking), clicks)
    observed, clicked = {}, {}
    for ids, clicks in lists[-6:] if name == "CascadeSWUCB" else lists:
        if name == "CascadeDUCB":
            observed = {item: 0.9 * n for item, n in observed.items()}
            clicked = {item: 0.9 * n for item, n in clicked.items()}
        last = name == "DCMKLUCB"
        seen = ids if not clicks else ids[: (clicks[-1] if last else clicks[0]) + 1]
        for item in seen:
            observed[item] = observed.get(item, 0.0) + 1.0
        for at in clicks if last else clicks[:1]:
            clicked[ids[at]] = clicked.get(ids[at], 0.0) + 1.0
    whole = served(name).sharing(policy)
    for part in whole.learned():
        assert part.block == "item"
        assert part.weight == pytest.approx(clicked.get(part.name, 0.0) / observed[part.name])
    assert {part.name for part in whole.learned()} == set(observed)
    assert policy.n_updates == len(lists)


@names
def test_a_state_is_restored_bit_for_bit_and_its_bytes_do_not_depend_on_how_it_came_about(name: str) -> None:
    policy = taught(name)
    again = served(name, tuple(reversed(IDS))).with_state(policy.state())
    twins = [again, copy.deepcopy(policy), plain(name, (*IDS[4:], "z")).with_state(policy.state())]
    assert all(bits(twin) == bits(policy) for twin in twins)
    ranking = policy.rank(3)
    for one in (policy, *twins):
        one.update(ranking, 1)
    assert all(bits(twin) == bits(policy) for twin in twins)


@names
def test_a_newer_catalog_keeps_what_was_learned_also_of_items_that_left(name: str) -> None:
    policy = plain(name)
    first = policy.rank(3)
    policy.update(first, 1)
    newer = policy.with_catalog(policy.catalog.withdraw(["a", "b"]).add(Catalog(ids=["z"])))
    newer.update(first, 0)  # feedback on a list of the earlier catalog
    policy.update(first, 0)
    assert bits(newer) == bits(policy)
    back = newer.with_catalog(policy.catalog)
    assert bits(back) == bits(policy)
    assert back.rank(8, rng=np.random.default_rng(0)).ids == policy.rank(8, rng=np.random.default_rng(0)).ids


@names
def test_saved_and_loaded(name: str, tmp_path: Path) -> None:
    policy = taught(name)
    policy.save(tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert again.catalog == policy.catalog
    assert (type(again), again.settings) == (type(policy), policy.settings)
    rankings = [p.rank(5, rng=np.random.default_rng(3)) for p in (policy, again)]
    assert rankings[0].ids == rankings[1].ids
    assert rankings[0].scores.tolist() == rankings[1].scores.tolist()
    (tmp_path / "half").write_bytes((tmp_path / "policy").read_bytes()[:200])
    with pytest.raises(FileError):
        load(tmp_path / "half")


def test_policies_that_count_alike_take_over_from_each_other() -> None:
    policy = taught("CascadeUCB1")
    other, direct = served("CascadeKLUCB").with_state(policy.state()), plain("CascadeKLUCB")
    rng = np.random.default_rng(0)
    first = served("CascadeUCB1")
    for _ in range(30):  # the lists of taught(), to another policy
        ranking = first.rank(3, rng=rng)
        clicks = sorted(rng.permutation(3)[: rng.integers(3)].tolist()) or None
        first.update(ranking, clicks)
        direct.update(ranking, clicks)
    assert other.rank(8).items.tolist() == direct.rank(8).items.tolist()
    assert {POLICIES[n].learns() for n in ("CascadeUCB1", "CascadeKLUCB", "CascadeTS")} == {"counts of first clicks"}


def test_each_ranks_its_own_way_on_a_state_they_share() -> None:
    one = taught("CascadeKLUCB")
    before = one.rank(8)
    other = served("CascadeTS").sharing(one)
    assert one.rank(8).scores.tolist() == before.scores.tolist()
    assert other.rank(8, rng=np.random.default_rng(0)).scores.tolist() != before.scores.tolist()
    other.update(other.rank(3), 0)
    assert one.n_updates == other.n_updates == 31


@names
@pytest.mark.stress
def test_it_is_read_while_it_learns(name: str) -> None:
    """What is told and shown is of one moment, whatever is learned meanwhile."""
    policy, done = taught(name), threading.Event()

    def learn() -> None:
        while not done.is_set():
            policy.update(policy.rank(3), 1)

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        for _ in range(2000):
            assert all(0.0 <= part.weight <= 1.0 + 1e-9 for part in policy.learned())
            policy.explain(policy.rank(4))
    finally:
        done.set()
        thread.join()


def test_a_state_does_not_hold_on_to_earlier_catalogs() -> None:
    policy = taught("CascadeSWUCB")
    first = weakref.ref(policy.catalog)
    policy = served("CascadeSWUCB").sharing(policy)
    gc.collect()
    assert first() is None
    assert policy.n_updates == 30


def test_items_of_one_title_are_told_apart() -> None:
    policy = POLICIES["CascadeUCB1"](Catalog(ids=[1, 2, 3], titles=["Same", "Same", "Other"]))
    policy.update(policy.rank(3), 1)
    policy.update(policy.rank(3), None)
    assert [part.name for part in policy.learned()] == ["Same (1)", "Same (2)", "Other"]


@names
def test_fixed_positions(name: str) -> None:
    policy = taught(name)
    free = policy.rank(8, rng=np.random.default_rng(0))
    ranking = policy.rank(4, rng=np.random.default_rng(0), fixed={1: 5, 3: 0}, exclude=[2])
    assert (ranking.items[1], ranking.items[3]) == (5, 0)
    assert len(set(ranking.items.tolist())) == 4
    assert 2 not in ranking.items
    if not policy.randomised:
        bound = dict(zip(free.items.tolist(), free.scores.tolist(), strict=True))
        assert ranking.scores.tolist() == [bound[row] for row in ranking.items.tolist()]
    parts = policy.explain(ranking)
    assert [part.relevance + part.bonus for part in parts] == pytest.approx([part.score for part in parts])


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("CascadeKLUCB", {"gamma": 0.5}, "CascadeKLUCB has no gamma"),
        ("CascadeTS", {"forgetting": Window(3)}, "CascadeTS does not forget"),
        ("CascadeDUCB", {}, "needs forgetting with a discount"),
        ("CascadeSWUCB", {"forgetting": Discount(0.9)}, "needs forgetting with a window"),
        ("CascadeUCB1", {"feedback": "all"}, "for linear policies"),
    ],
)
def test_what_it_does_not_have_is_said(name: str, words: dict[str, object], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        SERVED[name].serve(Catalog(ids=IDS), **words)  # type: ignore[arg-type]


def test_a_ranking_whose_ids_are_not_those_of_its_items_is_refused() -> None:
    policy = served("CascadeUCB1")
    with pytest.raises(FeedbackError, match="2 items and 1 ids"):
        policy.update(Ranking([0, 1], ids=("a",)), 0)
    with pytest.raises(ProblemError, match="it counts something else"):
        policy.sharing(taught("CascadeDUCB"))


def test_damaged_states_are_refused() -> None:
    policy = taught("CascadeSWUCB")
    arrays = policy.state()
    far = np.full_like(arrays["window"], 10**13)
    many = {"window": np.zeros((9, 2), dtype=np.int64), "hits": np.zeros(9, dtype=np.int64)}
    for wrong, said in (
        (
            {n: a for n, a in arrays.items() if n != "n_updates"},
            "counts are observed, clicked and n_updates; got observed, clicked",
        ),
        ({**arrays, "observed": arrays["observed"][:-1]}, "observed is"),
        ({**arrays, "clicked": np.full_like(arrays["clicked"], np.nan)}, "clicked is"),
        ({**arrays, **many}, "9 lists and 9 clicks for a window of 6"),
        ({**arrays, "window": far}, "items that are not there"),
        ({**arrays, "window": np.full_like(arrays["window"], -1)}, "lists without items"),
        ({**arrays, "hits": np.full_like(arrays["hits"], 10**13)}, "clicks that are not there"),
        ({**arrays, "n_updates": np.array(-5)}, "-5 updates"),
        ({**arrays, "clicked": arrays["observed"] + 1.0}, "not between 0 and what was observed"),
        ({**arrays, "ids": np.frombuffer(b'["a", "a"]', dtype=np.uint8)}, "not different"),
        ({**arrays, "ids": np.frombuffer(b"7", dtype=np.uint8)}, "not different"),
    ):
        with pytest.raises(ValueError, match=said):
            policy.with_state(wrong)
