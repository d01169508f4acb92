"""``rankfall import``: teach a model from a click log."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from rankfall.cli.places import engine_at, place_options, progress


@click.command(name="import")
@click.argument("clicks", type=click.Path(path_type=Path))
@place_options
@click.option("--model", default="default", show_default=True, help="The model to teach.")
def command(clicks: Path, data: Path | None, store: str | None, model: str) -> None:
    """Teach a model from a click log: CLICKS is a Parquet or CSV file with a row for each item shown.

    Columns: list (name of the list), position (1 is the top), item, click (0 or 1); if there are any, user, segment and
    time. The whole file is checked before anything is imported. Importing it again changes nothing; after a crash the
    same command goes on. Servers may run meanwhile, and learn by themselves.
    """
    from rankfall.errors import RankfallError
    from rankfall.history.click_log import read_clicks
    from rankfall.history.importing import import_clicks
    from rankfall.service.items import whole_ids

    with closing(engine_at(data, store)) as engine:
        if engine.catalog is None:
            raise RankfallError("the store has no catalog yet; start rankfall serve with --catalog FILE once")
        engine.model(model)
        lists = read_clicks(clicks, whole_ids=whole_ids(engine.catalog))
        with progress("importing", lists.height) as step:
            done = import_clicks(engine, model, lists, step)
    click.echo(f"{done.lists:,} lists imported into {model!r}, {done.clicked:,} of them clicked.")
    if done.known:
        click.echo(f"{done.known:,} lists were there already.")
    if done.left_out:
        named = "; ".join(f"list {name!r}: item {item!r}" for name, item in done.left_out[:3])
        click.echo(f"{len(done.left_out):,} lists left out, for items that are not in the catalog ({named}).")
