"""What is the same for both clients, in the docs and in the service; and what they load."""

import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from unreliable_service import Service

from rankfall.client import (
    AsyncClient,
    Client,
)
from rankfall.client.calls import models
from rankfall.wire import ModelChanges, ModelSettings

pytestmark = pytest.mark.stress


def test_both_clients_have_the_same_methods() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        methods = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
        return {name: list(inspect.signature(method).parameters) for name, method in methods.items()}

    assert surface(Client) == surface(AsyncClient)
    for name in surface(Client):
        assert getattr(Client, name).__doc__ == getattr(AsyncClient, name).__doc__ is not None


def test_connections_are_given_back_but_not_yours(service: Service, running: tuple[Service, str]) -> None:
    with httpx.Client(headers={"X-Mine": "1"}) as http:
        with Client(running[1], http=http) as client:
            client.rank()
        assert not http.is_closed
    assert service.headers[0]["x-mine"] == "1"
    with Client(running[1]) as client:
        client.rank()
    assert client._http.is_closed

    async def main() -> None:
        async with AsyncClient(running[1]) as client:
            await asyncio.gather(*[client.rank() for _ in range(5)])
        assert client._http.is_closed

    asyncio.run(main())
    assert len(service.answers) == 7


def test_the_client_is_light() -> None:
    code = "import rankfall.client, sys; print([name for name in ('numpy', 'polars', 'numba') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_docs_have_every_method_with_its_arguments() -> None:
    page = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
    written: dict[str, set[str]] = {}
    for name, arguments in re.findall(r"`(\w+)\(([^`]*)\)`", page[page.index("## Methods") :]):
        said = [one.split("=")[0].strip("* ") for one in arguments.split(",")]
        written.setdefault(name, set()).update(one for one in said if one)
    methods = {name: method for name, method in vars(Client).items() if callable(method) and name[0] != "_"}
    real = {name: set(inspect.signature(method).parameters) - {"self"} for name, method in methods.items()}
    assert written == real


def test_settings_of_models_are_those_of_the_service() -> None:
    assert models.Settings.__annotations__.keys() == set(ModelSettings.__struct_fields__)
    assert models.Changes.__annotations__.keys() == set(ModelChanges.__struct_fields__)
