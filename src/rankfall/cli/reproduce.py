"""``rankfall reproduce``: the paper's experiments on a data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rankfall.cli.option_types import PolicyNames
from rankfall.cli.study_options import data_words, own_options, run_options
from rankfall.cli.study_run import run_and_report
from rankfall.experiments import Case
from rankfall.experiments.paper import PAPER, SCALES, SWEEPS, paper_study


@click.command(name="reproduce")
@click.argument("dataset")
@click.option(
    "--sweep",
    type=click.Choice([*SWEEPS, "all"]),
    default="all",
    show_default=True,
    help="Which of the paper's experiments.",
)
@click.option(
    "--scale",
    type=click.Choice(list(SCALES)),
    default="quick",
    show_default=True,
    help="How many users, repeats and steps.",
)
@click.option("--users", type=click.IntRange(1), help="Number of test users.  [default: as the scale says]")
@click.option("--repeats", type=click.IntRange(1), help="Number of runs for each user.  [default: as the scale says]")
@click.option(
    "--steps", type=click.IntRange(1), help="Number of lists shown in each run.  [default: as the scale says]"
)
@click.option(
    "--policies",
    type=PolicyNames(),
    default=",".join(PAPER),
    help="Policies to compare, separated by commas; your own as module:Name.  [default: the five of the paper]",
)
@click.option("--gamma", type=click.FloatRange(0), default=1.0, show_default=True, help="How much policies explore.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--threshold", type=float, default=5.0, show_default=True, help="Lowest rating that counts as positive.")
@click.option("--unit-preferences", is_flag=True, help="Divide each user's beta by its length.")
@click.option("--one-topic", is_flag=True, help="Leave each item only its rarest topic.")
@click.option("--perfect-coverage", is_flag=True, help="Let policies see the topic coverage of the test users.")
@own_options
@run_options
def command(
    dataset: str,
    sweep: str,
    scale: str,
    users: int | None,
    repeats: int | None,
    steps: int | None,
    policies: tuple[str, ...],
    gamma: float,
    seed: int,
    threshold: float,
    unit_preferences: bool,
    one_topic: bool,
    perfect_coverage: bool,
    rows: tuple[Case, ...],
    items_table: Path | None,
    columns: tuple[tuple[str, str], ...],
    out: Path,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
) -> None:
    """Run the paper's experiments on a data set.

    DATASET is a name from rankfall data list, a path, or a file that rankfall data prepare wrote; with --items-table, a
    table of ratings.
    """
    preparation: dict[str, Any] = {} if threshold == 5.0 else {"threshold": threshold}
    if unit_preferences:
        preparation["unit_preferences"] = True
    if one_topic:
        preparation["one_topic"] = True
    words = data_words(dataset, items_table, columns)
    study = paper_study(
        words["dataset"],
        SWEEPS if sweep == "all" else [sweep],
        scale,
        users=users,
        repeats=repeats,
        steps=steps,
        policies=policies,
        gamma=gamma,
        seed=seed,
        preparation=preparation,
        perfect_coverage=perfect_coverage,
    )
    study = replace(study, user={**study.user, **words}, cases=rows)
    run_and_report(study, out, workers=workers, scheduler=scheduler, dry_run=dry_run, paper=True)
