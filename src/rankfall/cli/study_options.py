"""The options of every command that runs a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rankfall.cli.column_names import column_option
from rankfall.cli.option_types import PolicyRow
from rankfall.data import DATASETS

C = TypeVar("C", bound=Callable[..., Any])
TABLES = ("user", "item", "rating", "title", "topics")


def own_options(command: C) -> C:
    """The options ``--policy``, ``--items-table`` and ``--column``: policies and data of someone's own."""
    for option in reversed(
        (
            click.option(
                "--policy",
                "rows",
                type=PolicyRow(),
                multiple=True,
                help="One more policy, with settings: CascadeHybrid,gamma=0.3 or my_module:MyPolicy. May be repeated.",
            ),
            click.option(
                "--items-table",
                type=click.Path(path_type=Path),
                help="Table of your own items (.csv, .tsv or .parquet); the data set is then the table of ratings.",
            ),
            column_option(
                TABLES, f"With --items-table: which column holds what ({', '.join(TABLES)}). May be repeated."
            ),
        )
    ):
        command = option(command)
    return command


def data_words(dataset: str | None, items_table: Path | None, columns: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The words of users for a data set as it was named on the command line."""
    if columns and items_table is None:
        raise click.UsageError("--column needs --items-table")
    words: dict[str, Any] = {}
    if dataset is not None:
        words["dataset"] = dataset if dataset in DATASETS else str(Path(dataset).resolve())
    if items_table is not None:
        words["items_table"] = str(items_table.resolve())
    if columns:
        words["columns"] = dict(columns)
    return words


def run_options(command: C) -> C:
    """The options ``--out``, ``--workers``, ``--scheduler`` and ``--dry-run``."""
    for option in reversed(
        (
            click.option(
                "--out",
                type=click.Path(path_type=Path, file_okay=False),
                required=True,
                help="Folder for the results. A run that was stopped continues from what is in it.",
            ),
            click.option("--workers", type=click.IntRange(1), help="Number of workers.  [default: one for each core]"),
            click.option("--scheduler", metavar="ADDRESS", help="Run on this Dask cluster (needs rankfall[cluster])."),
            click.option("--dry-run", is_flag=True, help="Only say how much work it is and how long it will take."),
        )
    ):
        command = option(command)
    return command
