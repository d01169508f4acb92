"""``rankfall demo``: a first look at what is shown and learned."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="demo")
@click.option("--users", type=click.IntRange(2), default=12, show_default=True, help="Number of users.")
@click.option(
    "--steps", type=click.IntRange(200), default=5000, show_default=True, help="Number of lists shown to each user."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("out/first-look.html"),
    show_default=True,
    help="The page to write.",
)
def command(users: int, steps: int, seed: int, out: Path) -> None:
    """Show what is learned from clicks, and what it is worth.

    Three policies learn from the clicks of simulated users: one ranks by relevance, one by diversity, one by both.
    Takes movielens-small if it is on this machine, and otherwise a generated catalog that looks like it. Prints a table
    and a sentence, and writes a page.
    """
    from rich.console import Console
    from rich.table import Table

    from rankfall.cli.progress import progress_bar
    from rankfall.experiments.first_look import first_look, write_page
    from rankfall.experiments.first_look.look import KINDS
    from rankfall.files import make_folder

    if out.suffix not in (".html", ".htm"):
        raise click.BadParameter(f"{out} is the page to write; its name must end in .html", param_hint="--out")
    make_folder(out.parent)
    with progress_bar("showing lists", len(KINDS) * users * steps + steps) as step:
        look = first_look(users, steps, seed, step)
    write_page(look, out)
    table = Table(title=f"{look.users} users, {look.steps:,} lists each, out of {look.source}")
    for place, heading in enumerate(("ranks by", "clicks lost", "lists clicked", "topics in a list")):
        table.add_column(heading, justify="right" if place else "left")
    for row in look.last.iter_rows(named=True):
        table.add_row(
            KINDS[row["policy"]],
            f"{row['regret']:,.0f} ± {row['regret_error']:,.0f}",
            f"{row['click_rate']:.1%}",
            f"{row['topics']:.1f}",
        )
    console = Console(highlight=False)
    console.print(table)
    console.print(look.sentence)
    console.print(f"Open {out}", soft_wrap=True)
