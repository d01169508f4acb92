"""The paper's experiments: its grid, and how much of it to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rankfall.errors import ProblemError
from rankfall.experiments.study import Preparation, Setting, Study
from rankfall.policies import PAPER


@dataclass(frozen=True)
class Scale:
    """How much of an experiment to run."""

    users: int
    repeats: int
    steps: int


SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "quick": Scale(users=5, repeats=1, steps=1_500),
        "standard": Scale(users=20, repeats=1, steps=20_000),
        "paper": Scale(users=500, repeats=2, steps=50_000),
    }
)
"""``paper`` is section 4.1; the others are for a first look, and for a result over a cup of tea."""

STUDIES: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {
        "tradeoff": tuple(Setting("tradeoff", i / 10, tradeoff=i / 10, topics=20, k=10) for i in range(11)),
        "topics": tuple(Setting("topics", d, tradeoff=0.5, topics=d, k=10) for d in (5, 10, 15, 20)),
        "positions": tuple(Setting("positions", k, tradeoff=0.5, topics=20, k=k) for k in (5, 10, 15, 20)),
    }
)
"""The three studies of section 4.3 by name. Tradeoff 0.5 with 20 topics and 10 positions is part of all three."""


def paper_study(
    dataset: str,
    studies: Iterable[str] = tuple(STUDIES),
    scale: str = "quick",
    *,
    users: int | None = None,
    repeats: int | None = None,
    steps: int | None = None,
    policies: Iterable[str] = PAPER,
    gamma: float = 1.0,
    seed: int = 0,
    preparation: Preparation | None = None,
) -> Study:
    """The paper's experiments on a data set; what is given takes the place of what the scale says.

    >>> study = paper_study("movielens-small", ["topics"], "paper", users=10)
    >>> [setting.topics for setting in study.grid], study.users, study.steps
    ([5, 10, 15, 20], 10, 50000)
    """
    chosen = tuple(dict.fromkeys(studies))
    for name in chosen:
        if name not in STUDIES:
            raise ProblemError(f"no study {name!r}; choose from {', '.join(STUDIES)}")
    if scale not in SCALES:
        raise ProblemError(f"no scale {scale!r}; choose from {', '.join(SCALES)}")
    size = SCALES[scale]
    return Study(
        name=f"{', '.join(chosen)} on {Path(dataset).name}",
        dataset=dataset,
        grid=tuple(setting for name in chosen for setting in STUDIES[name]),
        policies=tuple(policies),
        gamma=gamma,
        users=size.users if users is None else users,
        repeats=size.repeats if repeats is None else repeats,
        steps=size.steps if steps is None else steps,
        seed=seed,
        preparation=preparation or Preparation(),
    )
