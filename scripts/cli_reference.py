"""Write docs/cli.md: every command of ``rankfall`` with its options, as ``--help`` has them.

    python scripts/cli_reference.py

``make docs`` runs it; a test compares the file with what it would write.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from rankfall.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAD = """# Command line

This page is made from the commands themselves by `make docs`; do not edit it. `rankfall COMMAND --help` says the same.
"""


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command and all below it, each with its context."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from commands(found, click.Context(found, info_name=name, parent=context))


def section(command: click.Command, context: click.Context) -> str:
    """What the page says about one command."""
    parts = [f"{'##' if context.parent is None or context.parent.parent is None else '###'} {context.command_path}"]
    parts.append(inspect.cleandoc(command.help or ""))
    parts.append(f"```console\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```")
    if isinstance(command, click.Group):
        names = command.list_commands(context)
        parts.append(table(("command", ""), [(f"`{name}`", summary(command, context, name)) for name in names]))
    records = [option.get_help_record(context) for option in options(command)]
    rows = [(f"`{names}`", words) for names, words in filter(None, records)]
    if rows:
        parts.append(table(("option", ""), rows))
    return "\n\n".join(parts)


def options(command: click.Command) -> list[click.Option]:
    """The options of a command; not ``--help``, which all have."""
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def summary(group: click.Group, context: click.Context, name: str) -> str:
    """One sentence on a command of a group."""
    command = group.get_command(context, name)
    return "" if command is None else first_sentence(command)


def first_sentence(command: click.Command) -> str:
    """The first sentence of a command's help."""
    return " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split()).split(". ")[0].rstrip(".") + "."


def table(heads: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    """Rows as Markdown."""
    lines = [" | ".join(" ".join(cell.replace("|", r"\|").split()) for cell in row) for row in rows]
    return "\n".join(["| " + " | ".join(heads) + " |", "|---|---|", *(f"| {line} |" for line in lines)])


def reference() -> str:
    """The whole page."""
    context = click.Context(app, info_name="rankfall", terminal_width=120)
    return "\n\n".join([HEAD.strip(), *(section(*one) for one in commands(app, context))]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
