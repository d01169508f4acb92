"""``rankfall run``: a study of your own."""

from __future__ import annotations

from pathlib import Path

import click

from rankfall.cli.experiment import conduct, run_options
from rankfall.cli.field import conduct_field
from rankfall.experiments import Study
from rankfall.experiments.field import FieldStudy, is_field


@click.command(name="run")
@click.argument("study", type=click.Path(path_type=Path, dir_okay=False))
@run_options
def command(study: Path, out: Path, workers: int | None, scheduler: str | None, dry_run: bool) -> None:
    """Run the study in a file.

    STUDY is a TOML file: on a data set, such as the study.toml beside earlier results, or on simulated users of any
    kind, such as the files in studies/field.
    """
    if is_field(study):
        conduct_field(FieldStudy.read(study), out, workers=workers, scheduler=scheduler, dry_run=dry_run)
        return
    conduct(Study.read(study), out, workers=workers, scheduler=scheduler, dry_run=dry_run)
