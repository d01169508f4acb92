"""Ports that stay ours."""

import socket
import sys


class ReservedPort:
    """A free port that is kept for a server which is started later, or again, until it is closed.

    On Linux a socket that is bound but does not listen keeps its port from everyone who asks for *any* free port,
    outgoing connections included, while a server that names the port can still listen on it: both set ``SO_REUSEADDR``.
    Until then connecting is refused. Other systems do not share ports like that: there the port is found, but not kept.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]
        if sys.platform != "linux":
            self.close()

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()
