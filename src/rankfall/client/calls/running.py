"""Users who want to be forgotten, health and metrics."""

from __future__ import annotations

from rankfall.client.call import AGAIN, NO_RESPONSE, Call
from rankfall.client.encoding import path
from rankfall.wire import ForgetResponse


def forget_user(user: str) -> Call[ForgetResponse]:
    """Remove everything known about a user.

    Returns
    -------
    ForgetResponse
        If a response was lost and the client asked again, the counts are those of the last attempt.

    Examples
    --------
    >>> forget_user("ann@example.org").path
    '/v1/users/ann%40example.org'
    """
    return Call("DELETE", path("users", user), lambda reply: reply.read(ForgetResponse))


def ready() -> Call[bool]:
    """Whether the service is there and can rank; asked once, and false if there is no response."""
    return Call("GET", "/health/ready", lambda reply: reply.status == 200, understands=AGAIN | {NO_RESPONSE})


def metrics() -> Call[str]:
    """The service's metrics, in Prometheus' text format."""
    return Call("GET", "/metrics", lambda reply: reply.body.decode())
