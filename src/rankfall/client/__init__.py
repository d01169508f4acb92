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

from rankfall.client.async_client import AsyncClient
from rankfall.client.calls.feedback import FeedbackArguments, FeedbackResult
from rankfall.client.calls.outcomes import OutcomeArguments
from rankfall.client.calls.ranking import RankArguments
from rankfall.client.sync_client import Client
from rankfall.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from rankfall.wire import FeedbackProblem, RankedItem, RankResponse

__all__ = [
    "AsyncClient",
    "Client",
    "ConflictError",
    "FeedbackArguments",
    "FeedbackProblem",
    "FeedbackResult",
    "InvalidError",
    "NotFoundError",
    "OutcomeArguments",
    "RankArguments",
    "RankResponse",
    "RankedItem",
    "RefusedError",
    "ServiceError",
    "UnavailableError",
]
