"""How fast linear policies are with Thompson sampling, compared with upper confidence bounds in the same run.

    python benchmarks/thompson_vs_ucb.py
    python benchmarks/thompson_vs_ucb.py --data path/to/ml-1m --steps 20000

Times are processor times of this process, so other programs hardly change them.
"""

import time

import click

from rankfall import prepare, simulate
from rankfall.data import find
from rankfall.experiments.bench import measure as bench

PAIRS = (("CascadeHybrid", "CascadeHybridTS"), ("CascadeLinUCB", "CascadeLinTS"), ("CascadeLSB", "CascadeLSBTS"))


@click.command(help=__doc__)
@click.option("--data", help="Data set: a name or a path.  [default: generated]")
@click.option("--steps", type=int, default=10_000, show_default=True, help="Number of steps in each run.")
@click.option("--k", type=int, default=10, show_default=True, help="Number of positions in a list.")
def main(data: str | None, steps: int, k: int) -> None:
    """Measure each pair and print a table."""
    world = bench.World.generated(18, 10) if data is None else bench.World.of(prepare(find(data)))
    click.echo(f"{'policy':>17} {'steps/s':>9} {'us/step':>8} {'items scored':>13} {'time of UCB':>12}")
    for pair in PAIRS:
        first = 0.0
        for name in pair:
            simulate(bench.linear_policy(name, world.catalog), world.user(0), 2, k)  # compile
            policy = bench.linear_policy(name, world.catalog)
            began = time.process_time()
            simulate(policy, world.user(0), steps, k)
            took = time.process_time() - began
            first = first or took
            speed = f"{steps / took:>9,.0f} {1e6 * took / steps:>8.1f}"
            click.echo(f"{name:>17} {speed} {policy.scored / steps:>13.0f} {took / first:>11.2f}x")


if __name__ == "__main__":
    main()
