"""``rankfall reproduce``: the paper's experiments on a data set."""

from __future__ import annotations

from pathlib import Path

import click

from rankfall.cli.option_types import PolicyNames
from rankfall.cli.study_options import run_options
from rankfall.cli.study_run import run_and_report
from rankfall.data import DATASETS
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
@click.option("--unit-preferences", is_flag=True, help="Divide each user's beta by its length.")
@click.option("--perfect-coverage", is_flag=True, help="Let policies see the topic coverage of the test users.")
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
    unit_preferences: bool,
    perfect_coverage: bool,
    out: Path,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
) -> None:
    """Run the paper's experiments on a data set.

    DATASET is a name from rankfall data list, or a path.
    """
    study = paper_study(
        dataset if dataset in DATASETS else str(Path(dataset).resolve()),
        SWEEPS if sweep == "all" else [sweep],
        scale,
        users=users,
        repeats=repeats,
        steps=steps,
        policies=policies,
        gamma=gamma,
        seed=seed,
        preparation={"unit_preferences": True} if unit_preferences else None,
        perfect_coverage=perfect_coverage,
    )
    run_and_report(study, out, workers=workers, scheduler=scheduler, dry_run=dry_run, paper=True)
