"""What tests need of the machine. Where it is missing they skip and say why; with RANKFALL_NOTHING_SKIPS they fail."""

import os
import socket
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    if os.environ.get("RANKFALL_NOTHING_SKIPS"):
        pytest.fail(f"{what}, and RANKFALL_NOTHING_SKIPS is set", pytrace=False)
    pytest.skip(what)


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port
