"""What a study comes down to on the data at hand: cells, each simulated once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property

from rankfall import __version__
from rankfall.data import find
from rankfall.data.preparation import Prepared, prepare
from rankfall.errors import ProblemError
from rankfall.experiments.study import Setting, Study


@dataclass(frozen=True)
class Cell:
    """One policy at one setting, with all users and repeats; all that decides its results, and nothing else.

    ``data`` is the fingerprint of the prepared data, ``version`` that of rankfall.
    """

    policy: str
    gamma: float
    tradeoff: float
    topics: int
    k: int
    users: int
    repeats: int
    steps: int
    checkpoints: int
    seed: int
    perfect_coverage: bool
    data: str
    version: str = __version__

    @property
    def identity(self) -> str:
        """The cell as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @cached_property
    def key(self) -> str:
        """Names its file."""
        return hashlib.blake2b(self.identity.encode(), digest_size=12).hexdigest()

    @property
    def interactions(self) -> int:
        """Lists shown."""
        return self.users * self.repeats * self.steps

    def __str__(self) -> str:
        return f"{self.policy}, tradeoff {self.tradeoff:g}, {self.topics} topics, K={self.k}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A study on its data.

    Attributes
    ----------
    rows : each setting of the grid and each policy with its cell, in the order of the results; cells may be shared.
    notes : where the data has less than the study asks for.
    """

    study: Study
    prepared: Prepared
    rows: tuple[tuple[Setting, Cell], ...]
    notes: tuple[str, ...]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell once."""
        return tuple(dict.fromkeys(cell for _, cell in self.rows))

    @property
    def interactions(self) -> int:
        """Lists shown in all."""
        return sum(cell.interactions for cell in self.cells)


def plan(study: Study, prepared: Prepared | None = None) -> Plan:
    """Prepare the data, unless it is given, and lay out the cells.

    Where the data has fewer topics or test users than asked for, all of them are taken and a note says so.

    >>> from rankfall.experiments import paper_study
    >>> laid = plan(paper_study("movielens-small"))
    >>> len(laid.rows), len(laid.cells)
    (95, 85)
    """
    if prepared is None:
        prepared = _prepared(study)
    every = prepared.with_topics(None)
    notes = []
    users = min(study.users, len(every.user_ids))
    if users < study.users:
        notes.append(f"{study.users} test users asked for, {users} there are: all are taken")
    too_many = sorted({s.topics for s in study.grid if s.topics is not None and s.topics > every.n_topics})
    if too_many:
        asked = " and ".join(str(topics) for topics in too_many)
        notes.append(f"{asked} topics asked for, {every.n_topics} there are: all are taken")
    longest = max(setting.k for setting in study.grid)
    if longest > len(every.item_ids):
        raise ProblemError(f"k is {longest} and there are {len(every.item_ids)} items; a list cannot be longer")
    rows = tuple(
        (
            setting,
            Cell(
                policy=policy,
                gamma=study.gamma,
                tradeoff=setting.tradeoff,
                topics=every.n_topics if setting.topics is None else min(setting.topics, every.n_topics),
                k=setting.k,
                users=users,
                repeats=study.repeats,
                steps=study.steps,
                checkpoints=study.checkpoints,
                seed=study.seed,
                perfect_coverage=study.preparation.perfect_coverage,
                data=every.fingerprint,
            ),
        )
        for setting in study.grid
        for policy in study.policies
    )
    return Plan(study, every, rows, tuple(notes))


def _prepared(study: Study) -> Prepared:
    how = study.preparation
    return prepare(
        find(study.dataset),
        users=how.users,
        items=how.items,
        threshold=how.threshold,
        rank=how.rank,
        unit_preferences=how.unit_preferences,
        seed=how.seed,
    )
