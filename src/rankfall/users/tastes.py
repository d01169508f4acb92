"""Tastes that move with the context, made from those of other people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from rankfall.arrays import FloatArray, number, whole
from rankfall.errors import ProblemError
from rankfall.policies.context import Context
from rankfall.policies.factors import Category, Factor, Number

MOST_SITUATIONS = 2_000


def situations_of(context: Context, hours: int = 8) -> list[dict[str, Any]]:
    """Every combination of values: each level of a category, hours and weekdays evenly, numbers low, usual and high.

    >>> situations_of(Context({"device": {"kind": "category", "levels": ["tv"]}, "hour": {"kind": "hour"}}), hours=2)
    [{'device': 'tv', 'hour': 0.0}, {'device': 'tv', 'hour': 12.0}]
    """
    hours = whole("hours", hours, ProblemError, low=1)
    values = [_values(factor, hours) for factor in context.factors.values()]
    if np.prod([float(len(each)) for each in values]) > MOST_SITUATIONS:
        raise ProblemError(f"the context has more than {MOST_SITUATIONS:,} situations; give fewer levels or hours")
    return [dict(zip(context.names, one, strict=True)) for one in product(*values)]


def _values(factor: Factor, hours: int) -> Sequence[Any]:
    if isinstance(factor, Category):
        return factor.levels
    if isinstance(factor, Number):
        return [factor.centre - factor.scale, factor.centre, factor.centre + factor.scale]
    points = hours if factor.kind == "hour" else 7
    return [factor.period * i / points for i in range(points)]


def moved_tastes(
    own: FloatArray,
    others: FloatArray,
    context: Context,
    situations: Sequence[Mapping[str, Any]],
    matters: float = 1.0,
    seed: int = 0,
) -> FloatArray:
    """The tastes of a person in each situation (situations, columns): partly their own, partly those of others.

    Every level of a category is another person; a number or an hour goes from one person to another and back. The taste
    in a situation is ``(1 - matters)`` of the person's own, and for the rest the mean over the factors.

    Parameters
    ----------
    own : (columns,) preferences without any context.
    others : (people, columns) those of others, of which some are drawn with ``seed``.
    matters : from 0, where the context does not matter, to 1.

    >>> context = Context({"device": {"kind": "category", "levels": ["tv", "phone"]}})
    >>> others = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> moved_tastes(np.array([0.5, 0.5]), others, context, situations_of(context), matters=0.5, seed=2)
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    matters = number("matters", matters, ProblemError, low=0.0, high=1.0)
    rng = np.random.default_rng(whole("seed", seed, ProblemError, low=0))
    if len(others) < 2:
        raise ProblemError(f"tastes move between those of people, and there are only {len(others)}; make more users")
    moved = np.zeros((len(situations), len(own)))
    for name, factor in context.factors.items():
        width = len(factor.columns(name))
        encoded = np.array([factor.encode(one[name]) for one in situations])
        people = np.array([others[rng.permutation(len(others))[:2]] for _ in range(width)])  # (width, 2, columns)
        if isinstance(factor, Category):
            order = np.concatenate([rng.permutation(len(others)) for _ in range(-(-width // len(others)))])
            moved += encoded @ others[order[:width]]
        else:
            share = (1.0 + np.clip(encoded, -1.0, 1.0)) / 2.0
            moved += (share @ people[:, 0] + (1.0 - share) @ people[:, 1]) / width
    return (1.0 - matters) * own + matters * moved / len(context.factors)
