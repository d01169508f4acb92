"""The options ``--data`` and ``--store`` of the commands that work on a store, and how they open it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankfall.cli.option_types import ModelPolicyName

if TYPE_CHECKING:
    from rankfall.service.engine import Engine
    from rankfall.stores import Store

C = TypeVar("C", bound=Callable[..., Any])


def own_policy_option(command: C) -> C:
    """The option ``--own-policy``, for stores with models that learn with one."""
    return click.option(
        "--own-policy",
        type=ModelPolicyName(),
        multiple=True,
        metavar="MODULE:NAME",
        expose_value=False,
        help="Policy of your own that a model of the store learns with, or may learn with. May be repeated.",
    )(command)


def store_options(command: C) -> C:
    """The options ``--data`` and ``--store``, as ``rankfall serve`` has them, and ``--own-policy``."""
    command = own_policy_option(command)
    command = click.option("--store", metavar="URL", help="PostgreSQL store: postgresql://user@host/name.")(command)
    return click.option(
        "--data", type=click.Path(path_type=Path), help="Folder of the SQLite store.  [default: rankfall-data]"
    )(command)


def place_of(data: Path | None, store: str | None) -> str | Path:
    """Where the store is."""
    if data is not None and store is not None:
        raise click.UsageError("give --data or --store, not both")
    return store or data or Path("rankfall-data")


def open_to_read_at(data: Path | None, store: str | None) -> Store:
    """Open the store, which must exist, to be read only; one of an older version is brought up to date first."""
    from rankfall.errors import OldStoreError
    from rankfall.stores import open_store

    place = place_of(data, store)
    try:
        return open_store(place, read_only=True)
    except OldStoreError:
        open_store(place, make=False).close()
        return open_store(place, read_only=True)


def open_engine_at(data: Path | None, store: str | None) -> Engine:
    """Open the store with its models; servers may run on it meanwhile."""
    from rankfall.errors import RankfallError

    try:
        from rankfall.service.engine import Engine
        from rankfall.stores import open_store
    except ImportError as problem:
        raise RankfallError(f"this needs the extra: pip install 'rankfall[serve]' (missing: {problem.name})") from None
    return Engine(open_store(place_of(data, store), make=False))
