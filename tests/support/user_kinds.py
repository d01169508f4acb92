"""Users of any attraction and click model."""

import numpy as np

from rankfall import (
    Cascade,
    ClickChain,
    Coverage,
    DependentClick,
    DocumentBased,
    DynamicBayesian,
    ExaminedCascade,
    Hybrid,
    Linear,
    PerItem,
    PositionBased,
    UserBrowsing,
)

PAIRS = [
    (model, reward)
    for model, rewards in {
        "cascade": ("any", "clicks", "satisfied"),
        "examined": ("any", "clicks", "satisfied"),
        "dependent": ("any", "clicks", "satisfied"),
        "position": ("any", "clicks"),
        "document": ("any", "clicks"),
        "browsing": ("any", "clicks"),
        "bayesian": ("any", "clicks", "satisfied"),
        "simplified": ("any", "clicks", "satisfied"),
        "chain": ("any", "clicks"),
    }.items()
    for reward in rewards
]


ATTRACTIONS = ["per_item", "linear", "hybrid", "coverage"]


def attraction(kind, rng, n=6):
    x, z = rng.random((n, 3)) * (rng.random((n, 3)) < 0.7), rng.random((n, 2))
    theta, beta = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))
    match kind:
        case "per_item":
            return PerItem(rng.random(n))
        case "linear":
            return Linear(z, beta)
        case "hybrid":
            return Hybrid(x, z, theta, beta, 0.4)
    return Coverage(x, theta)


def clicks(kind, rng, k=5, n=6):
    match kind:
        case "cascade":
            return Cascade()
        case "examined":
            return ExaminedCascade(rng.random(k))
        case "dependent":
            return DependentClick(rng.random(k))
        case "position":
            return PositionBased(rng.random(k))
        case "browsing":
            return UserBrowsing(np.tril(rng.random((k, k))))
        case "bayesian":
            return DynamicBayesian(rng.random(n), rng.random())
        case "simplified":
            return DynamicBayesian(rng.random(n))
        case "chain":
            return ClickChain(rng.random(3))
    return DocumentBased()
