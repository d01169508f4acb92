"""``rankfall key``: make an API key for the service."""

from __future__ import annotations

import hashlib
import json
import secrets

import click

from rankfall.service.http.api_keys import RIGHTS


@click.command(name="key")
@click.option("--name", required=True, help="Name of whoever will use the key.")
@click.option(
    "--right",
    "rights",
    multiple=True,
    required=True,
    type=click.Choice(RIGHTS),
    help="What the key allows. May be repeated.",
)
@click.option("--model", "models", multiple=True, help="Model that the key is for. May be repeated.  [default: all]")
def command(name: str, rights: tuple[str, ...], models: tuple[str, ...]) -> None:
    """Make an API key for the service.

    The key itself is shown once, on standard error, and stored nowhere. The lines for the file of rankfall serve --keys
    are printed on standard output, so this adds a key: rankfall key --name shop --right rank >> keys.toml
    """
    if not name.isprintable() or not name:
        raise click.UsageError(f"--name must be printable characters, got {name!r}")
    key = secrets.token_urlsafe(32)
    click.echo(f"The key, shown only now (for the header X-API-Key): {key}", err=True)
    click.echo("[[key]]")
    click.echo(f"name = {_toml(name)}")
    click.echo(f'sha256 = "{hashlib.sha256(key.encode()).hexdigest()}"')
    click.echo(f"models = {_toml(list(models) or ['*'])}")
    click.echo(f"rights = {_toml(list(dict.fromkeys(rights)))}")


def _toml(value: str | list[str]) -> str:
    """Printable text, or a list of it: there JSON and TOML agree."""
    return json.dumps(value, ensure_ascii=False)
