"""Teach a model from a click log: its lists become events of the model, with their feedback."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from rankfall.catalog import Catalog
from rankfall.click_logs import ClickLog, LoggedList
from rankfall.errors import RankfallError
from rankfall.history.exported import IMPORTED
from rankfall.item_names import Id
from rankfall.journal.entries import OutcomeGiven
from rankfall.service.commands import LoadOwner
from rankfall.service.engine import Engine
from rankfall.service.events import moment
from rankfall.service.imported import StoreImported
from rankfall.service.model import Model
from rankfall.service.template import policy_of
from rankfall.stores import Event
from rankfall.wire import RankedItem, RankResponse

BATCH = 1000
"""Lists written together: after a crash all of a batch are there, or none."""


@dataclass
class Imported:
    """How many lists were new, known already, or left out because the catalog does not have one of their items.

    ``outcomes`` are those that were new, ``unpaid`` those of types that the model has no reward for, by type.
    """

    lists: int = 0
    clicked: int = 0
    known: int = 0
    left_out: list[tuple[str, Id]] = field(default_factory=list)
    outcomes: int = 0
    unpaid: Counter[str] = field(default_factory=Counter)


@dataclass
class Batch:
    """Lists by name, as events, with clicks and outcomes of each; and which were left out for which item."""

    names: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    clicks: list[Sequence[int]] = field(default_factory=list)
    outcomes: list[tuple[OutcomeGiven, ...]] = field(default_factory=list)
    unpaid: Counter[str] = field(default_factory=Counter)
    left_out: list[tuple[str, Id]] = field(default_factory=list)


class Importer:
    """Turns lists into events of a model.

    Each is an event of the arm ``imported``: shown elsewhere, and learned from. Its features are those of the present
    catalog. A list with an item that the catalog does not have is left out as a whole: cut
    short it would say of the items below something that nobody saw.
    """

    def __init__(self, model: Model, catalog: Catalog, version: int, now: Callable[[], float]) -> None:
        self._model, self._catalog, self._version, self._now = model, catalog, version, now
        self._policy = policy_of(model.settings, catalog)
        self._topics = catalog.coverage > 0

    def batch(self, lists: Iterable[LoggedList]) -> Batch:
        """These lists, ready to be written."""
        batch = Batch()
        found: list[tuple[LoggedList, list[int]]] = []
        for one in lists:
            rows = [row for row in map(self._catalog.row, one.items) if row is not None]
            if len(rows) == len(one.items):
                found.append((one, rows))
                batch.names.append(one.name)
                batch.clicks.append(one.clicked)
                batch.outcomes.append(self._paid(one, batch.unpaid))
            else:
                missing = next(item for item in one.items if item not in self._catalog)
                batch.left_out.append((one.name, missing))
        shown = self._shown([rows for _, rows in found])
        for i, (one, rows) in enumerate(found):
            if situation := self._situation(one):
                ranking = self._policy.rank(len(rows), fixed=dict(enumerate(rows)), **situation)
                shown[i] = shown[i][0], self._policy.record(ranking)
        batch.events += [self._event(one, rows, *seen) for (one, rows), seen in zip(found, shown, strict=True)]
        return batch

    def _paid(self, one: LoggedList, unpaid: Counter[str]) -> tuple[OutcomeGiven, ...]:
        """The outcomes of a list that the model has a reward for; the others are counted."""
        rewards = self._model.settings.rewards or {}
        unpaid.update(kind for _, kind, _ in one.outcomes if kind not in rewards)
        return tuple(OutcomeGiven(*told) for told in one.outcomes if told[1] in rewards)

    def _shown(self, lists: list[list[int]]) -> list[tuple[int, bytes]]:
        """Topics covered by each list and what is kept of it to learn from; lists of one length together."""
        of_length: dict[int, list[int]] = {}
        for i, rows in enumerate(lists):
            of_length.setdefault(len(rows), []).append(i)
        shown = [(0, b"")] * len(lists)
        for places in of_length.values():
            together = np.array([lists[i] for i in places])
            covered = self._topics[together].any(axis=1).sum(axis=1).tolist()
            for i, topics, kept in zip(places, covered, self._policy.records(together), strict=True):
                shown[i] = topics, kept
        return shown

    def _situation(self, one: LoggedList) -> dict[str, Any]:
        """The context of the request for a list and the features of its items, as far as the model knows of them."""
        said: dict[str, Any] = {}
        if one.context is not None and self._model.settings.context is not None:
            said["context"] = one.context
        if one.features is not None and self._model.settings.request_features is not None:
            known = {self._catalog.row(item): features for item, features in one.features.items()}
            said["features"] = {row: features for row, features in known.items() if row is not None}
        return said

    def _event(self, one: LoggedList, rows: list[int], covered: int, features: bytes) -> Event:
        """The list as it is stored."""
        event_id = event_id_of(self._model.name, one.name)
        created = self._now() if one.time is None else one.time
        expires = created + self._model.settings.feedback_wait
        return Event(
            id=event_id,
            model=self._model.name,
            owner=self._model.owner(one.user, one.segment) or "",
            user=one.user,
            segment=one.segment,
            request_id=None,
            digest=None,
            created=created,
            expires=expires,
            active=True,
            arm="imported",
            learn=True,
            propensity=one.propensity,
            catalog=self._version,
            covered=covered,
            request=_request(one),
            response=self._response(event_id, rows, expires),
            features=features,
        )

    def _response(self, event_id: str, rows: list[int], expires: float) -> str:
        ids, titles = self._catalog.ids, self._catalog.titles
        response = RankResponse(
            event_id=event_id,
            model=self._model.name,
            items=tuple(
                RankedItem(ids[row], i, None, None if titles is None else titles[row]) for i, row in enumerate(rows, 1)
            ),
            model_version=0,
            policy="baseline",
            mode=self._model.settings.mode,
            arm="imported",
            expires_at=moment(expires),
            unknown=(),
        )
        return msgspec.json.encode(response).decode()


def _request(one: LoggedList) -> str | None:
    """What is known of the request for a list, as events keep it."""
    said: dict[str, Any] = {}
    if one.features is not None:
        said["candidate_features"] = [{"id": item, "features": features} for item, features in one.features.items()]
    if one.context is not None:
        said["context"] = one.context
    if one.given_above is not None:
        said["chances"] = {"given_above": one.given_above}
        if one.at_position is not None:
            said["chances"]["at_position"] = one.at_position
    return json.dumps(said) if said else None


def import_clicks(
    engine: Engine, name: str, log: ClickLog, progress: Callable[[int], None] = lambda _: None
) -> Imported:
    """Teach a model from a click log, in the order of its times; servers that run learn from it too.

    The event id of a list is made from the names of model and list, so a list is learned once, however often it is
    imported; after a crash the same call continues where it was. So is each of its outcomes, if the model has a reward
    for it: a later log of the same lists adds what came of them since.
    """
    model, items = engine.state.model(name), engine.state.items
    scope = model.settings.scope
    if scope == "global":  # so that what is learned here is saved here, and need not be read again
        engine.write(LoadOwner(name, ""))
    elif log.context[scope].null_count():
        first = str(log.context.filter(log.context[scope].is_null())["list"][0])
        raise RankfallError(
            f"model {name!r} has one state for each {scope}, and list {first!r} has none; fill the column {scope!r}. "
            "Nothing was imported"
        )
    importer = Importer(model, *items.current_version(), engine.clock)
    result = Imported()
    for part in log.by_time().parts(BATCH):
        try:
            batch = importer.batch(part)
            clicks = tuple(map(tuple, batch.clicks))
            stored = StoreImported(tuple(batch.names), tuple(batch.events), clicks, tuple(batch.outcomes))
            fresh, outcomes = engine.write(stored)
        except RankfallError as problem:
            raise RankfallError(
                f"{problem}. {result.lists:,} lists were imported before that and stay; the same command then goes on"
            ) from problem
        result.lists += sum(fresh)
        result.clicked += sum(bool(clicked) for clicked, new in zip(batch.clicks, fresh, strict=True) if new)
        result.known += len(fresh) - sum(fresh)
        result.left_out += batch.left_out
        result.outcomes += outcomes
        result.unpaid += batch.unpaid
        progress(part.lists)
    return result


def event_id_of(model: str, name: str) -> str:
    """The id of the event that a list becomes; the same each time.

    >>> event_id_of("default", "1")
    'import-...'
    """
    digest = hashlib.blake2b(f"{model}\0{name}".encode(), digest_size=16)
    return f"{IMPORTED}{digest.hexdigest()}"
