"""Tables that are printed row by row, for what takes a while to measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click


class GrowingTable:
    """A table in Markdown; columns are at least as wide as given, text on the left (a width below 0) or on the right.

    >>> table = GrowingTable("Times", {"policy": -10, "ms": 5})
    <BLANKLINE>
    Times
    <BLANKLINE>
    | policy     |    ms |
    |------------|------:|
    >>> table.add(["LinUCB", "0.5"])
    | LinUCB     |   0.5 |
    """

    def __init__(self, title: str, columns: Mapping[str, int], show: Callable[[str], None] = click.echo) -> None:
        self._show = show
        self._widths = [max(abs(width), len(name)) * (-1 if width < 0 else 1) for name, width in columns.items()]
        show(f"\n{title}\n")
        self.add(list(columns))
        show("".join("|" + "-" * (abs(width) + 1) + ("-" if width < 0 else ":") for width in self._widths) + "|")

    def add(self, cells: Sequence[str]) -> None:
        """Print a row."""
        padded = [
            cell.ljust(-width) if width < 0 else cell.rjust(width)
            for cell, width in zip(cells, self._widths, strict=True)
        ]
        self._show(f"| {' | '.join(padded)} |")
