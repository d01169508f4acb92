"""``rankfall import``: teach a model from a click log."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from rankfall.cli.first_model import beginning, first_model_options
from rankfall.cli.log_options import click_log_options
from rankfall.cli.progress import progress_bar
from rankfall.cli.store_options import open_engine_at, place_of, store_options


@click.command(name="import")
@click.argument("clicks", type=click.Path(path_type=Path))
@store_options
@click.option("--model", default="default", show_default=True, help="The model to teach.")
@click_log_options
@first_model_options
@click.pass_context
def command(
    context: click.Context,
    /,
    clicks: Path,
    data: Path | None,
    store: str | None,
    model: str,
    columns: tuple[tuple[str, str], ...],
    log_model: str | None,
    **_: Any,
) -> None:
    """Teach a model from a click log.

    CLICKS is a CSV or Parquet file, or a folder of Parquet files, with one row for each item shown and columns list
    (name of the list), position (1 for the top), item and click (0 or 1), and, if there are any, user, segment, time
    and propensity; or a folder that rankfall export wrote. All of it is checked before anything is imported. Importing
    it again changes nothing; after a crash the same command continues. Servers may run meanwhile, and learn from it.
    Where there is no store yet, --catalog makes one, with a first model, as rankfall serve does.
    """
    from rankfall.click_logs import read_click_log
    from rankfall.errors import FileError, RankfallError
    from rankfall.history.importing import import_clicks

    start = beginning(context)
    if start.read is not None:
        from rankfall.service.setup import prepare

        for line in prepare(str(place_of(data, store)), *start):
            click.echo(line)
    try:
        opened = open_engine_at(data, store)
    except FileError as problem:
        raise FileError(f"{problem}; give --catalog FILE to make one") from None
    with closing(opened) as engine:
        if not engine.state.items.there:
            raise RankfallError("the store has no catalog yet; give --catalog FILE")
        engine.state.model(model)
        try:
            whole = bool(engine.state.items.shape.whole_ids)
            log = read_click_log(clicks, columns=dict(columns), model=log_model, whole_ids=whole)
        except FileError as problem:
            raise FileError(f"{problem}. Nothing was imported") from problem
        with progress_bar("importing", log.lists) as step:
            done = import_clicks(engine, model, log, step)
    click.echo(f"{done.lists:,} lists imported into {model!r}, {done.clicked:,} of them clicked.")
    if done.outcomes:
        click.echo(f"{done.outcomes:,} outcomes imported.")
    if done.unpaid:
        kinds = ", ".join(f"{kind} ({count:,})" for kind, count in done.unpaid.items())
        click.echo(f"Outcomes left out because {model!r} has no reward for them: {kinds}.")
    if done.known:
        click.echo(f"{done.known:,} lists had been imported before.")
    if done.left_out:
        named = "; ".join(f"list {name!r}: item {item!r}" for name, item in done.left_out[:3])
        click.echo(
            f"{len(done.left_out):,} lists left out because the catalog does not have one of their items ({named})."
        )
