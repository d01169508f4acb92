"""Outcomes, as they go over the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Required, TypedDict

from rankfall.client.encoding import Id, check_names, given
from rankfall.errors import InvalidError


class OutcomeArguments(TypedDict, total=False):
    """One of the ``outcomes`` of ``feedback``: ``id`` or ``position`` says which item, ``type`` what came of it."""

    id: Id
    position: int
    type: Required[str]
    value: float
    outcome_id: str


def sendable(outcomes: Iterable[OutcomeArguments]) -> list[dict[str, Any]]:
    """Outcomes as they are sent.

    >>> sendable([{"id": "tt1", "type": "purchase"}])
    [{'id': 'tt1', 'type': 'purchase'}]
    """
    if isinstance(outcomes, Mapping):
        raise InvalidError("outcomes are a list of them; one alone is given to outcome()", code="invalid")
    return [_sendable(one) for one in outcomes]


def _sendable(one: OutcomeArguments) -> dict[str, Any]:
    check_names(one, OutcomeArguments.__annotations__)
    sent = given(**one)
    if "type" not in sent or ("id" in sent) == ("position" in sent):
        raise InvalidError(f"an outcome has a type, and an id or a position; got {sorted(sent)}", code="invalid")
    return sent


def key_of(sent: Mapping[str, Any]) -> object:
    """What the service tells an outcome from others on the same list by."""
    return sent.get("outcome_id") or (sent.get("id"), sent.get("position"), sent["type"])
