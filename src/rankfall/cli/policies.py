"""``rankfall policies``: list the policies."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from rankfall.policies import POLICIES, SERVED, settings_of


@click.command(name="policies")
@click.option("--plain", is_flag=True, help="Print only the names, one on each line.")
def command(plain: bool) -> None:
    """List the policies.

    Each can be named in a study; those marked * can also be served.
    """
    if plain:
        click.echo("\n".join(POLICIES))
        return
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("policy", "what it is", "paper", "needs"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "policy")
    for name, policy in POLICIES.items():
        served = " *" if name in SERVED else ""
        needs = sorted(policy.needs | ({"k", "steps"} & settings_of(policy)))
        table.add_row(name + served, policy.summary, policy.paper, ", ".join(needs) or "-")
    console = Console()
    console.print(table)
    console.print(f"{len(POLICIES)} policies; * can also be served.", highlight=False)
