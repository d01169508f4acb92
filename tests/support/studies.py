"""Runs of the paper's study whose truth is known, made without simulating anything."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from rankfall.experiments.paper import PAPER

Setting = tuple[str, float]
GRID: tuple[Setting, ...] = (
    *(("tradeoff", step / 10) for step in range(11)),
    *(("topics", float(d)) for d in (5, 10, 15, 20)),
    *(("positions", float(k)) for k in (5, 10, 15, 20)),
)
STEPS = (100, 200, 400, 600, 800, 1000)


def as_published(sweep: str, value: float, policy: str) -> float:
    """A level of regret that makes every statement of section 4.3 true."""
    if policy == "CascadeHybrid":
        return 10.0
    if sweep == "tradeoff" and (value, policy) in {(0.0, "CascadeLSB"), (1.0, "CascadeLinUCB")}:
        return 9.0
    if sweep == "topics" and policy == "CascadeLinUCBFull":
        return 40.0 - value
    if sweep == "topics" and policy == "CascadeLSBFull":
        return 38.0
    return 30.0


def made(
    level: Callable[[str, float, str], float] = as_published,
    *,
    users: int = 8,
    repeats: int = 2,
    noise: float = 0.1,
    exponent: float = 0.5,
    grid: Iterable[Setting] = GRID,
    policies: Sequence[str] = tuple(PAPER),
    steps: Sequence[int] = STEPS,
) -> pl.DataFrame:
    """Regret ``level * (step / last) ** exponent``, plus noise and what each user adds for all policies alike."""
    rng = np.random.default_rng(7)
    own = rng.normal(scale=2.0, size=(users, repeats))  # far above the noise: only paired differences see through it
    own -= own.mean()
    cells = [(sweep, value, policy) for sweep, value in grid for policy in policies]
    index = np.indices((len(cells), users, repeats, len(steps))).reshape(4, -1)
    cell, user, repeat, step = index
    levels = np.array([level(*key) for key in cells])[:, None, None] + own
    ends = levels + noise * rng.normal(size=levels.shape)
    at = np.array(steps)[step]
    sweep, value, policy = ([key[i] for key in cells] for i in range(3))
    return pl.DataFrame(
        {
            "sweep": np.array(sweep)[cell],
            "value": np.array(value)[cell],
            "case": np.array(policy)[cell],
            "policy": np.array(policy)[cell],
            "user": user,
            "repeat": repeat,
            "step": at,
            "regret": ends[cell, user, repeat] * (at / steps[-1]) ** exponent,
            "clicks": at // 2,
            "touched": at * 4.0,
            "covered": at * 1.5,
            "best": 0.6,
        }
    ).with_columns(
        pl.col("value").rank("dense").over("sweep").cast(pl.Int32).sub(1).alias("point"),
        pl.when(sweep="tradeoff").then("value").otherwise(0.5).alias("tradeoff"),
        pl.when(sweep="topics").then("value").otherwise(20).cast(pl.Int64).alias("topics"),
        pl.when(sweep="positions").then("value").otherwise(10).cast(pl.Int64).alias("k"),
    )
