"""Context, features of candidates, rules, pins and a prior in one list, against the equations written out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specification import gain

from rankfall import AtMost, CascadeHybrid, CascadeHybridTS, Catalog, LinearPolicy, Prior

ITEMS, K = 12, 4
CONTEXT = {"device": {"kind": "category", "levels": ["mobile", "desk"]}, "age": {"kind": "number", "scale": 10.0}}
SAID: list[dict[str, Any]] = [{"device": "mobile", "age": 7.0}, {"device": "desk"}, {"device": "watch", "age": -20.0}]


def catalog(rng: np.random.Generator) -> Catalog:
    brands = rng.choice(["acme", "bolt", "cove"], ITEMS).tolist()
    return Catalog(rng.random((ITEMS, 3)), rng.normal(size=(ITEMS, 2)), attributes={"brand": brands})


def taught(policy: LinearPolicy, rng: np.random.Generator) -> None:
    for turn in range(20):
        told = {row: {"bm25": float(rng.normal())} for row in range(ITEMS)}
        ranking = policy.rank(K, rng=rng, context=SAID[turn % 3], features=told)
        policy.update(ranking, int(rng.integers(K)) if rng.random() < 0.6 else None)


def by_hand(policy: LinearPolicy, k: int, c: np.ndarray, asked: dict[str, Any]) -> list[int]:
    """At each position the allowed item with the highest score, with all columns of c (x) phi written out."""
    x, z, brands = policy.catalog.coverage, policy.catalog.relevance, policy.catalog.attributes.column("brand")
    chosen: list[int] = []
    fixed = asked["fixed"]
    for position in range(k):
        if position in fixed:
            chosen.append(fixed[position])
            continue
        standing = {*chosen, *fixed.values()}
        scores = {}
        for row in asked["candidates"]:
            same = [one for one in standing if brands.codes[one] == brands.codes[row]]
            if row in standing or same:
                continue
            told = asked["features"].get(row, {"bm25": 0.0})["bm25"] / 2.0
            phi = np.array([*gain(x[[row]], [x[one] for one in chosen])[0], *z[row], told])
            every = np.kron(c, phi)
            scores[row] = every @ policy.weights + policy.gamma * np.sqrt(every @ policy.covariance @ every)
        chosen.append(max(scores, key=lambda row: scores[row]))
    return chosen


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), said=st.sampled_from(SAID), across=st.booleans())
def test_the_list_is_the_best_that_the_rules_leave_at_this_context(seed: int, said: Any, across: bool) -> None:
    rng = np.random.default_rng(seed)
    policy = CascadeHybrid(catalog(rng), context=CONTEXT, request_features={"bm25": {"scale": 2.0}}, gamma=0.7)
    if across:
        columns = len(policy.weights)
        policy = policy.with_prior(Prior(rng.normal(size=columns), np.diag(rng.uniform(0.1, 1.0, columns))))
    taught(policy, rng)
    brands = policy.catalog.attributes.column("brand").codes.tolist()
    candidates = rng.permutation(ITEMS)[:9].tolist()
    pinned = int(rng.integers(ITEMS))
    left = {brands[row] for row in candidates} - {brands[pinned]}
    k = min(K, 1 + len(left))
    if k < 2:
        return
    asked = {
        "candidates": candidates,
        "features": {row: {"bm25": float(rng.normal())} for row in candidates[:6]},
        "fixed": {1: pinned},
    }
    rules = [AtMost(n=1, attribute="brand")]
    ranking = policy.rank(k, context=said, rules=rules, **asked)
    assert not ranking.relaxed
    assert policy.context is not None
    expected = by_hand(policy, k, policy.context.encode(said), asked)
    assert ranking.items.tolist() == expected
    x, z = policy.catalog.coverage, policy.catalog.relevance
    for i, row in enumerate(ranking.items.tolist()):
        phi = [*gain(x[[row]], x[ranking.items[:i]])[0], *z[row], asked["features"].get(row, {"bm25": 0.0})["bm25"] / 2]
        np.testing.assert_allclose(ranking.features[i], phi, atol=1e-12)


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("ruled", [True, False])
def test_drawn_weights_make_the_list_of_this_context(everything: bool, ruled: bool) -> None:
    """With gamma 0 the draw is the estimate, so the list is the greedy one."""
    rng = np.random.default_rng(5)
    told: dict[str, Any] = {"context": CONTEXT, "request_features": {"bm25": {"scale": 2.0}}}
    drawing = CascadeHybridTS(catalog(rng), **told)
    taught(drawing, rng)
    greedy = CascadeHybrid(drawing.catalog, gamma=0.0, **told)
    greedy.restore(drawing.state())
    asked: dict[str, Any] = {"context": SAID[0], "rules": [AtMost(n=2, attribute="brand")] if ruled else None}
    if not everything:
        asked |= {"candidates": list(range(2, 11)), "features": {3: {"bm25": 4.0}}}
    one = drawing.with_settings(gamma=1e-9).rank(K, rng=rng, **asked)
    other = greedy.rank(K, **asked)
    assert one.items.tolist() == other.items.tolist()
    np.testing.assert_allclose(one.means, other.means, atol=1e-12)
    assert np.isfinite(one.scores).all()
