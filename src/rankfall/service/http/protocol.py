"""The protocol of one connection, with a limit on what is not body: addresses, headers, what frames the chunks."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST = 64 << 10
"""Bytes that may come in a row without making headers complete or a part of a body."""


class LimitedProtocol(HttpToolsProtocol):
    """Ends a connection on which headers do not end. The parser would collect them for ever."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._bytes = 0
        self._something_came = False

    def data_received(self, data: bytes) -> None:
        """Take what came; see :class:`asyncio.Protocol`."""
        self._something_came = False
        super().data_received(data)
        self._bytes = 0 if self._something_came else self._bytes + len(data)
        if self._bytes > MOST and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(STATUS_LINE[431] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def on_headers_complete(self) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._something_came = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._something_came = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._something_came = True
        super().on_message_complete()
