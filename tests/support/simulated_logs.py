"""Simulated users of each click model, the click logs they leave, and whether two fits are the same."""

import numpy as np

from rankfall import Cascade, DependentClick, ExaminedCascade, PerItem, PositionBased, User
from rankfall.users.fitting import draw_log

ALPHA = np.array([0.5, 0.05, 0.3, 0.15, 0.4, 0.1, 0.25, 0.2])
USERS = {
    "cascade": User(PerItem(ALPHA), Cascade()),
    "examined_cascade": User(PerItem(ALPHA), ExaminedCascade([1.0, 0.7, 0.5, 0.3])),
    "dependent_click": User(PerItem(ALPHA), DependentClick([0.7, 0.5, 0.4, 0.3])),
    "position_based": User(PerItem(ALPHA), PositionBased([1.0, 0.7, 0.4, 0.2])),
}


def lists(count, seed):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(8), (count, 1)), axis=1)[:, :4]


def log_of(name, count=4000, seed=0):
    return draw_log(USERS[name], lists(count, seed), seed=seed + 1000)


def check_same(one, other):
    assert one.items.dtype == other.items.dtype
    assert one.items.equals(other.items, check_names=True)
    for name in ("attraction", "views", "examination", "termination"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for name in ("model", "log_likelihood", "lists", "iterations", "converged", "ignored"):
        assert repr(getattr(one, name)) == repr(getattr(other, name)), name
