"""``rankfall fit``: fit a click model to a click log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankfall.cli.column_names import click_log_options

if TYPE_CHECKING:
    from rich.console import Console

    from rankfall.users.fitting import Fitted, Perplexity


@click.command(name="fit")
@click.argument("clicks", metavar="CLICKS", type=click.Path(path_type=Path))
@click.option(
    "--model",
    required=True,
    type=click.Choice(["cascade", "dependent_click", "position_based"]),
    help="The click model to fit.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the lists kept aside to judge the model by; 0 for none.",
)
@click.option(
    "--prior",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Views added to each item, clicked as often as the average item: steadies items that were seldom shown.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed that decides which lists are kept aside."
)
@click_log_options
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the model to this Parquet file.")
def command(
    clicks: Path,
    model: str,
    held_out: float,
    prior: float,
    seed: int,
    columns: tuple[tuple[str, str], ...],
    log_model: str | None,
    out: Path | None,
) -> None:
    """Fit a click model to a click log.

    Also prints how well the model predicts clicks on lists it was not fitted on.

    CLICKS is a CSV or Parquet file, or a folder of Parquet files, with one row for each item shown and columns list,
    position (1 for the top), item and click (0 or 1); or a folder that rankfall export wrote.
    """
    from rich.console import Console

    from rankfall.users.fitting import FITS, read_log

    log = read_log(clicks, columns=dict(columns), model=log_model)
    train, test = log.split(held_out, seed) if held_out else (log, None)
    fitted = FITS[model](train, prior=prior)  # type: ignore[index]
    _say(Console(), fitted, None if test is None else fitted.perplexity(test), 0 if test is None else test.lists)
    if out is not None:
        fitted.write_parquet(out)
        click.echo(f"Wrote {out}.")


def _say(console: Console, fitted: Fitted, judged: Perplexity | None, lists: int) -> None:
    import numpy as np
    from rich.table import Table

    table = Table(title=f"{fitted.model}, fitted on {fitted.lists:,} lists", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("items", f"{len(fitted.items):,}")
    low, middle, high = np.quantile(fitted.attraction, [0.0, 0.5, 1.0])
    table.add_row("attraction, lowest, median, highest", f"{low:.4f}, {middle:.4f}, {high:.4f}")
    table.add_row("log-likelihood of a list", f"{fitted.log_likelihood / fitted.lists:.4f}")
    if fitted.iterations:
        table.add_row("steps of EM", f"{fitted.iterations:,}" + ("" if fitted.converged else " (not converged)"))
    if fitted.ignored:
        table.add_row("clicks after the first, ignored", f"{fitted.ignored:,}")
    if judged is not None:
        table.add_row(f"perplexity on {lists:,} other lists", f"{judged.overall:.4f}")
        if judged.unknown:
            table.add_row("rows there with items it does not know", f"{judged.unknown:.2%}")
    console.print(table)
    name = fitted.by_position
    places = Table(show_header=True)
    for title in ("position", *([name] if name else []), *(["perplexity"] if judged is not None else [])):
        places.add_column(title, justify="right")
    if len(places.columns) == 1:
        return
    for r in range(fitted.positions):
        cells = [str(r + 1)]
        if name:
            cells.append(f"{getattr(fitted, name)[r]:.4f}")
        if judged is not None:
            cells.append(f"{judged.by_position[r]:.4f}" if r < len(judged.by_position) else "")
        places.add_row(*cells)
    console.print(places)
