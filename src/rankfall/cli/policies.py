"""``rankfall policies``: list the policies."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from rankfall.policies import POLICIES, SERVED


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
    for name, kind in POLICIES.items():
        served = " *" if name in SERVED else ""
        table.add_row(name + served, kind.summary, kind.paper, ", ".join(sorted(kind.needs)) or "-")
    console = Console()
    console.print(table)
    console.print(f"{len(POLICIES)} policies; * can also be served.", highlight=False)
