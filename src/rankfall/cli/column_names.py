"""The options of commands that read a log: ``--column what=name``, and which of its lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])


class ColumnName(click.ParamType[tuple[str, str]]):
    """``item=product_id``: column ``product_id`` holds the items."""

    name = "what=name"

    def __init__(self, allowed: Sequence[str]) -> None:
        """What ends with a colon may be followed by anything."""
        self._allowed = tuple(allowed)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The two names."""
        if isinstance(value, tuple):
            return value[0], value[1]
        what, _, column = str(value).partition("=")
        begins = any(one.endswith(":") and what.startswith(one) and what != one for one in self._allowed)
        if not (what in self._allowed or begins) or not column:
            allowed = ", ".join(self._allowed)
            self.fail(f"{value!r} is not of the form what=name, with what one of {allowed}", param, ctx)
        return what, column


def column_option(allowed: Sequence[str], help: str) -> Callable[[C], C]:  # noqa: A002
    """The option, for a command that takes a file with these columns."""
    return click.option("--column", "columns", type=ColumnName(allowed), multiple=True, help=help)


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
