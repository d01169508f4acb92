"""Simulated users of each click model, the click logs they leave, and whether two fits are the same."""

import numpy as np

from rankfall import (
    Cascade,
    ClickChain,
    DependentClick,
    DynamicBayesian,
    ExaminedCascade,
    PerItem,
    PositionBased,
    User,
    UserBrowsing,
)
from rankfall.users.fitting import draw_log

ALPHA = np.array([0.5, 0.05, 0.3, 0.15, 0.4, 0.1, 0.25, 0.2])
SATISFACTION = np.array([0.8, 0.3, 0.4, 0.6, 0.2, 0.4, 0.7, 0.1])
BROWSING = [[1.0], [0.7, 0.8], [0.4, 0.5, 0.75], [0.2, 0.3, 0.4, 0.7]]
USERS = {
    "cascade": User(PerItem(ALPHA), Cascade()),
    "examined_cascade": User(PerItem(ALPHA), ExaminedCascade([1.0, 0.7, 0.5, 0.3])),
    "dependent_click": User(PerItem(ALPHA), DependentClick([0.7, 0.5, 0.4, 0.3])),
    "position_based": User(PerItem(ALPHA), PositionBased([1.0, 0.7, 0.4, 0.2])),
    "user_browsing": User(PerItem(ALPHA), UserBrowsing(BROWSING)),
    "dynamic_bayesian": User(PerItem(ALPHA), DynamicBayesian(SATISFACTION, 0.8)),
    "simplified_bayesian": User(PerItem(ALPHA), DynamicBayesian(SATISFACTION)),
    "click_chain": User(PerItem(ALPHA), ClickChain([0.9, 0.8, 0.2])),
}


def lists(count, seed):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(8), (count, 1)), axis=1)[:, :4]


def log_of(name, count=4000, seed=0):
    return draw_log(USERS[name], lists(count, seed), seed=seed + 1000)


def log_of_ten(name, count, seed):
    """Lists of all ten positions that PyClick expects, of twelve items."""
    alpha, satisfaction = np.linspace(0.05, 0.6, 12), np.linspace(0.9, 0.2, 12)
    i, last = np.tril_indices(10)
    browsing = np.zeros((10, 10))
    browsing[i, last] = np.where(last == 0, 0.9**i, 0.8 ** (i - last))
    clicks = {
        "user_browsing": UserBrowsing(browsing),
        "dynamic_bayesian": DynamicBayesian(satisfaction, 0.85),
        "simplified_bayesian": DynamicBayesian(satisfaction),
        "click_chain": ClickChain([0.95, 0.9, 0.3]),
    }[name]
    shown = np.random.default_rng(seed).permuted(np.tile(np.arange(12), (count, 1)), axis=1)[:, :10]
    return draw_log(User(PerItem(alpha), clicks), shown, seed=seed + 1000)


def check_same(one, other):
    assert one.items.dtype == other.items.dtype
    assert one.items.equals(other.items, check_names=True)
    for name in ("attraction", "views", "examination", "termination", "satisfaction", "continuation"):
        here, there = getattr(one, name), getattr(other, name)
        assert (here is None) == (there is None), name
        assert here is None or (here.shape, here.tobytes()) == (there.shape, there.tobytes()), name
    for name in ("model", "log_likelihood", "lists", "iterations", "converged", "ignored"):
        assert repr(getattr(one, name)) == repr(getattr(other, name)), name
