"""``rankfall snapshot``: make, list, restore and save snapshots of a model, while servers run or not."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from rankfall.cli.store_options import open_engine_at, store_options


@click.group(name="snapshot")
def command() -> None:
    """Make, list, restore and save snapshots of a model.

    Servers may run meanwhile; they follow by themselves.
    """


@command.command()
@click.argument("model")
@store_options
@click.option("--name", default="", help="Name of the snapshot.")
def make(model: str, data: Path | None, store: str | None, name: str) -> None:
    """Make a snapshot of a model as it is now.

    MODEL is the name of the model. Prints the id of the snapshot.
    """
    if not name.isprintable() or len(name) > 200:
        raise click.UsageError(f"--name must have at most 200 printable characters, got {name!r}")
    from rankfall.service.commands import LoadOwner, TakeSnapshot

    with closing(open_engine_at(data, store)) as engine:
        if engine.state.model(model).settings.scope == "global":
            engine.write(LoadOwner(model, ""))
        click.echo(engine.write(TakeSnapshot(model, name)).id)


@command.command(name="list")
@click.argument("model")
@store_options
def list_(model: str, data: Path | None, store: str | None) -> None:
    """List the snapshots of a model, oldest first.

    MODEL is the name of the model.
    """
    from rankfall.service.events import iso

    with closing(open_engine_at(data, store)) as engine:
        snapshots = engine.store.snapshots(engine.state.model(model).name)
    for one in snapshots:
        click.echo(f"{one.id}  {iso(one.at)}  version {one.position}  {one.name}".rstrip())
    if not snapshots:
        click.echo(f"Model {model!r} has no snapshots.", err=True)


@command.command()
@click.argument("model")
@click.argument("snapshot")
@store_options
def restore(model: str, snapshot: str, data: Path | None, store: str | None) -> None:
    """Take a model back to a snapshot, for all users and segments.

    MODEL is the name of the model, SNAPSHOT the id of the snapshot. The log is kept.
    """
    from rankfall.service.commands import Restore

    with closing(open_engine_at(data, store)) as engine:
        source = engine.find_snapshot(engine.state.model(model).name, snapshot)
        version = engine.write(Restore(source))
    click.echo(f"Model {model!r} is back at snapshot {snapshot}; this is version {version}.")


@command.command()
@click.argument("model")
@click.argument("snapshot", required=False)
@store_options
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write.")
@click.option("--user", help="User whose state is saved, for a model of scope user.")
@click.option("--segment", help="Segment whose state is saved, for a model of scope segment.")
def save(
    model: str,
    snapshot: str | None,
    data: Path | None,
    store: str | None,
    out: Path,
    user: str | None,
    segment: str | None,
) -> None:
    """Save the state of a model to a file that rankfall.load reads.

    MODEL is the name of the model, SNAPSHOT the id of a snapshot; without it, the present state is saved.
    """
    from rankfall.service.engine import owner_of

    with closing(open_engine_at(data, store)) as engine:
        found = engine.state.model(model)
        upto = None if snapshot is None else engine.find_snapshot(model, snapshot).position
        engine.save_policy(found, owner_of(found, user, segment), out, upto)
    click.echo(f"Wrote {out}.")
