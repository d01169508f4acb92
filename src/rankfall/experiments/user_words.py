"""The words that say who the users of a case are, as they stand under ``[user]`` in a study's file.

One word says where users come from:

- ``dataset``: a name or path for :func:`rankfall.data.find`, prepared as section 4.1 of the paper does, with what
  ``preparation`` says (:func:`rankfall.prepare`); or a file that ``rankfall data prepare`` wrote; or, with
  ``items_table`` and ``columns``, a table of ratings (:func:`rankfall.data.tables`). ``topics``: how many, those with
  the most items first; ``perfect_coverage``: policies know the coverage that the users have;
- ``generate``: a made-up catalog with users (:func:`rankfall.generate`);
- ``sphere``: features on a sphere, and one user whose attraction is linear (:func:`rankfall.data.on_sphere`); with
- ``fitted``: a file of ``rankfall fit --out``, or a JSON file of users in words (:mod:`rankfall.experiments.people`).
- ``intents``: a population of users who want different things (:func:`rankfall.users.generate_intents`);
- ``attraction`` alone: a number for each item, or ``{best, good, rest, bad}``, a block of good items before bad ones.

Others say what they do: ``attraction`` (``hybrid``, ``linear`` or ``coverage``, for users with features), ``tradeoff``,
``clicks`` (the click model, with its parameters: :mod:`rankfall.experiments.click_words`) and ``reward``. ``drift`` is
a list of ``{from, ...}``: from that step on, the user has these words instead.

``arrivals``, for users with features, makes all of them come in one stream: ``uniform``, ``heavy_tailed`` or
``coming_and_going``, or a table such as ``{ heavy_tailed = { exponent = 1.2 } }``; see
:mod:`rankfall.experiments.many_users.arrivals`.

``context``, for users with features, is a table of ``factors`` (as policies declare them), ``matters`` (from 0 to 1, by
default 1), ``hours`` (how many of a day there are) and ``seed``: users come in every situation alike, and in each their
tastes are those that :func:`rankfall.users.moved_tastes` makes from the tastes of the others.

Where something is made from a ``seed``, the seed may be a list: repeat r takes the r-th, and after the last the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfall.arrays import whole
from rankfall.data import DATASETS
from rankfall.errors import ProblemError
from rankfall.experiments.click_words import PARAMETERS
from rankfall.experiments.frozen_table import FrozenTable, merged

if TYPE_CHECKING:
    from rankfall.experiments.study import Study

_CLICKING = frozenset({"clicks", "reward", *PARAMETERS})
_FEATURES = frozenset({"arrivals", "attraction", "context", "tradeoff"}) | _CLICKING
SOURCES: Mapping[str, frozenset[str]] = {
    "dataset": _FEATURES | {"columns", "items_table", "perfect_coverage", "preparation", "topics"},
    "generate": _FEATURES,
    "sphere": _CLICKING | {"logit"},
    "fitted": frozenset({"catalog", "reward", "who"}),
    "intents": frozenset(),
    "attraction": _CLICKING,
}
"""Each word that says where users come from, with those that may stand beside it; the first one present counts."""

_WORDS = sorted({*SOURCES, "drift"}.union(*SOURCES.values()))
_PATHS = ("catalog", "dataset", "fitted", "items_table")


def source_of(words: Mapping[str, Any]) -> str:
    """The word that says where these users come from."""
    found = next((word for word in SOURCES if word in words), None)
    if found is None:
        raise ProblemError(f"the user needs one of {', '.join(SOURCES)}; got {', '.join(words) or 'nothing'}")
    return found


def check_words(words: Mapping[str, Any]) -> None:
    """Refuse words that are unknown, or make no sense together."""
    for word in words:
        if word not in _WORDS:
            raise ProblemError(f"a user has no {word!r}; it has {', '.join(_WORDS)}")
    for word in _PATHS:
        if not isinstance(words.get(word, ""), str):
            raise ProblemError(f"{word} must be a name or the path of a file, got {words[word]!r}")
    if "catalog" in words and "fitted" not in words:
        raise ProblemError("a user has a catalog only beside fitted; others bring items of their own")
    source = source_of(words)
    for word in words:
        if word not in SOURCES[source] | {source, "drift"}:
            raise ProblemError(f"a user with {source!r} takes no {word!r}; leave it out")
    for word in ("context", "drift"):
        if "arrivals" in words and word in words:
            raise ProblemError(f"users who come in a stream take no {word!r}; leave it out, or arrivals")
    for _, later in stretches(words)[1:]:
        check_words(later)


def stretches(words: Mapping[str, Any]) -> list[tuple[int, FrozenTable]]:
    """From which step on the user has which words: from step 0, and at each change."""
    first = FrozenTable({word: value for word, value in words.items() if word != "drift"})
    found = [(0, first)]
    drift = words.get("drift", ())
    if not isinstance(drift, tuple) or not all(isinstance(change, Mapping) for change in drift):
        raise ProblemError(f"drift must be a list of {{from, ...}}, got {drift!r}")
    for change in drift:
        if "catalog" in change:
            raise ProblemError("what policies know of the items does not drift; say catalog once, for the user")
        start = whole("from", change.get("from"), ProblemError, low=1)
        found.append((start, merged(first, {word: value for word, value in change.items() if word != "from"})))
    return found


def with_absolute_paths(study: Study, folder: Path) -> Study:
    """The study with the files it names found from this folder."""

    def found(words: Mapping[str, Any]) -> FrozenTable:
        changed = {word: _found(word, value, folder) for word, value in words.items()}
        if isinstance(words.get("drift"), tuple):
            changed["drift"] = tuple(found(change) for change in words["drift"])
        return FrozenTable(changed)

    def swept(path: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        place, _, word = path.partition(".")
        if place != "user":
            return values
        return tuple(_found(word, value, folder) if word else found(value) for value in values)

    return replace(
        study,
        user=found(study.user),
        cases=tuple(replace(case, user=found(case.user)) for case in study.cases),
        sweeps=tuple(
            replace(sweep, axes={path: swept(path, values) for path, values in sweep.axes.items()})
            for sweep in study.sweeps
        ),
    )


def _found(word: str, value: Any, folder: Path) -> Any:
    if word not in _PATHS or not isinstance(value, str) or (word == "dataset" and value in DATASETS):
        return value
    return str(folder / value)
