"""How much regret each gamma costs, over data sets, tradeoffs and lengths: what to take without tuning.

    python benchmarks/gamma_defaults.py
    python benchmarks/gamma_defaults.py --movielens-1m path/to/ml-1m

Each number is the regret of a gamma divided by that of the best gamma for the same data set, tradeoff and number of
lists, the mean over tradeoffs: 1.00 is the best choice with hindsight. The last rows are over all data sets.
"""

import tempfile
from pathlib import Path

import click
import polars as pl

from rankfall.experiments import Study, Sweep, plan, run_study

GAMMAS = (0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
TRADEOFFS = (0.2, 0.5, 0.8)
WORLDS = {
    "movielens-small, positive from 5": {"dataset": "movielens-small"},
    "movielens-small, positive from 4": {"dataset": "movielens-small", "preparation": {"threshold": 4.0}},
    "generated, 200 items, 10 topics": {"generate": {"items": 200, "topics": 10, "features": 5}},
    "generated, 1,000 items, 18 topics": {"generate": {"items": 1000, "topics": 18, "features": 10, "seed": 1}},
    "generated, rare clicks": {"generate": {"items": 1000, "topics": 10, "features": 5, "appeal": 0.05, "seed": 2}},
}


def study_of(user: dict[str, object], policy: str, users: int, steps: int) -> Study:
    """One policy with every gamma at every tradeoff."""
    sweep = Sweep({"settings.gamma": GAMMAS, "user.tradeoff": TRADEOFFS}, "gamma")
    return Study("gamma", user, (policy,), sweeps=(sweep,), users=users, steps=steps, checkpoints=100)


def costs(runs: pl.DataFrame, step: int) -> dict[float, float]:
    """For each gamma its regret at a step, as a multiple of the best one's; the mean over tradeoffs."""
    means = runs.filter(pl.col("step") == step).group_by("gamma", "tradeoff").agg(pl.col("regret").mean())
    least = means.group_by("tradeoff").agg(pl.col("regret").min().alias("least"))
    shares = means.join(least, on="tradeoff").group_by("gamma").agg((pl.col("regret") / pl.col("least")).mean())
    return dict(shares.iter_rows())


@click.command(help=__doc__)
@click.option("--movielens-1m", "large", type=click.Path(exists=True), help="Folder or zip of MovieLens 1M.")
@click.option("--policies", default="CascadeHybrid,CascadeLinUCB,CascadeLSB,CascadeHybridTS", show_default=True)
@click.option("--users", default=10, show_default=True, help="Number of users of each data set.")
@click.option("--steps", default=10_000, show_default=True, help="Number of lists; the first tenth is shown apart.")
def main(large: str | None, policies: str, users: int, steps: int) -> None:
    """Print a table for each policy."""
    worlds = dict(WORLDS)
    if large is not None:
        for threshold in (5, 4):
            words = {"dataset": str(Path(large).resolve()), "preparation": {"threshold": float(threshold)}}
            worlds[f"MovieLens 1M, positive from {threshold}"] = words
    for policy in policies.split(","):
        click.echo(f"\n| {policy} | lists | " + " | ".join(f"{gamma:g}" for gamma in GAMMAS) + " |")
        click.echo("|---|---|" + "---|" * len(GAMMAS))
        found = []
        for name, user in worlds.items():
            with tempfile.TemporaryDirectory() as out:
                runs = run_study(plan(study_of(user, policy, users, steps)), out)
            for step in (steps // 10, steps):
                found.append(costs(runs, step))
                click.echo(f"| {name} | {step:,} | " + " | ".join(f"{found[-1][gamma]:.2f}" for gamma in GAMMAS) + " |")
        mean = {gamma: sum(row[gamma] for row in found) / len(found) for gamma in GAMMAS}
        worst = {gamma: max(row[gamma] for row in found) for gamma in GAMMAS}
        for name, row in (("mean", mean), ("worst", worst)):
            click.echo(f"| **{name}** | | " + " | ".join(f"{row[gamma]:.2f}" for gamma in GAMMAS) + " |")


if __name__ == "__main__":
    main()
