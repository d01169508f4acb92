"""``--column what=name``: the option of commands that read a file whose columns may have other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
