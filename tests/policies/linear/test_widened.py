"""A model that gets columns later knows what it would know had it had them from the start, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import CascadeHybrid, CascadeLinUCB, Catalog, Discount, Window
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.ridge import Ridge


def lists(rng: np.random.Generator, count: int, columns: int) -> list[tuple[np.ndarray, np.ndarray]]:
    made = []
    for _ in range(count):
        features = rng.normal(size=(int(rng.integers(1, 5)), columns)) * (rng.random(columns) < 0.7)
        made.append((features, (rng.random(len(features)) < 0.3).astype(float)))
    return made


@pytest.mark.parametrize("forgetting", [None, Discount(0.9), Window(4)], ids=str)
@given(st.integers(0, 3), st.integers(1, 3), st.integers(0, 12), st.integers(0, 6), st.integers(0, 1000))
def test_widened_is_as_from_the_start(
    forgetting: Forgetting | None, at: int, count: int, before: int, after: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    early, late = lists(rng, before, 3), lists(rng, after, 3 + count)
    narrow, always = Ridge(3, forgetting), Ridge(3 + count, forgetting)
    for features, rewards in early:
        narrow.learn(features, rewards)
        always.learn(np.insert(features, [at] * count, 0.0, axis=1), rewards)
    wide = Ridge.restore(Ridge.widened(narrow.arrays(), at, count), forgetting)
    for features, rewards in late:
        wide.learn(features, rewards)
        always.learn(features, rewards)
    for name, array in always.arrays().items():
        assert wide.arrays()[name].tobytes() == array.tobytes(), name


def test_a_policy_learns_from_lists_of_before() -> None:
    rng = np.random.default_rng(0)
    catalog = Catalog(rng.random((6, 2)), rng.normal(size=(6, 3)))
    grown = catalog.with_topics(["new"])
    old, new, shown = CascadeHybrid(catalog), CascadeHybrid(grown), np.array([[3, 1, 2]])
    old.learn_record(old.records(shown)[0], 1)
    new.learn_record(old.records(shown)[0], 1, topics=2)
    again = CascadeHybrid(grown).with_state(new.widened(old.state(), [2]))
    reference = CascadeHybrid(grown)
    reference.update(reference.rank(3, fixed=dict(enumerate(shown[0].tolist()))), click=1)
    for policy in (new, again):
        assert all(policy.state()[name].tobytes() == array.tobytes() for name, array in reference.state().items())
    with pytest.raises(ValueError, match="5 columns for a policy of 6"):
        CascadeHybrid(grown).with_state(new.widened(old.state(), [1]))


def test_a_policy_without_topics_has_nothing_to_widen() -> None:
    catalog = Catalog([[0.5], [0.1]], [[1.0], [0.2]])
    old, new = CascadeLinUCB(catalog), CascadeLinUCB(catalog.with_topics(["new"]))
    record = old.records(np.array([[0, 1]]))[0]
    old.learn_record(record, 0)
    new.learn_record(record, 0, topics=1)
    assert new.weights.tolist() == old.weights.tolist()
