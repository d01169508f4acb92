"""Users of any attraction and click model."""

import numpy as np

from rankfall import (
    Cascade,
    Coverage,
    DependentClick,
    DocumentBased,
    ExaminedCascade,
    Hybrid,
    Linear,
    PerItem,
    PositionBased,
)

PAIRS = [
    (model, reward)
    for model, rewards in {
        "cascade": ("any", "clicks", "satisfied"),
        "examined": ("any", "clicks", "satisfied"),
        "dependent": ("any", "clicks", "satisfied"),
        "position": ("any", "clicks"),
        "document": ("any", "clicks"),
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


def clicks(kind, rng, k=5):
    match kind:
        case "cascade":
            return Cascade()
        case "examined":
            return ExaminedCascade(rng.random(k))
        case "dependent":
            return DependentClick(rng.random(k))
        case "position":
            return PositionBased(rng.random(k))
    return DocumentBased()
