"""The command line. Each command lives in a module of its own, imported when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from rankfall import __version__
from rankfall.errors import RankfallError

COMMANDS = {
    "demo": "Show what is learned from clicks, and what it is worth.",
    "simulate": "Compare policies on a generated catalog.",
    "bench": "Measure how fast policies are, compared with plain NumPy.",
    "catalog": "Build a catalog from your own items and clicks.",
    "data": "List, download and prepare data sets.",
    "reproduce": "Run the paper's experiments on a data set.",
    "run": "Run the studies in TOML files.",
    "policies": "List the policies.",
    "serve": "Serve rankings and learn from feedback.",
    "key": "Make an API key for the service.",
    "compact": "Rewrite a store without a trace of deleted rows.",
    "snapshot": "Make, list, restore and save snapshots of a model.",
    "import": "Teach a model from a click log.",
    "export": "Write the log of a service to Parquet files.",
    "replay": "Let another policy learn from a log.",
    "evaluate": "Estimate what policies are worth from a log.",
    "fit": "Fit click models to a click log.",
    "tune": "Choose gamma for a policy on users fitted to a click log.",
    "compile": "Compile before it is needed.",
}
_MODULES = {"import": "importing"}  # where a command cannot give its module its name


class _Commands(click.Group):
    """Lists every command without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"rankfall.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}; there is: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RankfallError as problem:
            raise click.ClickException(str(problem)) from problem
        except MemoryError as problem:
            raise click.ClickException(f"not enough memory: {problem or 'take a smaller problem'}") from problem
        except OSError as problem:
            if problem.filename is None:
                raise
            raise click.ClickException(f"{problem.filename}: {problem.strerror}") from problem


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rankfall")
def app() -> None:
    """Ranked lists that are relevant and diverse, learned from clicks."""


def main() -> None:
    """Run the command line. Ctrl-C stops it without a traceback."""
    try:
        app(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nStopped.", err=True)
        sys.exit(130)
