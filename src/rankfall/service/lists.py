"""Lists as callers name their parts: by position, 1 being the top, or by the id of the item."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankfall.errors import short
from rankfall.item_names import Id
from rankfall.service.commands import FeedbackResult
from rankfall.stores import Event
from rankfall.wire import Click

UNKNOWN = FeedbackResult("unknown", "no list with this event_id")


class _Item(msgspec.Struct):
    """An item of a list, as far as callers name it."""

    id: Id


class _Shown(msgspec.Struct):
    """What a caller got, as far as callers name it."""

    items: list[_Item]


_SHOWN = msgspec.json.Decoder(_Shown)


def items_of(event: Event) -> list[Id]:
    """The ids of the items of a list, in order."""
    return [item.id for item in _SHOWN.decode(event.response).items]


def positions_of(event: Event) -> dict[Id, int]:
    """The 0-based position of each item of a list."""
    return {item: i for i, item in enumerate(items_of(event))}


def position_of(named: int | str | Click, positions: Mapping[Id, int]) -> int | None:
    """0-based position of what a caller names; None if it is not in the list."""
    position = named if isinstance(named, int) else named.position if isinstance(named, Click) else None
    if position is not None:
        return position - 1 if position <= len(positions) else None
    wanted = named.id if isinstance(named, Click) else named
    return None if wanted is None else positions.get(wanted)


def item_text(named: int | str | Click) -> str:
    """What a caller named, for messages."""
    if isinstance(named, int):
        return f"position {named}"
    if isinstance(named, Click):
        return f"position {named.position}" if named.position is not None else f"item {short(named.id)}"
    return f"item {short(named)}"
