"""Users who want to be forgotten."""

from __future__ import annotations

from rankfall.wire.fields import Response


class ForgetResponse(Response, frozen=True):
    """What was removed: states of models, lists of models of scope user; other lists lost the name of the user."""

    user: str
    models: int
    events_removed: int
    events_anonymised: int
