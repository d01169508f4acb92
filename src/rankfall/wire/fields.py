"""Types of fields that several requests and responses share, and the checks that a type alone cannot express."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from rankfall.errors import short

LONGEST_NAME, LONGEST_TITLE = 200, 1000

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
"""A user, a segment, an event or a request; printable, which :func:`check_printable` checks."""
ItemId: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | Name
ModelName: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Position: TypeAlias = Annotated[int, Meta(ge=1)]
"""A place in a list; 1 is the top."""
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]

Mode: TypeAlias = Literal["online", "apprentice", "logging_only"]
Scope: TypeAlias = Literal["global", "segment", "user"]
Seen: TypeAlias = Literal["cascade", "last_click", "all"]

# Words in responses are listed in the interface's description, but not enforced: a client must be able to read the
# responses of a newer service.
Arm: TypeAlias = Annotated[
    str, Meta(extra_json_schema={"enum": ["policy", "baseline", "control", "fallback", "imported"]})
]
Result: TypeAlias = Literal["accepted", "duplicate", "late", "unknown", "rejected"]


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What a caller sends. Unknown fields are refused: they are mistakes of spelling."""


class Query(Struct, frozen=True, kw_only=True):
    """What a caller adds to an address after ``?``. Unknown words are ignored."""


class Response(Struct, frozen=True):
    """What the service sends back. Unknown fields are ignored: a newer service may send more."""


class FieldError(ValueError):
    """A value that its type allows and the interface does not; ``field`` says which field holds it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def check_printable(field: str, text: str | int | None) -> None:
    r"""Refuse control characters and whatever else a log, a page or a database could not show.

    >>> check_printable("user", "a\nb")
    Traceback (most recent call last):
    rankfall.wire.fields.FieldError: only printable characters are allowed, got 'a\nb'
    """
    if isinstance(text, str) and not text.isprintable():
        raise FieldError(field, f"only printable characters are allowed, got {short(text)}")


def check_all_printable(field: str, ids: Iterable[str | int] | None) -> None:
    """:func:`check_printable` for each of several ids."""
    if ids is not None and not "".join([text for text in ids if isinstance(text, str)]).isprintable():
        for i, text in enumerate(ids):
            check_printable(f"{field}[{i}]", text)
