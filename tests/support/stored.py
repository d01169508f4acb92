"""A list and entries as a store keeps them, for tests of stores."""

import numpy as np

from rankfall.journal.entries import Encoded
from rankfall.stores import (
    Event,
    OnEvent,
)

EVENT = Event(
    id="e1",
    model="m",
    owner="k",
    user="u\U0001f600'\"",
    segment=None,
    request_id="r1",
    digest="d",
    created=0.1 + 0.2,
    expires=1e9 + 1 / 3,
    active=True,
    arm="policy",
    learn=True,
    propensity=1 / 3,
    catalog=2**40,
    covered=3,
    request='{"candidates": ["a?%s"]}',
    response='{"items": []}',
    features=np.array([[np.pi, -0.0], [5e-324, 1e308]]).tobytes(),
)


def feedback(event: str, owner: str = "k", clicked: str = '{"clicked": [0]}', model: str = "m") -> OnEvent:
    return OnEvent(Encoded("feedback", 1, clicked, None), event, model, owner, 1.5, "token")


def reset(body: str = "{}") -> Encoded:
    return Encoded("reset", 1, body, None)
