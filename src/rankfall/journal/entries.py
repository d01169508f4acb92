"""The kinds of entries: one frozen record for each, with a version, and the way from older versions to the present one.

A row of the journal has a kind, a version, a JSON body and sometimes a blob. What the journal has is never rewritten:
:func:`decode` brings an entry of an older version up to the present one. Version 0.1.0 of Rankfall wrote version 1 of
every kind, without saying so; a row that does not say is of version 1.

To change a record: raise its version in ``KINDS``, and add the step from the version before. An entry of a kind, of a
version or with a field that is not here was written by a newer Rankfall: :class:`rankfall.errors.JournalError`. So a
field that is left out unless it is used needs no new version: it stops older servers where it is used, and only there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from rankfall.errors import JournalError

Id: TypeAlias = int | str
Body: TypeAlias = dict[str, Any]


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A body as JSON has it. A field that is not known is an error."""


class FeedbackGiven(_Record, frozen=True):
    """What a caller reported on an event: the 0-based positions clicked; none for no click."""

    clicked: tuple[int, ...]


class OutcomeGiven(_Record, frozen=True):
    """What came of the item at a 0-based position of a list beside its click, as a caller reported it."""

    position: int
    type: str
    value: float = 1.0


class FeedbackExpired(_Record, frozen=True):
    """The wait for feedback on a list known to be shown is over: no click."""


class ItemPatched(_Record, frozen=True):
    """What changes of one item. Topics and attributes that are not named stay as they are."""

    id: Id
    title: str | None = None
    coverage: dict[str, float] | None = None
    relevance: tuple[float, ...] | None = None
    attributes: dict[str, str | int | float | bool | None] | None = None  # None takes one away


class CatalogChanged(_Record, frozen=True):
    """A change of the catalog, in this order.

    Attributes
    ----------
    replace : the items put are the whole catalog; those there were are gone.
    topics : new topics, after those there are, which no item covers yet; one that is there already stays as it is.
    patch : changes parts of one item, if it is there.
    items : items to put, as :func:`rankfall.journal.catalogs.encode_catalog` gives them; the blob of the entry.
    delete : ids of items to take out, where they are there; the last item always stays.
    """

    replace: bool = False
    topics: tuple[str, ...] = ()
    patch: ItemPatched | None = None
    items: bytes | None = None
    delete: tuple[Id, ...] = ()


class Pinned(_Record, frozen=True):
    """An item held at a position, 1 being the top."""

    id: Id
    position: int


class Forgetting(_Record, frozen=True):
    """How old observations fade: by a discount, or by a window of lists."""

    discount: float | UnsetType = UNSET
    window: int | UnsetType = UNSET


class StoredSettings(_Record, frozen=True):
    """Settings of a model as the journal has them: what is not named stays, or has its default when a model is made."""

    policy: str | UnsetType = UNSET
    gamma: float | UnsetType = UNSET
    k: int | UnsetType = UNSET
    mode: str | UnsetType = UNSET
    feedback_wait: float | UnsetType = UNSET
    control: float | UnsetType = UNSET
    randomize: float | UnsetType = UNSET
    pinned: tuple[Pinned, ...] | UnsetType = UNSET
    blocked: tuple[Id, ...] | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    forgetting: Forgetting | UnsetType | None = UNSET
    feedback: str | UnsetType | None = UNSET
    rewards: dict[str, float] | None = None  # never changed, and left out where there are none: older versions read on
    across_users: bool = False  # likewise
    rules: tuple[Body, ...] | None = None  # None if they stay; left out of a new model without any, as rewards are
    context: dict[str, dict[str, Any]] | None = None  # likewise
    request_features: dict[str, dict[str, float]] | None = None  # likewise


class ModelCreated(StoredSettings, frozen=True):
    """A model was made, with these settings."""


class SettingsChanged(StoredSettings, frozen=True):
    """Settings of a model changed; what was learned stays."""


class ModelReset(_Record, frozen=True):
    """Everything that a model learned before is unlearned, for all owners."""


class ModelRestored(_Record, frozen=True):
    """Every state of a model is again what it was after the entry at ``source``."""

    source: int
    snapshot: str


class PriorLearned(_Record, frozen=True):
    """What users of a model start from, from now on: each starts anew from it, with all that they have shown.

    Attributes
    ----------
    prior : as :func:`rankfall.journal.priors.encode_prior` gives it.
    users, lists : that taught it.
    """

    prior: bytes
    users: int
    lists: int


class FeedbackForgotten(_Record, frozen=True):
    """What is left of an entry on an event of a user who was forgotten later: it counts as before, and says no more.

    ``reward`` and ``squares`` are what it added to the reward of its arm; an ``outcome`` is no further list.
    """

    arm: str
    clicked: bool = False
    expired: bool = False
    covered: int = 0
    outcome: bool = False
    reward: float = 0.0
    squares: float = 0.0


class UserForgotten(_Record, frozen=True):
    """A user was removed. The name is not here: ``digest`` is its fingerprint, made with ``salt``.

    ``removed`` has the number of lists that were removed, by model.
    """

    salt: str
    digest: str
    removed: dict[str, int] = {}


Record: TypeAlias = (
    FeedbackGiven
    | OutcomeGiven
    | FeedbackExpired
    | FeedbackForgotten
    | CatalogChanged
    | ModelCreated
    | SettingsChanged
    | ModelReset
    | ModelRestored
    | PriorLearned
    | UserForgotten
)
Kind = Literal[
    "feedback",
    "expired",
    "outcome",
    "forgotten",
    "catalog",
    "create",
    "settings",
    "reset",
    "restore",
    "prior",
    "forget",
]
Upcaster: TypeAlias = Callable[[Body], Body]


def _catalog_1_to_2(body: Body) -> Body:
    """Version 1 had ``{"id": ..., "patch": {...}}`` for a patch, and blobs without a check sum."""
    if "patch" not in body:
        return body
    return {"patch": {"id": body["id"], **body["patch"]}}


def _catalog_2_to_3(body: Body) -> Body:
    """Version 2 had no new topics, and catalogs without names of features and without a recipe."""
    return body


def _restore_1_to_2(body: Body) -> Body:
    """Version 1 had positions of two numbers. Stores are renumbered when they are migrated; an exported log is not."""
    return {**body, "source": body["source"][1]}


def _forget_1_to_2(body: Body) -> Body:
    """Version 1 did not say how many lists were removed."""
    return body


@dataclass(frozen=True)
class _Kind:
    """How a kind is read: its record, and the steps from version 1 to 2, from 2 to 3, and so on to the present one."""

    record: type[Record]
    steps: tuple[Upcaster, ...] = ()

    @property
    def version(self) -> int:
        """The present version."""
        return len(self.steps) + 1


KINDS: Mapping[str, _Kind] = {
    "feedback": _Kind(FeedbackGiven),
    "expired": _Kind(FeedbackExpired),
    "outcome": _Kind(OutcomeGiven),
    "forgotten": _Kind(FeedbackForgotten),
    "catalog": _Kind(CatalogChanged, (_catalog_1_to_2, _catalog_2_to_3)),
    "create": _Kind(ModelCreated),
    "settings": _Kind(SettingsChanged),
    "reset": _Kind(ModelReset),
    "restore": _Kind(ModelRestored, (_restore_1_to_2,)),
    "prior": _Kind(PriorLearned),
    "forget": _Kind(UserForgotten, (_forget_1_to_2,)),
}
ON_EVENTS = ("feedback", "expired", "outcome")
"""The kinds that are on an event."""

_NAME = {kind.record: name for name, kind in KINDS.items()}
_DECODER = {name: msgspec.json.Decoder(kind.record) for name, kind in KINDS.items()}


class Encoded(NamedTuple):
    """A record as a row of the journal has it."""

    kind: str
    version: int
    body: str
    blob: bytes | None


def encode(record: Record) -> Encoded:
    """A record, ready to be appended; always of the present version.

    >>> encode(FeedbackGiven((0, 2)))
    Encoded(kind='feedback', version=1, body='{"clicked":[0,2]}', blob=None)
    """
    blob = None
    name = _NAME[type(record)]
    if isinstance(record, CatalogChanged):
        record, blob = msgspec.structs.replace(record, items=None), record.items
    return Encoded(name, KINDS[name].version, msgspec.json.encode(record).decode(), blob)


def decode(kind: str, version: int, body: str, blob: bytes | None = None) -> Record:
    """The record in a row of the journal, brought up to the present version; raises JournalError if it is newer.

    >>> decode("catalog", 1, '{"id": "a", "patch": {"title": "A"}}').patch.title
    'A'
    >>> decode("settings", 1, '{"gamma": 2.0, "patience": 3}')
    Traceback (most recent call last):
    rankfall.errors.JournalError: a settings entry of version 1 cannot be read: Object contains unknown field `patience`
    """
    known = KINDS.get(kind)
    if known is None:
        raise JournalError(f"an entry of kind {kind!r} is not known; this version knows {', '.join(KINDS)}")
    if not 1 <= version <= known.version:
        raise JournalError(f"a {kind} entry has version {version}; this version reads up to {known.version}")
    try:
        if version == known.version:
            record = _DECODER[kind].decode(body)
        else:
            plain = msgspec.json.decode(body)
            for step in known.steps[version - 1 :]:
                plain = step(plain)
            record = msgspec.convert(plain, known.record)
    except msgspec.ValidationError as problem:
        raise JournalError(f"a {kind} entry of version {version} cannot be read: {problem}") from None
    return msgspec.structs.replace(record, items=blob) if isinstance(record, CatalogChanged) else record
