"""``rankfall run``: run the studies in TOML files."""

from __future__ import annotations

from pathlib import Path

import click

from rankfall.cli.study_options import run_options
from rankfall.cli.study_run import run_and_report
from rankfall.errors import ProblemError
from rankfall.experiments import Study


@click.command(name="run")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@run_options
def command(files: tuple[Path, ...], out: Path, workers: int | None, scheduler: str | None, dry_run: bool) -> None:
    """Run the studies in TOML files.

    FILE... are studies, such as those in studies/field, or the study.toml beside earlier results. With several files,
    the results of each go to a folder of its name in --out.
    """
    names = [file.stem for file in files]
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(f"two files are called {name}; their results would share a folder")
    for file, study in [(file, Study.read(file)) for file in files]:
        folder = out if len(files) == 1 else out / file.stem
        run_and_report(study, folder, workers=workers, scheduler=scheduler, dry_run=dry_run)
