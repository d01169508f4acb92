"""``rankfall export``: write the log of a service to Parquet files."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from rankfall.cli.progress import progress_bar
from rankfall.cli.store_options import open_to_read_at, store_options


@click.command(name="export")
@store_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the files.")
@click.option("--model", help="Export only this model.  [default: all]")
def command(data: Path | None, store: str | None, out: Path, model: str | None) -> None:
    """Write the log of a service to Parquet files.

    Writes the lists with their feedback, the other entries of the journal, and the catalog as it changed. Servers may
    run meanwhile; the files hold the state of one moment. Nothing is written to the store: it may be on a disk that can
    only be read, or the role of PostgreSQL may have no other right.
    """
    from rankfall.click_logs.exports import EVENTS
    from rankfall.history.export import CATALOG, DECISIONS, OUTCOMES, export

    with closing(open_to_read_at(data, store)) as opened, progress_bar("exporting", None) as step:
        done = export(opened, out, model, step)
    click.echo(f"{out / EVENTS}: {done.lists:,} lists, {done.with_feedback:,} with feedback")
    click.echo(f"{out / DECISIONS}: {done.decisions:,} decisions")
    click.echo(f"{out / OUTCOMES}: {done.outcomes:,} outcomes")
    click.echo(f"{out / CATALOG}: {done.catalog_rows:,} changes of items")
