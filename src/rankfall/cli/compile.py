"""``rankfall compile``: compile before it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import click

from rankfall.errors import ProblemError
from rankfall.policies import POLICIES, SERVED, make_policy
from rankfall.policies.forgetting import Discount, Window
from rankfall.policies.trial_use import a_few_items, try_out


@click.command(name="compile")
@click.option(
    "--for",
    "jobs",
    type=click.Choice(["serve", "simulate"]),
    multiple=True,
    help="What it is compiled for. May be repeated.  [default: both]",
)
def command(jobs: tuple[str, ...]) -> None:
    """Compile before it is needed.

    Compiles what ranking, serving and simulating use, and keeps it for later processes. Run it when an image is built,
    or after an installation. What is compiled already is not compiled again.
    """
    from rankfall.kernels.jit import count_compiled
    from rankfall.kernels.kept_code import written_to

    tasks: dict[str, Callable[[], None]] = {"serve": _serve, "simulate": _simulate}
    for job in dict.fromkeys(jobs or tasks):
        began, before = time.perf_counter(), count_compiled()
        tasks[job]()
        new = count_compiled() - before
        click.echo(f"{job}: {new} kernels compiled in {time.perf_counter() - began:.1f} s")
    folder = written_to()
    click.echo("There is no place to keep them." if folder is None else f"Kept in {folder}")


def _serve() -> None:
    """Every policy that can be served, with every forgetting it can have."""
    catalog = a_few_items()
    for policy in SERVED.values():
        for forgetting in (None, Discount(0.9), Window(1)):
            with suppress(ProblemError):  # not every policy can forget, and some must
                try_out(policy.serve(catalog, forgetting=forgetting))


def _simulate() -> None:
    """Every policy with the user of the paper."""
    from rankfall.experiments.simulation import simulate
    from rankfall.users import CascadeUser

    catalog = a_few_items()
    user = CascadeUser(catalog.coverage, catalog.relevance, [0.5, 0.3, 0.1], [0.1, 0.1], 0.5)
    for name in POLICIES:
        policy = make_policy(name, catalog, k=2, steps=30)
        simulate(policy, user, 30, 2)
