"""``rankfall tune``: choose gamma for a policy on users fitted to a click log."""

from __future__ import annotations

from pathlib import Path

import click

from rankfall.cli.study_options import run_options

_GAMMAS = "0,0.03,0.1,0.3,1,3"


class Gammas(click.ParamType[tuple[float, ...]]):
    """Numbers from 0 on, separated by commas."""

    name = "numbers"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """The numbers, each once, in ascending order."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = sorted({float(part) for part in str(value).split(",")})
        except ValueError:
            numbers = []
        if len(numbers) < 2 or numbers[0] < 0 or numbers[-1] == float("inf"):
            self.fail(f"{value!r} is not two or more numbers from 0 on, separated by commas", param, ctx)
        return tuple(numbers)


@click.command(name="tune")
@click.argument("fitted", metavar="FITTED", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--catalog",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What the policy knows of the items.  [default: what the users were fitted with]",
)
@click.option(
    "--policy",
    default="CascadeHybrid",
    show_default=True,
    help="The policy to choose gamma for; your own as module:Name.",
)
@click.option("--gammas", type=Gammas(), default=_GAMMAS, show_default=True, help="Values to try.")
@click.option("--k", type=click.IntRange(1), help="Number of positions in a list.  [default: as in the log]")
@click.option("--steps", type=click.IntRange(1), default=10_000, show_default=True, help="Number of lists in each run.")
@click.option("--runs", type=click.IntRange(2), default=20, show_default=True, help="Number of runs with each value.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the coins.")
@run_options
def command(
    fitted: Path,
    catalog: Path | None,
    policy: str,
    gammas: tuple[float, ...],
    k: int | None,
    steps: int,
    runs: int,
    seed: int,
    out: Path,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
) -> None:
    """Choose gamma for a policy on users fitted to a click log.

    Runs a study with an axis of gammas, with a report in --out, and names the gamma with the lowest regret. Each value
    meets the same users with the same coins.

    FITTED is a file that rankfall fit --out wrote. Users or segments that were fitted each get runs in turn.
    """
    import polars as pl

    from rankfall.cli.study_run import run_and_report
    from rankfall.experiments import Study, Sweep
    from rankfall.experiments.tuning import best_value
    from rankfall.policies.registry import look_in
    from rankfall.users.fitting import read_fitted

    look_in(Path.cwd())
    words = {"fitted": str(fitted.absolute())} | ({} if catalog is None else {"catalog": str(catalog.absolute())})
    study = Study(
        f"Gamma for {policy} on {fitted.name}",
        words,
        (policy,),
        sweeps=(Sweep({"settings.gamma": gammas}),),
        k=k or read_fitted(fitted).positions,
        users=runs,
        steps=steps,
        seed=seed,
    )
    run_and_report(study, out, workers=workers, scheduler=scheduler, dry_run=dry_run)
    if not dry_run:
        click.echo(best_value(pl.read_parquet(out / "runs.parquet"), "gamma").sentence)
