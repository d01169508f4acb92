"""Every command is documented: on the page of commands, and by itself, in plain English."""

import re
import runpy
from pathlib import Path

import click
import pytest

from rankfall.cli import COMMANDS, app

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "cli_reference.py"))
FOUND = list(SCRIPT["commands"](app, click.Context(app, info_name="rankfall")))
PATHS = [context.command_path for _, context in FOUND]


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == SCRIPT["reference"](), "docs/cli.md is out of date: make docs"


def test_every_command_is_on_the_page() -> None:
    assert {path.split()[1] for path in PATHS[1:]} == set(COMMANDS)
    assert len(set(PATHS)) == len(PATHS) > len(COMMANDS)


@pytest.mark.parametrize(("command", "context"), FOUND, ids=PATHS)
def test_every_command_and_option_says_what_it_does(command: click.Command, context: click.Context) -> None:
    assert sentence(command.help or ""), command.help
    for option in SCRIPT["options"](command):
        assert sentence(re.sub(r" *\[default: .*\]$", "", option.help or "")), (option.name, option.help)
    for argument in command.params:
        if isinstance(argument, click.Argument):
            assert argument.make_metavar(context).strip("[]") in (command.help or ""), argument.name


def sentence(text: str) -> bool:
    """Whether a text begins and ends as sentences do, and has more than one word."""
    return bool(re.fullmatch(r"[A-Z]\S* .*[.)\w]", text.strip(), flags=re.DOTALL)) and len(text.split()) > 1


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_first(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert SCRIPT["first_sentence"](command) == COMMANDS[name]
