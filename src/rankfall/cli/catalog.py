"""``rankfall catalog``: build a catalog from a table of items and a click log, and bring a service to it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from rankfall.catalog import Catalog
from rankfall.cli.column_names import column_option
from rankfall.data.catalogs import build_catalog
from rankfall.data.catalogs.columns import KINDS
from rankfall.data.catalogs.coverage import Audience
from rankfall.errors import RankfallError
from rankfall.files import check_folder_of
from rankfall.topic_cells import TOPIC_WEIGHT

_LOG_COLUMNS = ("item", "click", "user", "list")


class ColumnKind(click.ParamType[tuple[str, str]]):
    """``price=log``: take the logarithm of column ``price``."""

    name = "column=kind"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Column and kind."""
        if isinstance(value, tuple):
            return value[0], value[1]
        column, _, kind = str(value).rpartition("=")
        if not column or kind not in KINDS:
            self.fail(f"{value!r} is not of the form column=kind, with kind one of {', '.join(KINDS)}", param, ctx)
        return column, kind


@click.group(name="catalog")
def command() -> None:
    """Build a catalog from your own items and clicks."""


@command.command("build")
@click.option(
    "--items", type=click.Path(path_type=Path), required=True, help="Table of the items: .csv, .tsv or .parquet."
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    help="Click log: .csv, .tsv, .parquet, a folder of Parquet files, or what rankfall export wrote.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The catalog to write.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="HTML page to write: what was done, and a picture.",
)
@click.option("--id", "id_column", default="id", show_default=True, help="Column of ids.")
@click.option("--title", help="Column of titles.  [default: title, if there is one]")
@click.option(
    "--topics",
    help="Column of topics: lists, or names separated by |.  [default: topics, if there is one]",
)
@click.option("--features", help="Columns that become features, separated by commas.  [default: all others]")
@click.option(
    "--attributes",
    help="Columns that become attributes, which rules of lists look at, separated by commas; no features then, unless "
    "--features names them too.",
)
@click.option(
    "--as",
    "kinds",
    type=ColumnKind(),
    multiple=True,
    help=f"What to take a column for: {', '.join(KINDS)}. May be repeated.  [default: by what it holds]",
)
@click.option(
    "--factors",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="With --log: features from who clicked what; 0 for none.",
)
@click.option(
    "--topic-weight",
    type=click.FloatRange(0.001, 1),
    default=TOPIC_WEIGHT,
    show_default=True,
    help="Without --log: how well an item covers each topic it names.",
)
@click.option(
    "--smoothing",
    type=click.FloatRange(0),
    help="With --log: people by which coverage is drawn to what is usual in a topic.  [default: estimated]",
)
@click.option(
    "--audience",
    type=click.Choice(get_args(Audience)),
    default="shown",
    show_default=True,
    help="With --log: of whom coverage is a share, those who were shown the item or everyone.",
)
@column_option(
    _LOG_COLUMNS,
    f"Which column of --log holds what, such as item=product_id ({', '.join(_LOG_COLUMNS)}). May be repeated.",
)
@click.option("--log-model", metavar="NAME", help="For an export of several models: read only the lists of this one.")
def build(
    items: Path,
    log: Path | None,
    out: Path,
    report: Path | None,
    id_column: str,
    title: str | None,
    topics: str | None,
    features: str | None,
    kinds: tuple[tuple[str, str], ...],
    factors: int,
    topic_weight: float,
    smoothing: float | None,
    audience: Audience,
    columns: tuple[tuple[str, str], ...],
    log_model: str | None,
    attributes: str | None,
) -> None:
    """Build a catalog from a table of items and, if there is one, a click log.

    Columns of numbers are scaled, categories become indicators, embeddings become features. The catalog keeps how, so
    that a service takes later items in the units of the table. A click log says how well items cover their topics, and
    gives further features from who clicked what; it may be larger than memory. docs/catalogs.md has the details.
    """
    for path in (out, report):
        if path is not None:
            check_folder_of(path)  # before the work, not after it
    built = build_catalog(
        items,
        log=log,
        id=id_column,
        title=title,
        topics=topics,
        features=None if features is None else _names(features),
        kinds=dict(kinds),
        rank=factors,
        topic_weight=topic_weight,
        smoothing=smoothing,
        audience=audience,
        log_columns=dict(columns),
        log_model=log_model,
        attributes=_names(attributes or ""),
    )
    built.catalog.write_parquet(out)
    click.echo(built.describe())
    if report is not None:
        from rankfall.experiments.report.catalog_page import write_catalog_report

        write_catalog_report(built, report, items=str(items), log=None if log is None else str(log))
        click.echo(f"Report: {report}")
    click.echo(f"Serve it: rankfall serve --catalog {out}")


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


@command.command("sync")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--url", default="http://127.0.0.1:8321", show_default=True, help="Where the service is.")
@click.option(
    "--api-key",
    envvar="RANKFALL_API_KEY",
    help="API key with the right admin; otherwise the environment variable RANKFALL_API_KEY.",
)
@click.option("--keep", is_flag=True, help="Keep items that are not in FILE.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
def sync(file: Path, url: str, api_key: str | None, keep: bool, dry_run: bool) -> None:
    """Bring the catalog of a running service to FILE, which rankfall catalog build wrote.

    Items that are new are added, those that differ are changed, those that are not in FILE are removed. Doing it again
    changes nothing.
    """
    try:
        from rankfall.client import Client
    except ImportError as problem:
        raise RankfallError(
            f"a service is called with the extra: pip install 'rankfall[client]' (missing: {problem.name})"
        ) from None
    from rankfall.cli.catalog_sync import difference, synchronise

    catalog = Catalog.read_parquet(file)
    with Client(url, api_key=api_key, deadline=600.0) as client:
        changes = difference(client, catalog, keep=keep)
        click.echo(changes.describe())
        if dry_run:
            click.echo("Nothing was changed: --dry-run.")
        elif changes:
            synchronise(client, catalog, changes)
            click.echo("Done.")
