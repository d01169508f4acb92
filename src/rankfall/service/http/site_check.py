"""Requests that a browser sends for a page of another website.

Any page may have a browser send requests to any address that the browser can reach, this machine's own among them. The
browser says whose page it was, in headers that a page cannot set. DNS rebinding, where the name of a foreign page comes
to mean this machine, cannot be seen in them: it shows in the name that the service is called by.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from rankfall.errors import RefusedError, short
from rankfall.service.http.auth import GUARDED
from rankfall.service.http.errors import refusal

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The names of this machine in an address, which no foreign name can come to be."""

_READS = ("GET", "HEAD")
_LOOKED_AT = frozenset({b"host", b"origin", b"sec-fetch-site"})
_PORT = re.compile(r":\d*$")


class SiteCheck:
    """Refuses requests for pages of other websites, and those to a name that is not the service's.

    Parameters
    ----------
    names : the names or addresses the service may be called by; None for any.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] | None) -> None:
        self._app = app
        self._names = None if names is None else frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass, or refuse it."""
        reason = self._reason(scope) if scope["type"] == "http" else None
        if reason is not None:
            await refusal(RefusedError(reason))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _reason(self, scope: Scope) -> str | None:
        headers = {name: value for name, value in scope["headers"] if name in _LOOKED_AT}
        host, called = _host_of(headers.get(b"host", b""))
        if self._names is not None and called not in self._names:
            return f"this service is not called {short(host)}; rankfall serve --allow-host NAME adds a name"
        if scope["method"] in _READS and not scope["path"].startswith(GUARDED):
            return None  # pages hold no data, and other sites may have links to them
        if len(headers) > 1 and is_foreign(_text(headers, b"sec-fetch-site"), _text(headers, b"origin"), host):
            return "a page of another website sent this request"
        return None


@lru_cache(1024)
def _host_of(header: bytes) -> tuple[str, str]:
    """The host that a request is sent to, and its name without the port."""
    host = header.decode("latin-1").lower()
    return host, _PORT.sub("", host)


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1").lower()


def is_foreign(site: str | None, origin: str | None, host: str) -> bool:
    """Whether these headers say that a page of another website sent a request; no browser, no such page.

    ``site`` is what the browser found, and needs no comparing: behind a proxy, ``host`` may not be the name it used.

    >>> is_foreign("cross-site", "https://shop.example", "localhost:8321")
    True
    >>> is_foreign(None, "http://localhost:3000", "localhost:8321")
    True
    >>> is_foreign(None, "http://localhost:8321", "localhost:8321")
    False
    >>> is_foreign(None, None, "localhost:8321")
    False
    """
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and origin.partition("://")[2] != host
