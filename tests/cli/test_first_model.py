"""The catalog that a service begins with, from a table whose columns are named."""

import json
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rankfall import FileError
from rankfall.cli.first_model import beginning, first_model_options


@click.command()
@first_model_options
@click.pass_context
def begin(context: click.Context, **_: Any) -> None:
    """Say what the catalog has."""
    read = beginning(context).read
    assert read is not None
    catalog = read()
    click.echo(f"{catalog.features} {dict(catalog.attributes)}")


def test_columns_become_features_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("id,price,brand,new\na,10,Lego,true\nb,20,,false\n")
    named = ["--features", "price", "--attributes", "brand, new"]
    told = CliRunner().invoke(begin, ["--catalog", str(path), *named])
    expected = "('constant', 'price') {'brand': ('Lego', None), 'new': (True, False)}"
    assert told.output.splitlines()[-1] == expected, told.output
    alone = CliRunner().invoke(begin, ["--catalog", str(path), "--attributes", "brand"])
    assert alone.output.splitlines()[-1] == "() {'brand': ('Lego', None)}", alone.output


@click.command()
@first_model_options
@click.pass_context
def settings(context: click.Context, **_: Any) -> None:
    """Say what the first model begins with."""
    click.echo(json.dumps(beginning(context).settings, sort_keys=True))


MODEL = """
scope = "user"
gamma = 0.3
rewards = { click = 1, purchase = 5 }
rules = [{ kind = "at_most", n = 2, attribute = "brand" }]

[context]
hour = { kind = "hour" }
device = { kind = "category", levels = ["mobile", "desktop"] }

[request_features]
bm25 = { centre = 10, scale = 5 }
"""


def test_settings_of_the_first_model_come_from_a_file(tmp_path: Path) -> None:
    path, other = tmp_path / "model.toml", tmp_path / "model.json"
    path.write_text(MODEL)
    told = CliRunner().invoke(settings, ["--settings", str(path)])
    assert told.exit_code == 0, told.output
    said = json.loads(told.output)
    assert said == tomllib.loads(MODEL)
    other.write_text(told.output)
    assert CliRunner().invoke(settings, ["--settings", str(other)]).output == told.output
    beside = CliRunner().invoke(settings, ["--settings", str(path), "--gamma", "0.7", "--rewards", "click=2"])
    assert json.loads(beside.output) == {**said, "gamma": 0.7, "rewards": {"click": 2.0}}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("model.toml", None, "model.toml does not exist"),
        ("model.toml", "gamma = ", "cannot read settings from"),
        ("model.json", "[1]", "holds no table of settings"),
        ("model.toml", "mood = 1", "model.toml: mood: "),
        ("model.toml", "gamma = 'much'", "model.toml: gamma: "),
        ("model.toml", "context = { hour = { kind = 'moon' } }", "model.toml: context"),
    ],
)
def test_a_file_of_settings_that_makes_no_sense_is_refused(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    told = CliRunner().invoke(settings, ["--settings", str(tmp_path / name)])
    assert isinstance(told.exception, FileError)
    assert message in str(told.exception)
