"""An experiment as data: a frozen value that can be printed, saved beside its results, and run again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from rankfall.arrays import number, whole
from rankfall.errors import ProblemError
from rankfall.experiments import study_file
from rankfall.experiments.expansion import expand
from rankfall.experiments.frozen_table import FrozenTable, freeze
from rankfall.experiments.many_users.ways import settings_of_way
from rankfall.experiments.policy_choice import name_of, plain_setting

T = TypeVar("T")
_EMPTY = FrozenTable()


@dataclass(frozen=True)
class Published:
    """A value from a paper: of ``regret`` or ``clicks`` after the last step, with its error if there is one."""

    value: float
    what: Literal["regret", "clicks"] = "regret"
    error: float | None = None

    def __post_init__(self) -> None:
        if self.what not in ("regret", "clicks"):
            raise ProblemError(f"what must be regret or clicks, got {self.what!r}")
        number("value", self.value, ProblemError)
        if self.error is not None:
            number("error", self.error, ProblemError, low=0.0)


@dataclass(frozen=True)
class Case:
    """One policy with its settings, on one kind of user.

    Attributes
    ----------
    policy : a name out of ``rankfall.POLICIES``, ``module:Name``, or a class.
    label : what to call it in figures and tables; if empty, what is shared or else the policy's name.
    k : positions in a list; None for those of the study.
    settings : of the policy, such as gamma.
    user : words of the user, see :mod:`rankfall.experiments.user_words`; added to those of the study, or instead.
    sharing : who shares a model where users come in a stream; see :mod:`rankfall.experiments.many_users.ways`.
    published : a value from a paper to stand beside ours.
    """

    policy: str
    label: str = ""
    k: int | None = None
    settings: Mapping[str, Any] = _EMPTY
    user: Mapping[str, Any] = _EMPTY
    published: Published | None = None
    sharing: str = ""

    def __post_init__(self) -> None:
        put = _setter(self)
        put("policy", name_of(self.policy))
        settings_of_way(self.sharing)  # what is unknown is refused
        if not self.label:
            put("label", self.usual_label)
        _line("label", self.label)
        if self.k is not None:
            whole("k", self.k, ProblemError, low=1)
        put("settings", _settings(self.settings))
        put("user", _table("user", self.user))

    @property
    def usual_label(self) -> str:
        """What it is called if nobody says otherwise."""
        return self.sharing or self.policy


@dataclass(frozen=True)
class Sweep:
    """Settings that take several values, one after the other, for every case of a study.

    Attributes
    ----------
    axes : for each path, such as ``k``, ``settings.gamma`` or ``user.tradeoff``, the values it takes.
    name : what to call it; the last words of the paths if empty.
    together : the axes advance together (all lists have one length); otherwise every combination is taken.

    >>> Sweep({"user.tradeoff": [0.1, 0.9], "k": [5, 10]}).points[1]
    FrozenTable({'user.tradeoff': 0.1, 'k': 10})
    """

    axes: Mapping[str, tuple[Any, ...]]
    name: str = ""
    together: bool = False

    def __post_init__(self) -> None:
        put = _setter(self)
        put("axes", _table("a sweep", self.axes))
        if not self.axes:
            raise ProblemError("a sweep needs at least one axis, such as user.tradeoff = [0.1, 0.9]")
        for path, values in self.axes.items():
            if path != "k" and path.split(".")[0] not in ("settings", "user"):
                raise ProblemError(f"{path!r} cannot be swept; an axis is k, settings.NAME or user.NAME")
            if not isinstance(values, tuple) or not values:
                raise ProblemError(f"the axis {path} needs a list of values, got {values!r}")
            for value in values:
                if values.count(value) > 1:
                    raise ProblemError(f"the axis {path} has {value!r} twice; each value at most once")
        lengths = {len(values) for values in self.axes.values()}
        if self.together and len(lengths) > 1:
            raise ProblemError(f"axes that advance together need lists of one length, got {sorted(lengths)}")
        if not self.name:
            put("name", " and ".join(path.split(".")[-1] for path in self.axes))
        _line("name", self.name)

    @property
    def points(self) -> tuple[FrozenTable, ...]:
        """The value of each axis, at each point."""
        lists = self.axes.values()
        rows: Iterable[tuple[Any, ...]] = zip(*lists, strict=True) if self.together else itertools.product(*lists)
        return tuple(FrozenTable(dict(zip(self.axes, row, strict=True))) for row in rows)


@dataclass(frozen=True)
class Study:
    """An experiment: cases, each on the same users with the same coins.

    Attributes
    ----------
    name : for people.
    user : words of the users of all cases, see :mod:`rankfall.experiments.user_words`.
    policies : each is a case, with ``settings`` as far as it has such settings.
    cases : further cases, with settings, users and labels of their own.
    sweeps : every case is simulated at every point of every sweep. What coincides is simulated once.
    k : positions in a list.
    users : how many, the first ones of a data set in the order of their ids. Where they come in a stream, by the word
        ``arrivals``, they are one run, and ``steps`` are the lists of all of them.
    repeats : how often each of them starts over, with other coins.
    steps : lists shown in each run.
    checkpoints, log_checkpoints : how often a run is recorded, evenly spaced, and evenly spaced in logarithms.
    seed : decides the coins.
    reference : the label or policy that others are compared with; by default the first on the same users.
    source, note : where the experiment comes from, and what to know about it.
    data : fingerprints of the data that it ran on, if any; a plan with other data is refused. A folder of results has
        its study with them.
    paper : whether the report has the sections on the claims of the paper; see :mod:`rankfall.experiments.paper`.

    >>> study = Study("mine", {"dataset": "movielens-small"}, ["CascadeHybrid"], users=5, steps=1000)
    >>> Study.from_toml(study.to_toml()) == study
    True
    """

    name: str
    user: Mapping[str, Any] = _EMPTY
    policies: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    k: int = 10
    settings: Mapping[str, Any] = _EMPTY
    users: int = 10
    repeats: int = 1
    steps: int = 10_000
    checkpoints: int = 100
    log_checkpoints: int = 0
    seed: int = 0
    reference: str = ""
    source: str = ""
    note: str = ""
    data: tuple[str, ...] = ()
    paper: bool = False

    def __post_init__(self) -> None:
        put = _setter(self)
        _line("name", self.name)
        put("data", _several("data", self.data, str))
        put("user", _table("user", self.user))
        put("settings", _settings(self.settings))
        put("policies", tuple(name_of(policy) for policy in _several("policies", self.policies, object)))
        put("cases", _several("cases", self.cases, Case))
        put("sweeps", _several("sweeps", self.sweeps, Sweep))
        for count in ("k", "users", "repeats", "steps", "checkpoints"):
            whole(count, getattr(self, count), ProblemError, low=1)
        for count in ("log_checkpoints", "seed"):
            whole(count, getattr(self, count), ProblemError, low=0)
        if not isinstance(self.paper, bool):
            raise ProblemError(f"paper must be true or false, got {self.paper!r}")
        for text in ("reference", "source", "note"):
            if not isinstance(getattr(self, text), str):
                raise ProblemError(f"{text} must be text, got {getattr(self, text)!r}")
        if not self.all_cases:
            raise ProblemError("a study needs policies, or cases of their own")
        _unique("cases", [case.label for case in self.all_cases])
        _unique("sweeps", [sweep.name for sweep in self.sweeps])
        known = {name for case in self.all_cases for name in (case.label, case.policy)}
        if self.reference and self.reference not in known:
            raise ProblemError(f"the reference {self.reference!r} is no case; choose from {', '.join(sorted(known))}")
        put("note", self.note.replace("\r\n", "\n"))
        expand(self)  # what makes no sense is refused at once

    @property
    def all_cases(self) -> tuple[Case, ...]:
        """The cases as written: one for each of the policies, then those of their own."""
        return (*(Case(policy) for policy in self.policies), *self.cases)

    def to_toml(self) -> str:
        """The study as text that people can read and change; :meth:`from_toml` gives it back exactly."""
        return study_file.write(self)

    @classmethod
    def from_toml(cls, text: str) -> Study:
        """The study in a text; what is left out has its default, what is unknown is an error."""
        return study_file.parse(text, cls, Case, Sweep, Published)

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """The study in a file. Paths in it are relative to the folder of the file."""
        return study_file.read(path, cls)


def _setter(value: object) -> Any:
    """For ``__post_init__``, which stores what it has checked and made immutable."""
    return lambda name, content: object.__setattr__(value, name, content)


def _line(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ProblemError(f"{name} must be a line of text, got {value!r}")


def _table(name: str, value: object) -> FrozenTable:
    if not isinstance(value, Mapping):
        raise ProblemError(f"{name} must be a table, got {value!r}")
    frozen: FrozenTable = freeze(value)
    return frozen


def _settings(values: object) -> FrozenTable:
    if not isinstance(values, Mapping):
        raise ProblemError(f"settings must be a table, got {values!r}")
    return FrozenTable({name: plain_setting(value) for name, value in values.items()})


def _several(name: str, values: Iterable[T], kind: type[T]) -> tuple[T, ...]:
    """All of one kind, none twice."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ProblemError(f"{name} must be a list, got {values!r}")
    items = tuple(values)
    for item in items:
        if not isinstance(item, kind):
            raise ProblemError(f"{name} holds {item!r}; expected a {kind.__name__}")
        if items.count(item) > 1:
            raise ProblemError(f"{name} holds {item!r} twice; each at most once")
    return items


def _unique(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(f"two {what} are called {name!r}; each needs a name of its own")
