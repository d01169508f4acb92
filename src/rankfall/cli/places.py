"""What the commands on stores and logs share: which store, and how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rankfall.service.engine import Engine
    from rankfall.stores import Store

C = TypeVar("C", bound=Callable[..., Any])


def place_options(command: C) -> C:
    """The options ``--data`` and ``--store``, as ``rankfall serve`` has them."""
    command = click.option("--store", help="postgresql://... instead of a folder.")(command)
    return click.option(
        "--data", type=click.Path(path_type=Path), help="Folder of the SQLite store.  [default: rankfall-data]"
    )(command)


def store_at(data: Path | None, store: str | None) -> Store:
    """The store, which must be there."""
    from rankfall.stores import open_store

    if data is not None and store is not None:
        raise click.UsageError("give --data or --store, not both")
    return open_store(store or data or Path("rankfall-data"), make=False)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if somebody sees it; gives what is called with each step."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


def engine_at(data: Path | None, store: str | None) -> Engine:
    """The models of the store, beside whatever servers run on it."""
    from rankfall.errors import RankfallError

    try:
        from rankfall.service.engine import Engine
    except ImportError as problem:
        raise RankfallError(f"this needs the extra: pip install 'rankfall[serve]' (missing: {problem.name})") from None
    return Engine(store_at(data, store))
