"""The paper's experiments: its policies, its sweeps, and how much of them to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rankfall.errors import ProblemError
from rankfall.experiments.study import Study, Sweep

PAPER = ("CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")
"""The policy of the paper and those it is compared with."""


@dataclass(frozen=True)
class Scale:
    """How much of an experiment to run."""

    users: int
    repeats: int
    steps: int


SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "quick": Scale(users=12, repeats=1, steps=10_000),
        "standard": Scale(users=20, repeats=1, steps=20_000),
        "paper": Scale(users=500, repeats=2, steps=50_000),
    }
)
"""``paper`` is section 4.1; ``quick`` takes a minute for one sweep, ``standard`` about ten for all."""

SWEEPS: Mapping[str, Sweep] = MappingProxyType(
    {
        sweep.name: sweep
        for sweep in (
            Sweep({"user.tradeoff": tuple(i / 10 for i in range(11))}, "tradeoff"),
            Sweep({"user.topics": (5, 10, 15, 20)}, "topics"),
            Sweep({"k": (5, 10, 15, 20)}, "positions"),
        )
    }
)
"""The three experiments of section 4.3. Tradeoff 0.5 with 20 topics and 10 positions is part of all three."""


def paper_study(
    dataset: str,
    sweeps: Iterable[str] = tuple(SWEEPS),
    scale: str = "quick",
    *,
    users: int | None = None,
    repeats: int | None = None,
    steps: int | None = None,
    policies: Iterable[str] = PAPER,
    gamma: float = 1.0,
    seed: int = 0,
    preparation: Mapping[str, Any] | None = None,
    perfect_coverage: bool = False,
) -> Study:
    """The paper's experiments on a data set; what is given takes the place of what the scale says.

    >>> study = paper_study("movielens-small", ["topics"], "paper", users=10)
    >>> study.sweeps[0].axes["user.topics"], study.users, study.steps
    ((5, 10, 15, 20), 10, 50000)
    """
    chosen = tuple(dict.fromkeys(sweeps))
    for name in chosen:
        if name not in SWEEPS:
            raise ProblemError(f"no sweep {name!r}; choose from {', '.join(SWEEPS)}")
    if scale not in SCALES:
        raise ProblemError(f"no scale {scale!r}; choose from {', '.join(SCALES)}")
    size = SCALES[scale]
    user: dict[str, Any] = {"dataset": dataset, "topics": 20, "tradeoff": 0.5}
    if preparation:
        user["preparation"] = dict(preparation)
    if perfect_coverage:
        user["perfect_coverage"] = True
    return Study(
        name=f"{', '.join(chosen)} on {Path(dataset).name}",
        user=user,
        policies=tuple(policies),
        sweeps=tuple(SWEEPS[name] for name in chosen),
        k=10,
        settings={"gamma": gamma},
        users=size.users if users is None else users,
        repeats=size.repeats if repeats is None else repeats,
        steps=size.steps if steps is None else steps,
        seed=seed,
        paper=True,
    )
