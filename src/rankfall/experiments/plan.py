"""What a study comes down to: setups, each simulated once, cut into chunks of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankfall import __version__
from rankfall.arrays import IntArray
from rankfall.data.preparation import Prepared
from rankfall.errors import ProblemError, RankfallError
from rankfall.experiments.episodes import is_compiled
from rankfall.experiments.expansion import Entry, expand
from rankfall.experiments.frozen_table import FrozenTable, canonical
from rankfall.experiments.many_users.compiled import is_stream_compiled
from rankfall.experiments.many_users.stream import arrivals_of
from rankfall.experiments.many_users.ways import make_way, settings_of_way
from rankfall.experiments.policy_choice import make_policy, source_digest
from rankfall.experiments.populations import Data, World, files_of, world_of
from rankfall.experiments.simulation import run_seed
from rankfall.experiments.study import Study
from rankfall.policies import PolicyLike
from rankfall.policies.many_users.policy import ManyUsers
from rankfall.users import Environment

CHUNK_STEPS = 250_000
"""Steps in a chunk, about: a few seconds of work, so that a cluster has enough of them and little is lost by a stop."""


@dataclass(frozen=True)
class Setup:
    """All that decides the results of a case, and nothing else; cases that coincide share one.

    ``data`` has the fingerprint of everything read from files, ``source`` that of the file of someone's own policy.
    """

    policy: str
    settings: FrozenTable
    k: int
    user: FrozenTable
    users: int
    repeats: int
    steps: int
    checkpoints: int
    log_checkpoints: int
    seed: int
    data: tuple[tuple[str, str], ...] = ()
    source: str | None = None
    sharing: str = ""
    version: str = __version__

    @cached_property
    def identity(self) -> str:
        """The setup as text."""
        return canonical({field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def name(self) -> str:
        """The policy, and who shares a model."""
        return ", ".join(filter(None, (self.policy, self.sharing)))

    @property
    def runs(self) -> int:
        """How many there are: where users come in a stream, it is one run."""
        return self.repeats if self.sharing else self.users * self.repeats

    @property
    def chunks(self) -> list[Chunk]:
        """All runs, a few at a time; user by user, repeat by repeat."""
        size = max(1, round(CHUNK_STEPS / self.steps))
        return [Chunk(self, first, min(first + size, self.runs)) for first in range(0, self.runs, size)]

    def world(self, user: int, repeat: int, data: Data) -> World:
        """What the policy knows of the items, and who looks at them, in one run."""
        return world_of(self.user, self.k, user, self.users, repeat, data)

    def make(self, world: World) -> PolicyLike:
        """The policy, before it has learned anything."""
        ways = settings_of_way(self.sharing)
        own = {name: value for name, value in self.settings.items() if name not in ways}
        return make_policy(self.policy, world[0], k=self.k, steps=self.steps, settings=own)

    def crowd(self, repeat: int, data: Data) -> tuple[ManyUsers, list[Environment]]:
        """Where users come in a stream: the policy for all of them, and who they are."""
        worlds = [self.world(user, repeat, data) for user in range(self.users)]
        people, ways = [person for _, person in worlds], settings_of_way(self.sharing)
        shared = {name: value for name, value in self.settings.items() if name in ways}
        return make_way(self.sharing, self.make(worlds[0]), people, shared), people

    def arrivals(self, repeat: int, lists: int) -> IntArray:
        """(lists,) who comes."""
        seed = run_seed(self.seed, 0, repeat)
        who = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2))  # coins and policies have 0 and 1
        return arrivals_of(self.user["arrivals"], self.users, lists, who)

    def __str__(self) -> str:
        settings = "".join(f", {name} {value}" for name, value in self.settings.items())
        return f"{self.name}{settings}, K={self.k}"


@dataclass(frozen=True)
class Chunk:
    """The unit of work of a study: the runs of a setup from ``first`` up to, not including, ``last``."""

    setup: Setup
    first: int
    last: int

    @property
    def identity(self) -> str:
        """The chunk as text."""
        return canonical({"setup": self.setup.identity, "first": self.first, "last": self.last})

    @cached_property
    def key(self) -> str:
        """Names its file."""
        return hashlib.blake2b(self.identity.encode(), digest_size=12).hexdigest()

    @property
    def steps(self) -> int:
        """Lists shown."""
        return (self.last - self.first) * self.setup.steps

    def __str__(self) -> str:
        return f"{self.setup}, runs {self.first} to {self.last - 1}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A study, with its data.

    Attributes
    ----------
    rows : each entry of the study with its setup, in the order of the results; setups may be shared.
    data : what was read from files, by the keys of :func:`rankfall.experiments.populations.files_of`.
    notes : where the data has less than the study asks for.
    compiled : setups whose policy and user run as one compiled loop.
    """

    study: Study
    rows: tuple[tuple[Entry, Setup], ...]
    data: Data
    notes: tuple[str, ...]
    compiled: frozenset[Setup]

    @cached_property
    def setups(self) -> tuple[Setup, ...]:
        """Every setup once."""
        return tuple(dict.fromkeys(setup for _, setup in self.rows))

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All the work there is."""
        return tuple(chunk for setup in self.setups for chunk in setup.chunks)

    @property
    def steps(self) -> int:
        """Lists shown in all."""
        return sum(setup.runs * setup.steps for setup in self.setups)

    @property
    def known_data(self) -> Study:
        """The study, with the fingerprints of its data."""
        return replace(self.study, data=tuple(sorted({mark for setup in self.setups for _, mark in setup.data})))

    def data_of(self, setup: Setup) -> Data:
        """What was read from files for one setup."""
        return {key: self.data[key] for key, _ in setup.data}


def plan(study: Study, data: Data | None = None) -> Plan:
    """Read the data, unless it is given, and lay out the work; what makes no sense is refused here.

    Where a data set has fewer topics or test users than asked for, all of them are taken and a note says so.

    >>> from rankfall.experiments import paper_study
    >>> laid = plan(paper_study("movielens-small"))
    >>> len(laid.rows), len(laid.setups)
    (95, 85)
    """
    entries, read, prints = expand(study), dict(data or {}), {}
    for entry in entries:
        for key, get in files_of(entry.case.user).items():
            if key not in read:
                read[key] = get()
            prints[key] = _fingerprint(key, read[key])
    _check_data(study, prints)
    notes: dict[str, None] = {}
    rows = tuple((entry, _setup(study, entry, read, prints, notes)) for entry in entries)
    compiled = set()
    first: dict[Setup, Entry] = {}
    for entry, setup in rows:
        first.setdefault(setup, entry)
    for setup, entry in first.items():
        try:
            world = setup.world(0, 0, read)
            if setup.k > len(world[0]):
                raise ProblemError(f"k is {setup.k} and there are {len(world[0])} items; a list cannot be longer")
            if setup.sharing:
                setup.arrivals(0, setup.users)
                many, people = setup.crowd(0, read)
                runs_compiled = is_stream_compiled(many, people)
            else:
                runs_compiled = is_compiled(setup.make(world), world[1], setup.k)
            if runs_compiled:
                compiled.add(setup)
        except ProblemError as problem:
            raise ProblemError(f"{entry.case.label}: {problem}") from problem
        except RankfallError as problem:
            raise type(problem)(f"{entry.case.label}: {problem}") from problem
    return Plan(study, rows, read, tuple(notes), frozenset(compiled))


def _setup(study: Study, entry: Entry, data: Data, prints: Mapping[str, str], notes: dict[str, None]) -> Setup:
    case, users = entry.case, study.users
    words, keys = dict(case.user), list(files_of(case.user))
    for prepared in (data[key] for key in keys if isinstance(data[key], Prepared)):
        there, topics = len(prepared.user_ids), words.get("topics")
        if users > there:
            notes[f"{study.users} test users asked for, {there} there are: all are taken"] = None
            users = there
        words["topics"] = prepared.n_topics if topics is None else topics
        if isinstance(topics, int) and topics > prepared.n_topics:
            notes[f"{topics} topics asked for, {prepared.n_topics} there are: all are taken"] = None
            words["topics"] = prepared.n_topics
    assert case.k is not None  # a case of an entry has all of it
    return Setup(
        policy=case.policy,
        settings=FrozenTable(case.settings),
        k=case.k,
        user=FrozenTable(words),
        users=users,
        repeats=study.repeats,
        steps=study.steps,
        checkpoints=study.checkpoints,
        log_checkpoints=study.log_checkpoints,
        seed=study.seed,
        data=tuple((key, prints[key]) for key in keys),
        source=source_digest(case.policy),
        sharing=case.sharing,
    )


def _check_data(study: Study, prints: Mapping[str, str]) -> None:
    """Refuse other data than a study ran on, if it knows what that was."""
    if study.data and sorted(study.data) != sorted(set(prints.values())):
        there = ", ".join(f"{value} ({key})" for key, value in prints.items()) or "none"
        raise ProblemError(
            f"the study ran on data with the fingerprints {', '.join(study.data)}, and this is {there}; "
            "bring the same data, or remove the line 'data' from the study to run it on this"
        )


def _fingerprint(key: str, value: Any) -> str:
    if isinstance(value, Prepared):
        return value.fingerprint
    content = Path(key.split(" ", 1)[1]).read_bytes()
    return hashlib.blake2b(content, digest_size=12).hexdigest()
