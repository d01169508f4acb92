"""``rankfall run``: run the studies in TOML files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rankfall.cli.study_options import data_words, own_options, run_options
from rankfall.cli.study_run import run_and_report
from rankfall.errors import ProblemError
from rankfall.experiments import Case, Study
from rankfall.experiments.populations import names_prepared


@click.command(name="run")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--dataset",
    help="Run on this data set instead, prepared as the study says; a file of rankfall data prepare is taken as it is.",
)
@own_options
@run_options
def command(
    files: tuple[Path, ...],
    dataset: str | None,
    rows: tuple[Case, ...],
    items_table: Path | None,
    columns: tuple[tuple[str, str], ...],
    out: Path,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
) -> None:
    """Run the studies in TOML files.

    FILE... are studies, such as those in studies/field, or the study.toml beside earlier results. With several files,
    the results of each go to a folder of its name in --out.
    """
    names = [file.stem for file in files]
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(f"two files are called {name}; their results would share a folder")
    words = data_words(dataset, items_table, columns)
    for file, study in [(file, _changed(Study.read(file), words, rows)) for file in files]:
        folder = out if len(files) == 1 else out / file.stem
        run_and_report(study, folder, workers=workers, scheduler=scheduler, dry_run=dry_run)


def _changed(study: Study, words: Mapping[str, Any], rows: tuple[Case, ...]) -> Study:
    """The study on other data, and with more policies. On other data, it no longer knows what it ran on."""
    if not words and not rows:
        return study
    user, data = {**study.user, **words}, () if words else study.data
    if "dataset" in words and names_prepared(user):
        user.pop("preparation", None)
    return replace(study, user=user, cases=(*study.cases, *rows), data=data)
