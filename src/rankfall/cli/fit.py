"""``rankfall fit``: fit click models to a click log, one of them or all side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankfall.cli.click_model_names import SHORT, ClickModelName
from rankfall.cli.log_options import click_log_options

if TYPE_CHECKING:
    from rankfall.click_logs import ClickLog
    from rankfall.users.fitting import FittedUser

_WITH_FEATURES = ("cascade", "examined_cascade", "position_based")
_ATTRACTIONS = ("item", "features", "topics", "hybrid")


@click.command(name="fit")
@click.argument("clicks", metavar="CLICKS", type=click.Path(path_type=Path))
@click.option(
    "--model",
    type=ClickModelName(),
    help=f"The click model to fit; {', '.join(SHORT)} are short for those above.  [default: compare all]",
)
@click.option(
    "--attraction",
    type=click.Choice(_ATTRACTIONS),
    default="item",
    show_default=True,
    help="With --model: a number for each item; or linear in features, in features and topics, or in features and the "
    "coverage that an item adds to the items above it (hybrid).",
)
@click.option(
    "--catalog",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Topics and features of the items, a file of Catalog.write_parquet; needed unless attraction is by item.",
)
@click.option(
    "--by", type=click.Choice(["user", "segment"]), help="Fit each user or segment too, held to the weights of all."
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the lists kept aside to judge models by; 0 for none.",
)
@click.option(
    "--prior",
    type=click.FloatRange(0),
    help="Views added to each item, clicked as often as the average item: steadies items that were seldom shown.  "
    "[default: 0; in a comparison cross-validated]",
)
@click.option(
    "--ridge",
    type=click.FloatRange(0),
    help="Views by which weights of features and topics are held to 0.  [default: cross-validated]",
)
@click.option(
    "--reference",
    default="constant",
    show_default=True,
    help="In a comparison, the model others are compared with, such as 'item, cascade'; constant is a click rate for "
    "each position.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed that decides which lists are kept aside."
)
@click_log_options
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    help="In a comparison, write the page of evidence to this folder.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the model to this Parquet file; of a comparison, the one that predicts best.",
)
def command(
    clicks: Path,
    model: str | None,
    attraction: str,
    catalog: Path | None,
    by: str | None,
    held_out: float,
    prior: float | None,
    ridge: float | None,
    reference: str,
    seed: int,
    columns: tuple[tuple[str, str], ...],
    log_model: str | None,
    report: Path | None,
    out: Path | None,
) -> None:
    """Fit click models to a click log.

    Without --model all of them are compared, on lists they were not fitted on; with --catalog the comparison says
    whether topics and diversity matter in this log. With --model one of them is fitted.

    CLICKS is a CSV or Parquet file, or a folder of Parquet files, with one row for each item shown and columns list,
    position (1 for the top), item and click (0 or 1), perhaps user and segment; or a folder that rankfall export wrote.
    """
    from rich.console import Console

    from rankfall.catalog import Catalog
    from rankfall.cli.fit_tables import say_comparison, say_fit
    from rankfall.files import check_folder_of, make_folder
    from rankfall.users.fitting import read_log

    _check(model, attraction, catalog, by, held_out, report)
    _check_used(click.get_current_context(), model, attraction, catalog)
    if out is not None:
        check_folder_of(out)  # before the work, not after it
    if report is not None:
        make_folder(report)
    items = None if catalog is None else Catalog.read_parquet(catalog)
    log = read_log(clicks, columns=dict(columns), model=log_model, with_context=model is None or by is not None)
    if model is None:
        from rankfall.experiments.evidence import compare, verdict, write_page

        with Console(stderr=True).status("fitting") as status:
            found = compare(
                log,
                items,
                by=by,  # type: ignore[arg-type]
                held_out=held_out,
                reference=reference,
                prior=prior,
                ridge=ridge,
                seed=seed,
                watch=lambda name: status.update(f"fitting {name}"),
            )
        said = None if items is None or not items.n_topics else verdict(found)
        say_comparison(Console(), found, said)
        fitted = found.rows[0].fitted
        for path in [] if report is None else write_page(found, report, said)[:1]:
            click.echo(f"Look at {path}.")
    else:
        train, test = log.split(held_out, seed) if held_out else (log, None)
        fitted = _fit(train, model, attraction, items, by, prior or 0.0, ridge, seed)
        say_fit(Console(), fitted, None if test is None else fitted.perplexity(test), 0 if test is None else test.lists)
    if out is not None:
        fitted.write_parquet(out)
        click.echo(f"Wrote {out}.")


def _fit(
    log: ClickLog,
    model: str,
    attraction: str,
    catalog: object,
    by: str | None,
    prior: float,
    ridge: float | None,
    seed: int,
) -> FittedUser:
    from rankfall.users.fitting import FITS, fit_hybrid

    if attraction == "item":
        return FITS[model](log, prior=prior)  # type: ignore[index]
    return fit_hybrid(log, catalog, model=model, attraction=attraction, by=by, ridge=ridge, seed=seed)  # type: ignore[arg-type]


def _check(
    model: str | None, attraction: str, catalog: Path | None, by: str | None, held_out: float, report: Path | None
) -> None:
    """Refuse options that make no sense together."""
    features = attraction != "item"
    if features and model is None:
        raise click.UsageError("--attraction says what to fit with --model; without it all are compared")
    if features and catalog is None:
        raise click.UsageError(f"--attraction {attraction} needs --catalog, with the topics and features of the items")
    if features and model not in _WITH_FEATURES:
        raise click.UsageError(
            f"--model {model} is fitted by item only; choose another attraction, or one of {', '.join(_WITH_FEATURES)}"
        )
    if catalog is not None and model is not None and not features:
        raise click.UsageError("--catalog is not used for attraction by item; say --attraction hybrid, or leave it out")
    if by is not None and catalog is None:
        raise click.UsageError("--by needs --catalog: only weights of features and topics are fitted for each")
    if model is None and not held_out:
        raise click.UsageError("a comparison needs lists to judge by; --held-out must be above 0")
    if report is not None and model is not None:
        raise click.UsageError("--report is for a comparison; leave out --model")


def _check_used(context: click.Context, model: str | None, attraction: str, catalog: Path | None) -> None:
    """Refuse options that were given and would not be used."""
    linear = attraction != "item" or (model is None and catalog is not None)
    needed = "--catalog" if model is None else "--attraction and --catalog"
    for name, used, why in (
        ("prior", attraction == "item", "is for attraction by item; leave it out, or give --ridge"),
        ("ridge", linear, f"is for weights of features and topics; give {needed}"),
        ("reference", model is None, "is for a comparison; leave out --model"),
    ):
        if not used and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} {why}")
