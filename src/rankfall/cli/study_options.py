"""The options of every command that runs a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])


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
