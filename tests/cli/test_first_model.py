"""The catalog that a service begins with, from a table whose columns are named."""

from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

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
