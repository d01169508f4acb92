"""What ``rankfall fit`` prints: one model, or all of them side by side."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from rankfall.experiments.evidence import Comparison, Verdict
from rankfall.experiments.evidence.page import answer_table, model_table
from rankfall.experiments.report.tables import Table as Rows
from rankfall.users.fitting import Fitted, FittedHybrid, FittedUser, Perplexity
from rankfall.users.fitting.fitted_table import CONTINUATION


def say_comparison(console: Console, comparison: Comparison, verdict: Verdict | None) -> None:
    """Every model, the answers, and the sentence."""
    console.print(
        f"Fitted on {comparison.train:,} lists, judged by the first click of {comparison.test:,} others, with 95 % "
        f"intervals over {comparison.units}."
    )
    if comparison.left_out:
        console.print(f"{comparison.left_out:,} lists with items that the catalog does not have were left out.")
    console.print(_plain(model_table(comparison)))
    if verdict is not None:
        console.print(_plain(answer_table(verdict)))
        console.print(verdict.sentence, highlight=False)


def _plain(rows: Rows) -> Table:
    table = Table(title=rows.caption, title_justify="left")
    for place, head in enumerate(rows.heads):
        table.add_column(head, justify="right" if place else "left")
    for name, cells in rows.rows:
        table.add_row(name, *(f"{cell.text} ({cell.below})" if cell.below else cell.text for cell in cells))
    return table


def say_fit(console: Console, fitted: FittedUser, judged: Perplexity | None, lists: int) -> None:
    """One model: its parameters, and how well it predicts other lists."""
    table = Table(title=_title(fitted), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, text in _weights(fitted) if isinstance(fitted, FittedHybrid) else _attraction(fitted):
        table.add_row(name, text)
    table.add_row("log-likelihood of a list", f"{fitted.log_likelihood / fitted.lists:.4f}")
    if fitted.iterations:
        how = "EM" if isinstance(fitted, Fitted) else "Newton's method"
        table.add_row(f"steps of {how}", f"{fitted.iterations:,}" + ("" if fitted.converged else " (not converged)"))
    if fitted.ignored:
        table.add_row("clicks after the first, ignored", f"{fitted.ignored:,}")
    if judged is not None:
        table.add_row(f"perplexity on {lists:,} other lists", f"{judged.overall:.4f}")
        if judged.unknown:
            table.add_row("rows there with items it does not know", f"{judged.unknown:.2%}")
    console.print(table)
    _say_positions(console, fitted, judged)


def _title(fitted: FittedUser) -> str:
    name = fitted.model if isinstance(fitted, Fitted) else f"{fitted.attraction}, {fitted.model}"
    return f"{name}, fitted on {fitted.lists:,} lists"


def _attraction(fitted: Fitted) -> list[tuple[str, str]]:
    rows = [("items", f"{len(fitted.items):,}")]
    for name in ("attraction", "satisfaction"):
        by_item = getattr(fitted, name)
        if by_item is not None:
            low, middle, high = np.quantile(by_item, [0.0, 0.5, 1.0])
            rows.append((f"{name}, lowest, median, highest", f"{low:.4f}, {middle:.4f}, {high:.4f}"))
    names = CONTINUATION.get(fitted.model, ())
    values = [] if fitted.continuation is None else fitted.continuation.tolist()
    return rows + [(name.replace("_", " "), f"{value:.4f}") for name, value in zip(names, values, strict=True)]


def _weights(fitted: FittedHybrid) -> list[tuple[str, str]]:
    rows = [("items", f"{len(fitted.catalog):,}"), ("ridge, in views", f"{fitted.ridge:,g}")]
    if fitted.by is not None:
        rows += [(f"{fitted.by}s", f"{len(fitted.groups) - 1:,}"), ("shrinkage, in views", f"{fitted.shrinkage:,g}")]
    if fitted.left_out:
        rows.append(("lists left out, with items not in the catalog", f"{fitted.left_out:,}"))
    if fitted.attraction != "features":
        topics = zip(fitted.catalog.topics, fitted.theta[0], strict=True)
        rows += [(f"weight of {name}", f"{weight:+.4f}") for name, weight in topics]
    features = zip(fitted.catalog.features, fitted.beta[0], strict=True)
    rows += [(f"weight of {name}", f"{weight:+.4f}") for name, weight in features]
    return [*rows, ("constant", f"{fitted.constant[0]:+.4f}")] if fitted.constant[0] else rows


def _say_positions(console: Console, fitted: FittedUser, judged: Perplexity | None) -> None:
    """Examination (with no click above, where that matters) or termination of each position, and perplexity there."""
    name = fitted.by_position
    places = Table(show_header=True)
    for title in ("position", *([name] if name else []), *(["perplexity"] if judged is not None else [])):
        places.add_column(title, justify="right")
    if len(places.columns) == 1:
        return
    for r in range(fitted.positions):
        cells = [str(r + 1)]
        if name:
            cells.append(f"{np.atleast_1d(getattr(fitted, name)[r])[0]:.4f}")
        if judged is not None:
            cells.append(f"{judged.by_position[r]:.4f}" if r < len(judged.by_position) else "")
        places.add_row(*cells)
    console.print(places)
