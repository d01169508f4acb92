"""``rankfall snapshot``: states of a model by name, beside whatever servers run."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankfall.cli.store_options import open_engine_at, store_options

if TYPE_CHECKING:
    from rankfall.service.engine import Engine
    from rankfall.service.model import Model


@click.group(name="snapshot")
def command() -> None:
    """Make, list, restore and save snapshots of a model. Servers may run meanwhile and follow by themselves."""


@command.command()
@click.argument("model")
@store_options
@click.option("--name", default="", help="What to call it.")
def make(model: str, data: Path | None, store: str | None, name: str) -> None:
    """Name the state as it is now; prints the id of the snapshot."""
    if not name.isprintable() or len(name) > 200:
        raise click.UsageError(f"--name must have at most 200 printable characters, got {name!r}")
    with closing(open_engine_at(data, store)) as engine:
        found = engine.model(model)
        if found.settings.scope == "global":
            asyncio.run(_load(engine, found))
        click.echo(engine.do_now(engine.snapshot(found, name)).id)


async def _load(engine: Engine, model: Model) -> None:
    await engine.state(model, "")


@command.command(name="list")
@click.argument("model")
@store_options
def list_(model: str, data: Path | None, store: str | None) -> None:
    """List the snapshots of a model, oldest first."""
    from rankfall.service.ranking import iso

    with closing(open_engine_at(data, store)) as engine:
        snapshots = engine.store.snapshots(engine.model(model).name)
    for one in snapshots:
        click.echo(f"{one.id}  {iso(one.at)}  version {one.position.seq}  {one.name}".rstrip())
    if not snapshots:
        click.echo(f"Model {model!r} has no snapshots.", err=True)


@command.command()
@click.argument("model")
@click.argument("snapshot")
@store_options
def restore(model: str, snapshot: str, data: Path | None, store: str | None) -> None:
    """Go back to a snapshot, for all users and segments. The log stays."""
    with closing(open_engine_at(data, store)) as engine:
        found = engine.model(model)
        version = engine.do_now(engine.restore(found, engine.find_snapshot(found, snapshot)))
    click.echo(f"Model {model!r} is again what it was at {snapshot}; this is version {version}.")


@command.command()
@click.argument("model")
@click.argument("snapshot", required=False)
@store_options
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write.")
@click.option("--user", help="Whose state, for a model of scope user.")
@click.option("--segment", help="Whose state, for a model of scope segment.")
def save(
    model: str,
    snapshot: str | None,
    data: Path | None,
    store: str | None,
    out: Path,
    user: str | None,
    segment: str | None,
) -> None:
    """Write a snapshot, or the state as it is now, to a file that rankfall.load reads."""
    with closing(open_engine_at(data, store)) as engine:
        found = engine.model(model)
        upto = None if snapshot is None else engine.find_snapshot(found, snapshot).position
        engine.save_state(found, engine.key(found, user, segment), upto, out)
    click.echo(f"Wrote {out}.")
