"""The options of commands that read a log: what its columns are called, and which of its lists are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rankfall.cli.column_names import column_option

C = TypeVar("C", bound=Callable[..., Any])


def click_log_options(command: C) -> C:
    """The options of every command that reads a click log: ``--column`` and ``--log-model``."""
    return click_log_columns(
        click.option(
            "--log-model",
            metavar="NAME",
            help="For an export of several models: read only the lists of this one.  [default: all]",
        )(command)
    )


def one_model_options(command: C) -> C:
    """The options of commands that go through the lists of one model: its name, its items, and ``--column``."""
    model = click.option(
        "--log-model",
        "--model",
        metavar="NAME",
        help="For an export of several models: the one whose lists are read.  [default: the only one]",
    )
    catalog = click.option(
        "--catalog",
        type=click.Path(path_type=Path, dir_okay=False),
        help="For a click log that is not an export: Parquet file of the items, written by Catalog.write_parquet.",
    )
    return model(catalog(click_log_columns(command)))


def click_log_columns(command: C) -> C:
    """The option ``--column`` for a click log."""
    chances = ("propensity", "propensity_given_above", "propensity_at_position")
    allowed = ("list", "position", "item", "click", "user", "segment", "time", *chances, "outcome:")
    words = (
        f"Which column holds what, such as item=product_id or outcome:purchase=bought ({', '.join(allowed[:-1])}, "
        "outcome:TYPE). May be repeated."
    )
    return column_option(allowed, words)(command)
