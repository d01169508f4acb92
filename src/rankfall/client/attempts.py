"""The attempts of one call, from the first to its result; nothing here touches the network or sleeps.

`Attempts` decides, after each attempt, whether the call is over and how long to pause if it is not. `Client` and
`AsyncClient` only send and sleep: every decision is made here, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform
from typing import Generic, TypedDict, TypeVar

import httpx
import msgspec

from rankfall.client.call import AGAIN, GATEWAY, NO_RESPONSE, Call, Reply
from rankfall.errors import InvalidError, ServiceError, UnavailableError

T = TypeVar("T")

API_KEY = "X-API-Key"
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)


@dataclass(frozen=True)
class RetryLimits:
    """How often and how long a call is tried.

    Parameters
    ----------
    retries
        Attempts after the first.
    timeout
        Seconds that connecting, sending, or waiting for the next piece of a response may take.
    deadline
        Seconds for all attempts and pauses together: no attempt starts later, and the timeout of each is cut to what is
        left.

    >>> RetryLimits(retries=-1)
    Traceback (most recent call last):
    rankfall.errors.InvalidError: retries must be 0 or more, not -1
    """

    retries: int = 3
    timeout: float = 10.0
    deadline: float = 30.0

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise InvalidError(f"retries must be 0 or more, not {self.retries}", code="invalid")
        for name, seconds in [("timeout", self.timeout), ("deadline", self.deadline)]:
            if not seconds > 0:
                raise InvalidError(f"{name} must be more than 0 seconds, not {seconds}", code="invalid")


class Sending(TypedDict):
    """The arguments of ``httpx.Client.request``."""

    method: str
    url: str
    params: Mapping[str, str] | None
    content: bytes | None
    headers: dict[str, str]
    timeout: float
    follow_redirects: bool


class Attempts(Generic[T]):
    """One call in progress.

    The owner, until ``over``: sleeps ``pause`` seconds, sends ``request()``, and gives what comes back to ``take`` or,
    if nothing does, to ``lost``. Both raise when the call has failed for good. Then there is ``result()``.

    >>> attempts = Attempts(Call("GET", "/metrics", lambda reply: reply.body), "http://localhost:8321", RetryLimits())
    >>> attempts.request()["url"], attempts.pause, attempts.over
    ('http://localhost:8321/metrics', 0.0, False)
    >>> attempts.take(httpx.Response(200, content=b"up 1"))
    >>> attempts.over, attempts.result()
    (True, b'up 1')
    """

    def __init__(
        self,
        call: Call[T],
        base: str,
        limits: RetryLimits,
        key: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call, self._base, self._limits, self._key, self._clock = call, base, limits, key, clock
        self._end = clock() + limits.deadline
        self._attempts = 0
        self._repeated = False  # an earlier attempt may have been carried out
        self._reply = None if call.path else Reply()
        self.pause = 0.0

    @property
    def over(self) -> bool:
        """Whether there is a result."""
        return self._reply is not None

    def result(self) -> T:
        """What the call gives.

        Raises
        ------
        ServiceError
            If the response cannot be read.
        """
        assert self._reply is not None
        try:
            return self._call.read(self._reply)
        except (msgspec.DecodeError, ValueError, LookupError) as problem:
            start = self._hide(self._reply.body.decode(errors="replace"))[:80]
            raise ServiceError(
                f"{self._name()} was answered with something the client cannot read: {start!r}",
                status=self._reply.status,
            ) from problem

    def request(self) -> Sending:
        """The next attempt."""
        self._attempts += 1
        headers = {API_KEY: self._key} if self._key else {}
        if self._call.method in ("POST", "PUT", "PATCH"):  # also where there is nothing to say
            headers["Content-Type"] = self._call.media
        return {
            "method": self._call.method,
            "url": self._base + self._call.path,
            "params": self._call.params or None,
            "content": self._call.content,
            "headers": headers,
            "timeout": max(min(self._limits.timeout, self._end - self._clock()), 1e-3),
            "follow_redirects": False,  # they would carry the key elsewhere
        }

    def take(self, response: httpx.Response) -> None:
        """A response came: the end, or a reason to ask again."""
        status = response.status_code
        body = response.content
        if self._key and not response.is_success:  # should someone have quoted the key, it goes no further
            body = body.replace(self._key.encode(), b"***")
        reply = Reply(status, body, self._repeated)
        if response.is_success or status in self._call.understands:
            self._reply = reply
        elif status not in AGAIN or not self._call.repeatable or not self._again(_retry_after(response)):
            raise reply.error()
        self._repeated |= status in GATEWAY

    def lost(self, problem: httpx.RequestError) -> None:
        """No response came: a reason to ask again, or the end."""
        unsent = isinstance(problem, NEVER_SENT)
        if NO_RESPONSE in self._call.understands:
            self._reply = Reply()
        elif not isinstance(problem, LOST):
            message = f"{self._name()}: {self._hide(str(problem))}"
            raise ServiceError(message) from problem
        elif not (self._call.repeatable or unsent) or not self._again():
            attempts = f"{self._attempts} attempt{'s'[: self._attempts != 1]}"
            doubt = "" if unsent and not self._repeated else "; it may have been carried out"
            what = self._hide(str(problem)) or type(problem).__name__
            message = f"{self._name()} was not answered in {attempts}: {what}{doubt}"
            raise UnavailableError(message, code="unavailable") from problem
        self._repeated |= not unsent

    def _again(self, at_least: float = 0.0) -> bool:
        """Whether another attempt fits; if so, ``pause`` says when: exponential backoff with full jitter."""
        if self._attempts > self._limits.retries:
            return False
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._attempts - 1))
        self.pause = max(at_least, uniform(0.0, longest))
        return self._clock() + self.pause < self._end

    def _name(self) -> str:
        return f"{self._call.method} {self._call.path}"

    def _hide(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _retry_after(response: httpx.Response) -> float:
    """Seconds the service asks to wait.

    >>> _retry_after(httpx.Response(503, headers={"Retry-After": "2"}))
    2.0
    >>> _retry_after(httpx.Response(503, headers={"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}))
    0.0
    >>> _retry_after(httpx.Response(503, headers={"Retry-After": "soon"}))
    0.0
    """
    value = response.headers.get("Retry-After", "")
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
