"""A study as TOML: written, read, and an older dialect recognised."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import tomli_w

from rankfall.errors import FileError, ProblemError
from rankfall.experiments.frozen_table import leaves, merged, nested, thaw
from rankfall.experiments.user_words import with_absolute_paths
from rankfall.policies import POLICIES
from rankfall.policies.registry import look_in

if TYPE_CHECKING:
    from rankfall.experiments.study import Case, Published, Study, Sweep

T = TypeVar("T")
_NAMES = {"cases": "case", "sweeps": "sweep"}
"""Lists of the study that stand in the file as [[case]] and [[sweep]]."""

_NOW = "see docs/studies.md for the present form"
_OLD: Mapping[str, str] = {
    "dataset": 'write it under [user]: dataset = "..."',
    "grid": "write each axis as a [[sweep]], such as user.tradeoff = [0.1, 0.9]",
    "preparation": "write it under [user.preparation]",
    "gamma": "write it under [settings]: gamma = 1.0",
    "runs": "write users = 1 and repeats = as many as runs",
}
"""What files of version 0.1.0 had, and what to write instead."""


def write(study: Study) -> str:
    """The study as TOML, without what has its default."""
    return tomli_w.dumps(_written(study), multiline_strings=True)


def parse(text: str, study: type[Study], case: type[Case], sweep: type[Sweep], published: type[Published]) -> Study:
    """The study in a text."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ProblemError(f"not TOML: {problem}") from problem
    for name, instead in _OLD.items():
        if name in content:
            raise ProblemError(f"{name!r} is how version 0.1.0 wrote a study; {instead}; {_NOW}")
    cases, sweeps = (_tables(name, content.pop(name, [])) for name in _NAMES.values())
    if content.get("policies") == "all":
        content["policies"] = list(POLICIES)
    for name in _mapping("settings", content.get("settings", {})):
        if name in POLICIES:
            raise ProblemError(f"settings.{name} names a policy; give it a [[case]] with settings of its own; {_NOW}")
    return _made(
        study,
        {
            **content,
            "cases": [_case(values, case, published) for values in cases],
            "sweeps": [_sweep(values, sweep) for values in sweeps],
        },
        "a study",
    )


def read(path: str | Path, study: type[Study]) -> Study:
    """The study in a file, with the files it names where they are."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise FileError(f"cannot read {path}: {problem}") from problem
    folder = Path(path).resolve().parent
    look_in(Path.cwd())
    look_in(folder)
    try:
        return with_absolute_paths(study.from_toml(text), folder)
    except ProblemError as problem:
        raise ProblemError(f"{path}: {problem}") from problem


def _case(values: Mapping[str, Any], case: type[Case], published: type[Published]) -> Case:
    said = {**values}
    if "published" in said:
        said["published"] = _made(published, said["published"], "published")
    return _made(case, said, "a case")


def _sweep(values: Mapping[str, Any], sweep: type[Sweep]) -> Sweep:
    others = {name: values[name] for name in ("name", "together") if name in values}
    axes = {name: value for name, value in values.items() if name not in others}
    return sweep(dict(leaves(axes)), **others)


def _tables(name: str, values: object) -> list[Mapping[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
        raise ProblemError(f"{name} must be a list of tables, each under [[{name}]]")
    return values


def _mapping(name: str, values: object) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise ProblemError(f"{name} must be a table, got {values!r}")
    return values


def _made(kind: type[T], values: object, where: str) -> T:
    """A dataclass from a table of TOML."""
    given = _mapping(where, values)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            there = ", ".join(_NAMES.get(each, each) for each in known)
            raise ProblemError(f"{where} has no {name!r}; it has {there}")
    for name, field in known.items():
        if name not in given and field.default is MISSING:
            raise ProblemError(f"{where} needs {name!r}")
    return kind(**given)


def _written(value: Any) -> dict[str, Any]:
    """A dataclass as a table; lists of further ones come last, as TOML wants it."""
    table: dict[str, Any] = {}
    lists: dict[str, Any] = {}
    for field in fields(value):
        content = getattr(value, field.name)
        if field.name == "axes":
            for path, values in content.items():
                table = thaw(merged(table, nested(path, values)))
        elif field.name in _NAMES:
            if content:
                lists[_NAMES[field.name]] = [_written(item) for item in content]
        elif field.name == "label" and content == value.usual_label:
            continue
        elif content is not None and (field.default is MISSING or content != field.default):
            table[field.name] = _written(content) if hasattr(content, "__dataclass_fields__") else thaw(content)
    return {**table, **lists}
