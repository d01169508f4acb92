"""``rankfall serve``: the service, with one command."""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import get_args

import click

from rankfall.catalog import Catalog
from rankfall.cli.option_types import ForgettingType
from rankfall.errors import RankfallError
from rankfall.policies import SERVED
from rankfall.policies.forgetting import Discount, Window
from rankfall.policies.linear.settings import Feedback


@click.command(name="serve")
@click.option(
    "--catalog", type=click.Path(path_type=Path), help="Parquet or CSV file of the items; read the first time only."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("rankfall-data"),
    show_default=True,
    help="Folder of the SQLite store.",
)
@click.option("--store", metavar="URL", help="PostgreSQL store, for many machines: postgresql://user@host/name.")
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
    "--policy",
    default="CascadeHybrid",
    show_default=True,
    type=click.Choice(list(SERVED)),
    metavar="NAME",
    help="Policy of the first model; rankfall policies marks those that can be served with *.",
)
@click.option(
    "--gamma", default=1.0, show_default=True, type=click.FloatRange(0), help="How much the first model explores."
)
@click.option(
    "--scope",
    default="global",
    show_default=True,
    type=click.Choice(["global", "segment", "user"]),
    help="Whether the first model has one state in all, or one for each segment or user.",
)
@click.option(
    "--forgetting",
    type=ForgettingType(),
    help="How the first model forgets: discount=0.999, or window=1000 (lists).  [default: never]",
)
@click.option(
    "--feedback",
    type=click.Choice(get_args(Feedback)),
    help="Which items count as seen in the first model: down to the first click, to the last, or all.",
)
@click.option(
    "--id",
    "id_column",
    default="id",
    show_default=True,
    help="Column of ids in --catalog, if Rankfall did not write the file.",
)
@click.option("--title", help="Column of titles in --catalog.")
@click.option("--topics", help="Column of topics in --catalog: lists, or names separated by |.")
@click.option(
    "--features", help="Columns of --catalog that become relevance features, separated by commas; they are scaled."
)
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
def command(
    catalog: Path | None,
    data: Path,
    store: str | None,
    host: str,
    port: int,
    workers: int,
    allowed_hosts: tuple[str, ...],
    keys: Path | None,
    policy: str,
    gamma: float,
    scope: str,
    forgetting: Discount | Window | None,
    feedback: Feedback | None,
    id_column: str,
    title: str | None,
    topics: str | None,
    features: str | None,
    in_memory: int,
    max_lag: float,
    rank_wait: float,
    log_requests: bool,
) -> None:
    """Serve rankings and learn from feedback.

    Everything is kept in one SQLite file in --data, or in PostgreSQL with --store. --catalog is needed the first time;
    from then on items are changed over HTTP, and --catalog is ignored.
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
    place = store or str(data)
    settings = {"policy": policy, "gamma": gamma, "scope": scope, "feedback": feedback}
    if forgetting is not None:
        told = {"discount": forgetting.rho} if isinstance(forgetting, Discount) else {"window": forgetting.lists}
        settings["forgetting"] = told
    read = None if catalog is None else (lambda: _read(catalog, id_column, title, topics, features))
    lines = prepare(place, read, settings)
    shown_host = f"[{host}]" if ":" in host else host
    Config(
        store=place,
        keys=None if keys is None else str(keys),
        room=in_memory,
        log_requests=log_requests,
        names=(shown_host, *allowed_hosts),
        most_lag=max_lag,
        rank_patience=rank_wait,
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


def _read(path: Path, id_column: str, title: str | None, topics: str | None, features: str | None) -> Catalog:
    """The catalog in a file that Rankfall wrote, or built from a table whose columns were named."""
    if topics is None and features is None and path.suffix not in (".csv", ".tsv"):
        return Catalog.read_parquet(path)
    from rankfall.data import build_catalog

    columns = tuple(name.strip() for name in (features or "").split(",") if name.strip())
    built = build_catalog(path, id=id_column, title=title, topics=topics, features=columns)
    click.echo(built.describe())
    return built.catalog
