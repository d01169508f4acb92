"""Factors of who clicked what: those of section 4.1 where clicks are many, predicted where there are none."""

import numpy as np
from scipy.sparse import csr_array

from rankfall.data.catalogs.factors import CLICKS, learned_factors
from rankfall.data.preparation.equations import relevance_features


def world(users: int = 300, items: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Clicks that follow a feature of items, and the features with a constant."""
    rng = np.random.default_rng(1)
    kind, taste = rng.normal(size=items), rng.normal(size=users)
    clicked = rng.random((users, items)) < 1 / (1 + np.exp(1.5 - 2.0 * np.outer(taste, kind)))
    return clicked, np.column_stack([np.ones(items), kind])


def test_sparse_and_dense_have_the_same_features() -> None:
    clicked, _ = world()
    for F in (clicked, clicked.T):
        np.testing.assert_allclose(
            relevance_features(csr_array(F.astype(np.float32)), 4), relevance_features(F, 4), atol=1e-8
        )


def test_clicks_count_as_they_are_many_and_features_where_there_are_none() -> None:
    clicked, others = world()
    clicked[:, 100:] = False
    clickers = clicked.sum(axis=0)
    learned = learned_factors(csr_array(clicked.astype(np.float32)), clickers, others, 2)
    predicted = learned.rule.predicted(others, [()] * 120)
    assert learned.values[100:].tolist() == predicted[100:].tolist()
    book = np.zeros((120, 2))
    book[:100] = relevance_features(clicked[:, :100], 2)
    trust = (clickers / (clickers + CLICKS))[:, None]
    np.testing.assert_allclose(learned.values, trust * book + (1 - trust) * predicted, atol=1e-8)
    assert 0.5 < learned.explained <= 1.0


def test_items_nobody_saw_come_near_to_what_clicks_would_have_said() -> None:
    clicked, others = world()
    known = relevance_features(clicked, 2)
    hidden = clicked.copy()
    hidden[:, 100:] = False
    learned = learned_factors(csr_array(hidden.astype(np.float32)), hidden.sum(axis=0), others, 2)
    turned = learned.values * np.sign((learned.values[:100] * known[:100]).sum(axis=0))
    guess = np.linalg.norm(turned[100:] - known[100:], axis=1).mean()
    nothing = np.linalg.norm(known[:100].mean(axis=0) - known[100:], axis=1).mean()
    assert guess < 0.7 * nothing


def test_features_that_say_nothing_explain_nothing() -> None:
    rng = np.random.default_rng(2)
    clicked = rng.random((200, 80)) < 0.2
    noise = np.column_stack([np.ones(80), rng.normal(size=(80, 20))])
    learned = learned_factors(csr_array(clicked.astype(np.float32)), clicked.sum(axis=0), noise, 3)
    assert learned.explained < 0.2
