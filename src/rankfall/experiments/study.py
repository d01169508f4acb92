"""An experiment as data: a frozen value that can be printed, saved beside its results, and run again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from rankfall.arrays import number, whole
from rankfall.data.preparation import PreparationSettings
from rankfall.errors import FileError, ProblemError
from rankfall.policies import PAPER, POLICIES

T = TypeVar("T")


@dataclass(frozen=True)
class Preparation:
    """How the data is made ready; see :func:`rankfall.prepare`.

    With ``perfect_coverage`` policies see the topic coverage that the test users have, not that of the training half.
    """

    users: int = 1000
    items: int = 1000
    threshold: float = 5.0
    rank: int = 10
    unit_preferences: bool = False
    perfect_coverage: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        PreparationSettings(self.users, self.items, self.threshold, None, self.rank, self.unit_preferences, self.seed)
        object.__setattr__(self, "threshold", float(self.threshold))
        if not isinstance(self.perfect_coverage, bool):
            raise ProblemError(f"perfect_coverage must be true or false, got {self.perfect_coverage!r}")


@dataclass(frozen=True)
class Setting:
    """One point of a grid: every policy meets every user here.

    Attributes
    ----------
    study : the part of the experiment this point belongs to, such as "tradeoff".
    value : where it lies on the axis of that part.
    tradeoff : 1 is all relevance, 0 all diversity.
    topics : how many, those with the most items first; None for all.
    k : positions in a list.
    """

    study: str
    value: float
    tradeoff: float = 0.5
    topics: int | None = None
    k: int = 10

    def __post_init__(self) -> None:
        _text("study", self.study)
        object.__setattr__(self, "value", number("value", self.value, ProblemError))
        object.__setattr__(self, "tradeoff", number("tradeoff", self.tradeoff, ProblemError, low=0.0, high=1.0))
        if self.topics is not None:
            whole("topics", self.topics, ProblemError, low=1)
        whole("k", self.k, ProblemError, low=1)


@dataclass(frozen=True)
class Study:
    """An experiment: every policy at every setting, on the same users with the same coins.

    Attributes
    ----------
    name : for people.
    dataset : what :func:`rankfall.data.find` takes: a name, a folder or a zip.
    grid : the settings. Those that differ in ``study`` and ``value`` only are simulated once.
    policies : names out of ``rankfall.POLICIES``.
    gamma : how much the policies explore.
    users : how many test users, the first ones in the order of their ids.
    repeats : how often each of them starts anew, with other coins.
    steps : lists shown in each run.
    checkpoints : how often a run is recorded, evenly spaced.
    seed : decides the coins.

    >>> study = Study("mine", "movielens-small", (Setting("tradeoff", 0.3, tradeoff=0.3),), users=5, steps=1000)
    >>> Study.from_toml(study.to_toml()) == study
    True
    """

    name: str
    dataset: str
    grid: tuple[Setting, ...]
    policies: tuple[str, ...] = PAPER
    gamma: float = 1.0
    users: int = 40
    repeats: int = 1
    steps: int = 20_000
    checkpoints: int = 100
    seed: int = 0
    preparation: Preparation = Preparation()

    def __post_init__(self) -> None:
        _text("name", self.name)
        _text("dataset", self.dataset)
        object.__setattr__(self, "grid", _several("grid", self.grid, Setting))
        object.__setattr__(self, "policies", _several("policies", self.policies, str))
        for name in self.policies:
            if name not in POLICIES:
                raise ProblemError(f"no policy {name!r}; choose from {', '.join(POLICIES)}")
        object.__setattr__(self, "gamma", number("gamma", self.gamma, ProblemError, low=0.0))
        for count in ("users", "repeats", "steps", "checkpoints"):
            whole(count, getattr(self, count), ProblemError, low=1)
        whole("seed", self.seed, ProblemError, low=0)
        if not isinstance(self.preparation, Preparation):
            raise ProblemError(f"preparation must be a Preparation, got {self.preparation!r}")
        points = [(setting.study, setting.value) for setting in self.grid]
        for study, value in points:
            if points.count((study, value)) > 1:
                raise ProblemError(f"the grid has {study} = {value:g} twice; each value of a study at most once")

    def to_toml(self) -> str:
        """The study as text that people can read and change; :meth:`from_toml` gives it back exactly."""
        parts = asdict(self)
        preparation, grid = parts.pop("preparation"), parts.pop("grid")
        blocks = [_lines(parts), "[preparation]\n" + _lines(preparation)]
        blocks += ["[[grid]]\n" + _lines(setting) for setting in grid]
        return "\n".join(blocks)

    @classmethod
    def from_toml(cls, text: str) -> Study:
        """The study in a text; what is left out has its default, what is unknown is an error."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise ProblemError(f"not TOML: {problem}") from problem
        grid, preparation = content.pop("grid", []), content.pop("preparation", {})
        if not isinstance(grid, list):
            raise ProblemError("grid must be a list of settings, each under [[grid]]")
        settings = tuple(_made(Setting, setting, "a setting of the grid") for setting in grid)
        made = {"grid": settings, "preparation": _made(Preparation, preparation, "[preparation]")}
        return _made(cls, {**content, **made}, "a study")

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """The study in a file."""
        try:
            return cls.from_toml(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileError(f"{path} does not exist") from None
        except (OSError, UnicodeDecodeError) as problem:
            raise FileError(f"cannot read {path}: {problem}") from problem
        except ProblemError as problem:
            raise ProblemError(f"{path}: {problem}") from problem


def _text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ProblemError(f"{name} must be a line of text, got {value!r}")


def _several(name: str, values: Iterable[T], kind: type[T]) -> tuple[T, ...]:
    """At least one, all of one kind, none twice."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ProblemError(f"{name} must be a list, got {values!r}")
    items = tuple(values)
    if not items:
        raise ProblemError(f"{name} is empty; at least one is needed")
    for item in items:
        if not isinstance(item, kind):
            raise ProblemError(f"{name} holds {item!r}; expected a {kind.__name__}")
        if items.count(item) > 1:
            raise ProblemError(f"{name} holds {item!r} twice; each at most once")
    return items


def _made(kind: type[T], values: object, where: str) -> T:
    """A dataclass from a table of TOML."""
    if not isinstance(values, Mapping):
        raise ProblemError(f"{where} must be a table, got {values!r}")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise ProblemError(f"{where} has no {name!r}; it has {', '.join(known)}")
    for name, field in known.items():
        if name not in values and field.default is MISSING:
            raise ProblemError(f"{where} needs {name!r}")
    return kind(**values)


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_literal(value)}\n" for name, value in values.items() if value is not None)


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return repr(value)
