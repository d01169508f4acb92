"""Microseconds a step and milliseconds a list of two checkouts, in turns.

    git worktree add ../rankfall-before COMMIT
    python benchmarks/steps_before.py ../rankfall-before --data ../ml-1m

Each checkout runs in a process of its own with the packages of this interpreter, and both do the same: the policies of
the paper meet three users for 100 to 50,000 steps, and one ranks items alone. In each turn both processes do one
of these, one after the other; the lowest of all turns counts.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np

POLICIES = ("CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")
STEPS = (100, 1_000, 10_000, 50_000)
SIZES = (1_000, 100_000)
WORKER = """
import sys, time
import numpy as np
import rankfall

with np.load(sys.argv[1]) as kept:
    world = dict(kept)
catalog = rankfall.Catalog(world["coverage"], world["relevance"])
users = [
    rankfall.CascadeUser(world["user_coverage"], world["relevance"], theta, beta, 0.5)
    for theta, beta in zip(world["theta"], world["beta"])
]

def steps(name, count):
    seconds = 0.0
    for seed, user in enumerate(users):
        policy = getattr(rankfall, name)(catalog)
        began = time.thread_time()
        rankfall.simulate(policy, user, count, 10, seed=seed)
        seconds += time.thread_time() - began
    return 1e6 * seconds / (len(users) * count)

def lists(size):
    source = np.arange(size) % len(catalog)
    policy = rankfall.CascadeHybrid(rankfall.Catalog(world["coverage"][source], world["relevance"][source]))
    took = []
    for n in range(30):
        began = time.thread_time()
        ranking = policy.rank(10, exclude=[n])
        took.append(time.thread_time() - began)
        policy.update(ranking, n % 10)
    return 1e3 * min(took[5:])

for line in sys.stdin:
    what, number = line.split()
    print(lists(int(number)) if what == "lists" else steps(what, int(number)), flush=True)
"""


@contextmanager
def worker(checkout: Path, world: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that measures a checkout, a line for each line it gets."""
    one_core = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    environment = {**os.environ, **one_core, "PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, "-c", WORKER, str(world)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def measured(process: "subprocess.Popen[str]", what: str) -> float:
    """What a process says to this."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(what, file=process.stdin, flush=True)
    return float(process.stdout.readline())


@click.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.option("--data", default="movielens-small", show_default=True, help="A data set by name, or a folder or zip.")
@click.option("--turns", default=5, show_default=True)
def main(before: Path, data: str, turns: int) -> None:
    """Print a table, a row for each thing measured."""
    from rankfall import prepare
    from rankfall.data import find

    prepared = prepare(find(data))
    tasks = [f"{policy} {count}" for policy in POLICIES for count in STEPS] + [f"lists {size}" for size in SIZES]
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world.npz"
        some = slice(0, 111, 37)
        shared = {name: getattr(prepared, name) for name in ("coverage", "user_coverage", "relevance")}
        np.savez(world, **shared, theta=prepared.theta[some], beta=prepared.beta[some])
        here = Path(__file__).parents[1]
        with worker(before, world) as old, worker(here, world) as new:
            for task in tasks:  # compiled, and read from the disk
                measured(old, task.split()[0] + (" 1000" if task.startswith("lists") else " 20"))
                measured(new, task.split()[0] + (" 1000" if task.startswith("lists") else " 20"))
            click.echo("| | before | now | now / before |\n|---|---:|---:|---:|")
            for task in tasks:
                found = np.array([[measured(process, task) for process in (old, new)] for _ in range(turns)])
                was, now = found.min(axis=0)
                what, number = task.split()
                words = f"{int(number):,} items, ms a list" if what == "lists" else f"{what}, {int(number):,} steps, us"
                click.echo(f"| {words} | {was:.3g} | {now:.3g} | {now / was:.2f} |")


if __name__ == "__main__":
    main()
