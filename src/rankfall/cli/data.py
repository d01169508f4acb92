"""``rankfall data``: list, download and prepare data sets."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from rankfall.cli.column_names import column_option
from rankfall.data import DATASETS, DataSet, Ratings, dataset_called, find, tables
from rankfall.data.download import download
from rankfall.data.preparation import prepare
from rankfall.files import check_folder_of

_COLUMNS = ("user", "item", "rating", "title", "topics")


@click.group(name="data")
def command() -> None:
    """List, download and prepare data sets."""


@command.command("list")
def list_() -> None:
    """List the data sets known by name, and which of them are on this machine."""
    table = Table()
    for heading in ("name", "size", "here"):
        table.add_column(heading, overflow="fold")
    for entry in DATASETS.values():
        table.add_row(entry.name, entry.size, _where(entry))
    console = Console()
    console.print(table)
    console.print("All are for research, not for commercial use; rankfall data info NAME shows the terms of each.")


@command.command()
@click.argument("name")
def info(name: str) -> None:
    """Show size, terms of use and citation of a data set.

    NAME is the name of a data set or a path. Users, items and ratings are counted if the files are on this machine.
    """
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if name in DATASETS:
        entry = dataset_called(name)
        console.print(f"{entry.name}: {entry.size}")
        console.print(f"Here: {_where(entry)}")
        console.print(f"Terms: {entry.terms}")
        console.print(f"Cite: {entry.citation}")
        if entry.path() is None:
            return
    ratings = find(name)
    with Console(stderr=True).status("counting"):
        counts = ratings.counts()
    console.print(f"Counted: {counts.users.height:,} users, {counts.items.height:,} items, {counts.ratings:,} ratings")
    console.print(f"Topics: {', '.join(ratings.topics)}")


@command.command()
@click.argument("name")
def get(name: str) -> None:
    """Download a data set from its publisher.

    NAME is a name from rankfall data list. Prints its terms of use first. A download that was interrupted continues
    where it stopped.
    """
    entry = dataset_called(name)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(f"Terms: {entry.terms}")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None, visible=False)
        path = download(name, progress=lambda n, total: bar.update(task, completed=n, total=total, visible=True))
    console.print(f"{name} is at {path}")
    if name == "movielens-small":
        console.print("Its publisher keeps the newest edition only; the results in our docs are of that of 2016.")


@command.command("prepare")
@click.argument("name_or_path")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write.")
@click.option(
    "--users", type=click.IntRange(2), default=1000, show_default=True, help="Number of most active users to keep."
)
@click.option(
    "--items", type=click.IntRange(1), default=1000, show_default=True, help="Number of most rated items to keep."
)
@click.option("--threshold", type=float, default=5.0, show_default=True, help="Lowest rating that counts as positive.")
@click.option("--topics", type=click.IntRange(1), help="Number of topics with the most items to keep.  [default: all]")
@click.option(
    "--rank", type=click.IntRange(1), default=10, show_default=True, help="Number of relevance features of an item."
)
@click.option("--unit-preferences", is_flag=True, help="Divide each user's beta by its length.")
@click.option("--one-topic", is_flag=True, help="Leave each item only its rarest topic.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed that decides which users are for training.",
)
@click.option(
    "--items-table",
    type=click.Path(path_type=Path),
    help="Table of your own items (.csv, .tsv or .parquet); NAME_OR_PATH is then the table of ratings.",
)
@column_option(_COLUMNS, f"With --items-table: which column holds what ({', '.join(_COLUMNS)}). May be repeated.")
def prepare_(
    name_or_path: str,
    out: Path,
    users: int,
    items: int,
    threshold: float,
    topics: int | None,
    rank: int,
    unit_preferences: bool,
    one_topic: bool,
    seed: int,
    items_table: Path | None,
    columns: tuple[tuple[str, str], ...],
) -> None:
    """Prepare a data set for simulation, as section 4.1 of the paper does.

    NAME_OR_PATH is a name from rankfall data list, a folder or zip file of a data set, or, with --items-table, a table
    of ratings. docs/data.md describes the formats.
    """
    check_folder_of(out)  # before the work, not after it
    with Console(stderr=True).status(f"preparing {name_or_path}"):
        prepared = prepare(
            _ratings(name_or_path, items_table, columns),
            users=users,
            items=items,
            threshold=threshold,
            topics=topics,
            rank=rank,
            unit_preferences=unit_preferences,
            seed=seed,
            one_topic=one_topic,
        )
        prepared.save(out)
    click.echo(prepared.describe())
    click.echo(f"Look at: {out}")


def _ratings(name_or_path: str, items_table: Path | None, columns: tuple[tuple[str, str], ...]) -> Ratings:
    if items_table is not None:
        return tables(name_or_path, items_table, **dict(columns))
    if columns:
        raise click.UsageError("--column needs --items-table")
    return find(name_or_path)


def _where(entry: DataSet) -> str:
    path = entry.path()
    if path is not None:
        return "part of rankfall" if entry.embedded else str(path)
    return f"no; rankfall data get {entry.name}" if entry.origin == "download" else "no; on request from its publisher"
