"""``rankfall serve``: the service, with one command."""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from rankfall.cli.first_model import beginning, first_model_options
from rankfall.cli.store_options import place_of, store_options
from rankfall.errors import RankfallError
from rankfall.policies import SERVED


@click.command(name="serve")
@first_model_options
@store_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8321,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for a free one.",
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Number of processes.")
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Name that callers use in addresses, besides localhost; needed without --keys only. May be repeated.",
)
@click.option("--keys", type=click.Path(path_type=Path), help="TOML file of API keys; rankfall key makes them.")
@click.option(
    "--in-memory",
    default=10_000,
    show_default=True,
    type=click.IntRange(100),
    help="Number of states of users or segments kept in memory.",
)
@click.option(
    "--max-lag",
    default=30.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Seconds that writing or learning may be behind before /health/ready says no.",
)
@click.option(
    "--rank-wait",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.01, 600),
    help="Seconds a list may wait for the store; then the caller gets its baseline.",
)
@click.option("--log-requests", is_flag=True, help="Log every request, not only slow and failed ones.")
@click.pass_context
def command(
    context: click.Context,
    /,
    data: Path | None,
    store: str | None,
    host: str,
    port: int,
    workers: int,
    allowed_hosts: tuple[str, ...],
    keys: Path | None,
    in_memory: int,
    max_lag: float,
    rank_wait: float,
    log_requests: bool,
    **_: Any,
) -> None:
    """Serve rankings and learn from feedback.

    Everything is kept in one SQLite file in --data, or in PostgreSQL with --store. --catalog is needed the first time;
    from then on items and settings are changed over HTTP. A --catalog, or settings of the first model, that are not
    those in the store are not taken, and a line says so.
    """
    try:
        import uvicorn

        from rankfall.service.http.api_keys import Keys
        from rankfall.service.http.app import Config
        from rankfall.service.http.metrics_folder import metrics_folder
        from rankfall.service.http.protocol import LimitedProtocol
        from rankfall.service.setup import prepare
    except ImportError as problem:
        raise RankfallError(
            f"serving needs the extra: pip install 'rankfall[serve]' (missing: {problem.name})"
        ) from None
    if keys is None and not _loopback(host):
        raise RankfallError(
            f"without --keys anybody who reaches {host} could rank, teach and reset; "
            "give --keys FILE, or listen on 127.0.0.1 only"
        )
    if keys is not None:
        Keys.read(keys)
    place = str(place_of(data, store))
    lines = prepare(place, *beginning(context))
    shown_host = f"[{host}]" if ":" in host else host
    Config(
        store=place,
        keys=None if keys is None else str(keys),
        room=in_memory,
        log_requests=log_requests,
        names=(shown_host, *allowed_hosts),
        most_lag=max_lag,
        rank_patience=rank_wait,
        own_policies=SERVED.own,
    ).publish()
    if keys is None:
        lines.append("No keys: only this machine can reach it.")
    port = _free(host, port)
    address = f"http://{shown_host}:{port}"
    for line in lines:
        click.echo(line)
    click.echo(f"Serving on {address}  (page: {address}/  interface: {address}/docs)")
    with metrics_folder() if workers > 1 else nullcontext() as folder:
        if folder is not None:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        uvicorn.run(
            "rankfall.service.http.app:from_environment",
            factory=True,
            http=LimitedProtocol,
            host=host,
            port=port,
            workers=workers,
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=10,
        )


def _free(host: str, port: int) -> int:
    """The port, if it can be listened on; for 0 one that can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as problem:
            raise RankfallError(
                f"cannot listen on {host}, port {port}: {problem.strerror}; give another --port"
            ) from None
        return int(trial.getsockname()[1])


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
