"""``rankfall compact``: rewrite a store without a trace of deleted rows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from rankfall.cli.store_options import place_of


@click.command(name="compact")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the SQLite store.  [default: rankfall-data]")
def command(data: Path | None) -> None:
    """Rewrite a store without a trace of deleted rows.

    When a user is forgotten, their rows are gone at once. Bytes of their name may still stand in unused parts of the
    file of SQLite, until they are overwritten or the file is compacted. A server may run meanwhile, but cannot write
    until it is done: some seconds for a gigabyte.
    """
    from rankfall.stores import open_store

    with closing(open_store(place_of(data, None), make=False)) as store:
        store.compact()
        left = store.to_scrub
    click.echo(
        "Compacted." if not left else "Compacted; somebody read meanwhile, and the server finishes it when it can."
    )
