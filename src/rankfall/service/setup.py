"""What is done once, before the first process serves: the tables, the catalog, the first model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from rankfall.catalog import Catalog
from rankfall.errors import FileError, RankfallError, StoreError
from rankfall.journal.catalogs import encode_catalog, shape_of
from rankfall.service.commands import CreateModel, SeedCatalog
from rankfall.service.engine import Engine
from rankfall.service.items import fitting
from rankfall.service.model import Model
from rankfall.service.template import new_settings, policy_of
from rankfall.stores import open_store, without_secrets
from rankfall.wire import ModelChanges

FIRST = "default"
LARGEST_USUAL = 10.0
"""Features beyond this are most likely in raw units."""


def prepare(place: str, read: Callable[[], Catalog] | None, settings: Mapping[str, Any]) -> list[str]:
    """Make the store ready to serve; lines that say what it holds.

    ``read`` gives the catalog, if one was named; ``settings`` are those of the first model that were given. Without a
    catalog there must be a store: a name that is misspelled makes none.
    """
    try:
        store = open_store(place, make=read is not None)
    except FileError as problem:
        raise FileError(f"{problem}; give --catalog FILE the first time") from None
    engine = Engine(store)
    try:
        stopped, lines = engine.state.stopped, []
        if stopped is None:
            lines += _fill(engine, place, read, settings)
        elif engine.state.models:
            lines.append(f"Learning has stopped: {stopped.reason}. Lists are ranked with what was learned before it.")
        else:
            raise RankfallError(f"the store {without_secrets(place)} cannot be served: {stopped.reason}")
        for model in engine.state.models.values():
            model.warm_up()
            lines.append(_line(model))
        return lines
    finally:
        engine.close()


def _fill(engine: Engine, place: str, read: Callable[[], Catalog] | None, settings: Mapping[str, Any]) -> list[str]:
    """Store a catalog and a first model where there are none."""
    state, lines = engine.state, []
    catalog, first = state.catalog, None
    if catalog is None:
        if read is None:
            raise RankfallError(
                f"the store {without_secrets(place)} has no catalog yet; give --catalog FILE the first time"
            )
        given = read()
        catalog = fitting(given, shape_of(given))
        lines += _unscaled(catalog)
    elif read is not None:
        lines.append(f"The catalog is the one in the store ({len(catalog):,} items); --catalog was not read.")
    if state.models:
        lines += _not_taken(state.models.get(FIRST), settings)
    else:
        first = new_settings(settings)
        policy_of(first, catalog)  # raises what does not fit, before anything is written
    if state.catalog is None:
        engine.write(SeedCatalog(encode_catalog(catalog)))
    if first is not None:
        if state.catalog is None:
            raise StoreError("the catalog was stored, but the store cannot be read now; start again")
        policy_of(first, state.catalog)  # which may be that of a server that was faster
        engine.write(CreateModel(FIRST, first))
    return lines


def _unscaled(catalog: Catalog) -> list[str]:
    """What to say of features that are far from the length of about 1 that policies expect."""
    largest = np.abs(catalog.relevance).max(axis=0, initial=0.0)
    return [
        f"Feature {catalog.features[j]!r} goes up to {largest[j]:g}: policies expect features of about 1, and explore "
        "far too much with larger ones. rankfall catalog build scales them."
        for j in np.flatnonzero(largest > LARGEST_USUAL)
    ]


def _not_taken(first: Model | None, given: Mapping[str, Any]) -> list[str]:
    """What to do about settings that were given and are not those of the first model, which exists already."""
    if first is None:
        return [f"There are models, and none is called {FIRST!r}: {', '.join(given)} not taken."] if given else []
    now, wanted = msgspec.to_builtins(first.settings), msgspec.to_builtins(new_settings(given))
    others = {name: wanted[name] for name in given if now[name] != wanted[name]}
    if not others:
        return []
    said = ", ".join(f"{name} {_short(now[name])}, not {_short(value)}" for name, value in others.items())
    free = {name: value for name, value in others.items() if name in ModelChanges.__struct_fields__}
    how = f"To change it: PATCH /v1/models/{FIRST} with {json.dumps(free)}." if free else ""
    if len(free) < len(others):
        fixed = ", ".join(name for name in others if name not in free)
        how += f"{' ' if how else ''}For another {fixed} make a second model: PUT /v1/models/NAME."
    return [f"Model {FIRST!r} keeps the settings in the store: {said}. {how}"]


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _line(model: Model) -> str:
    each = "" if model.settings.scope == "global" else f", one for each {model.settings.scope}"
    settings = model.settings
    return f"Model {model.name!r}: {settings.policy}{each}, {len(model.catalog):,} items, mode {settings.mode}."
