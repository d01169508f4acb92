"""Where the service is, and the key to it."""

from __future__ import annotations

import httpx

from rankfall.errors import InvalidError

ADDRESS = "http://127.0.0.1:8321"


def checked_url(url: str) -> str:
    """The address, if a service can be there."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as problem:
        raise InvalidError(f"not an address: {problem}", code="invalid") from problem
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or parsed.query or parsed.fragment:
        message = f"an address looks like {ADDRESS}, with nothing after the path and no password in it, not {parsed!r}"
        raise InvalidError(message, code="invalid")
    return str(parsed).rstrip("/")


def checked_key(key: str | None) -> str | None:
    """The API key, if it can be sent."""
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise InvalidError("an API key is made of visible ASCII characters, at least one", code="invalid")
    return key
