"""``rankfall run``: a study of your own."""

from __future__ import annotations

from pathlib import Path

import click

from rankfall.cli.experiment import conduct, run_options
from rankfall.studies import Study


@click.command(name="run", help="Run the study in a file, such as the study.toml beside earlier results.")
@click.argument("study", type=click.Path(path_type=Path, dir_okay=False))
@run_options
def command(study: Path, out: Path, workers: int | None, scheduler: str | None, dry_run: bool) -> None:
    """Read the study and run it."""
    conduct(Study.read(study), out, workers=workers, scheduler=scheduler, dry_run=dry_run)
