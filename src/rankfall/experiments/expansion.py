"""From a study to its cases: every case at every point of every sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankfall.errors import ProblemError
from rankfall.experiments.frozen_table import FrozenTable, canonical, merged, nested
from rankfall.experiments.many_users.ways import WAYS, settings_of_way
from rankfall.experiments.policy_choice import settings_of
from rankfall.experiments.user_words import check_words

if TYPE_CHECKING:
    from rankfall.experiments.study import Case, Study, Sweep

RESERVED = (
    "sweep",
    "point",
    "case",
    "policy",
    "user",
    "repeat",
    "step",
    "lists",
    "regret",
    "clicks",
    "touched",
    "covered",
    "best",
)
"""Columns that all results have, so that no axis can."""

WORDS = "words"
"""The column of an axis ``user``, whose values are tables of words."""


@dataclass(frozen=True)
class Entry:
    """A case at a point of a sweep, with nothing left to be looked up elsewhere.

    Attributes
    ----------
    sweep : its name; empty in a study without sweeps.
    point : its place in the sweep, from 0 on.
    values : the value of each axis of the study, by column name, where the case has one.
    case : with k, all settings and all words of the user.
    """

    sweep: str
    point: int
    values: FrozenTable
    case: Case


def expand(study: Study) -> tuple[Entry, ...]:
    """Every case of a study, in the order of its results: sweep by sweep, point by point, case by case.

    >>> from rankfall.experiments import Study, Sweep
    >>> study = Study("s", {"attraction": [0.5, 0.1]}, ["CascadeUCB1"], sweeps=[Sweep({"k": [1, 2]})])
    >>> [(entry.point, entry.case.label, entry.case.k) for entry in expand(study)]
    [(0, 'CascadeUCB1', 1), (1, 'CascadeUCB1', 2)]
    """
    columns = axis_columns(study)
    _check_shared(study)
    places: list[tuple[str, int, Mapping[str, Any]]] = [
        (sweep.name, index, point) for sweep in study.sweeps for index, point in enumerate(sweep.points)
    ]
    entries = []
    for sweep, index, point in places or [("", 0, {})]:
        for case in study.all_cases:
            full = _at(study, case, point)
            try:
                check_words(full.user)
            except ProblemError as problem:
                raise ProblemError(f"{full.label}: {problem}") from problem
            values = {column: point.get(path, _value(full, path)) for path, column in columns.items()}
            known = {column: value for column, value in values.items() if value is not None}
            entries.append(Entry(sweep, index, FrozenTable(known), full))
    _check_streams(entries)
    return tuple(entries)


def axis_columns(study: Study) -> dict[str, str]:
    """For the path of each axis the name of its column: the last word, or the path if that is taken.

    An axis ``user``, whose values are tables of words, is called ``words``.
    """
    paths = list(dict.fromkeys(path for sweep in study.sweeps for path in sweep.axes))
    last = {path: WORDS if path == "user" else path.split(".")[-1] for path in paths}
    taken = [*RESERVED, *last.values()]
    return {path: name if taken.count(name) == 1 else path for path, name in last.items()}


def value_text(value: Any) -> str:
    """The value of an axis for people.

    >>> value_text(0.5), value_text(FrozenTable({"discount": 0.99})), value_text((1, 2))
    ('0.5', 'discount 0.99', '[1, 2]')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {value_text(item)}" for name, item in value.items())
    if isinstance(value, bool | str):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{value:g}" if isinstance(value, int | float) else canonical(value)


def axis_text(column: str, value: Any) -> str:
    """The place on an axis for people: ``gamma = 0.5``, or the words alone where they say it."""
    return value_text(value) if column == WORDS else f"{column} = {value_text(value)}"


def _at(study: Study, case: Case, point: Mapping[str, Any]) -> Case:
    """The case with what is said for all, and what the point says."""
    swept: FrozenTable = FrozenTable()
    for path, value in point.items():
        swept = merged(swept, nested(path, value))
    shared = merged(study.settings, swept.get("settings", {}))
    has = _settings_of(case)
    settings = merged({name: value for name, value in shared.items() if name in has}, case.settings)
    user = merged(merged(study.user, case.user), swept.get("user", {}))
    k = swept.get("k", case.k if case.k is not None else study.k)
    for name in settings:
        if name not in has:
            raise ProblemError(
                f"{case.label}: {case.policy} has no setting {name!r}; it has {', '.join(sorted(has)) or 'none'}"
            )
    return replace(case, k=k, settings=settings, user=user)


def _check_shared(study: Study) -> None:
    """What is said for all policies must be a setting of one of them at least."""
    shared = {*study.settings, *(path.split(".")[1] for sweep in study.sweeps for path in _settings(sweep))}
    known = frozenset().union(*(_settings_of(case) for case in study.all_cases))
    for name in shared:
        if name not in known:
            raise ProblemError(f"no policy of the study has a setting {name!r}; they have {', '.join(sorted(known))}")


def _settings_of(case: Case) -> frozenset[str]:
    """Of its policy, and of the way in which models are shared."""
    return settings_of(case.policy) | settings_of_way(case.sharing)


def _check_streams(entries: list[Entry]) -> None:
    """Either all users come in streams, and every case says who shares a model; or none do."""
    for entry in entries:
        streams, case = "arrivals" in entry.case.user, entry.case
        if streams != ("arrivals" in entries[0].case.user):
            raise ProblemError(f"{case.label}: some users come in a stream and others do not; make it two studies")
        if streams and not case.sharing:
            raise ProblemError(f"{case.label}: it needs sharing, as users come in a stream; one of {', '.join(WAYS)}")
        if case.sharing and not streams:
            raise ProblemError(f"{case.label}: sharing is for users who come in a stream; give the user arrivals")


def _settings(sweep: Sweep) -> list[str]:
    return [path for path in sweep.axes if path.startswith("settings.")]


def _value(case: Case, path: str) -> Any:
    """What a case has at a path; None if nothing."""
    here: Any = {"k": case.k, "settings": case.settings, "user": case.user}
    for name in path.split("."):
        if not isinstance(here, Mapping) or name not in here:
            return None
        here = here[name]
    return None if isinstance(here, Mapping) and "." not in path else here
