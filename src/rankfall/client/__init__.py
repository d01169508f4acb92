"""The Rankfall service, from Python: `Client`, and `AsyncClient` for ``asyncio``.

>>> from rankfall.client import Client
>>> client = Client("http://localhost:8321", api_key="secret")
>>> client
Client('http://localhost:8321')
>>> client.close()
"""

try:
    import httpx as _httpx  # noqa: F401
except ModuleNotFoundError as problem:  # pragma: no cover
    raise ModuleNotFoundError("the client needs httpx: pip install 'rankfall[client]'", name="httpx") from problem

from rankfall.client.answers import FeedbackProblem, FeedbackResult, RankedItem, RankedList
from rankfall.client.ranking import Feedback, RankRequest
from rankfall.client.shells import AsyncClient, Client
from rankfall.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)

__all__ = [
    "AsyncClient",
    "Client",
    "ConflictError",
    "Feedback",
    "FeedbackProblem",
    "FeedbackResult",
    "InvalidError",
    "NotFoundError",
    "RankRequest",
    "RankedItem",
    "RankedList",
    "RefusedError",
    "ServiceError",
    "UnavailableError",
]
