"""The page of evidence: a sentence, the questions it answers, every model, and a figure."""

from __future__ import annotations

import base64
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankfall.experiments import figures
from rankfall.experiments.evidence.comparison import Comparison, Gain
from rankfall.experiments.evidence.verdict import Says, Verdict, likelier
from rankfall.experiments.report.numbers import fixed, known
from rankfall.experiments.report.page import template
from rankfall.experiments.report.tables import Cell, Table
from rankfall.files import make_folder, replacing

_COLOURS = {"hybrid": "#D55E00", "topics": "#0072B2", "features": "#009E73", "item": "#CC79A7", "constant": "#000000"}
SAYS: dict[Says, str] = {"yes": "yes", "no": "no", "open": "cannot be told"}


def write_page(comparison: Comparison, out: str | Path, verdict: Verdict | None = None) -> list[Path]:
    """Write ``evidence.html``, ``evidence.csv`` and the figure into a folder; the page is the first of them."""
    folder = Path(out)
    make_folder(folder)
    drawn = figures.save(figure(comparison), folder / "evidence", ("png", "svg"))
    page = template("evidence.html", "rankfall.experiments.evidence").render(
        comparison=comparison,
        verdict=verdict,
        answers=None if verdict is None else answer_table(verdict),
        models=model_table(comparison),
        svg=base64.b64encode((folder / "evidence.svg").read_bytes()).decode(),
    )
    texts = {"evidence.html": page, "evidence.csv": comparison.frame().write_csv()}
    for name, text in texts.items():
        with replacing(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    return [*(folder / name for name in texts), *drawn]


def answer_table(verdict: Verdict) -> Table:
    """Each question with its answer."""
    rows = tuple(
        (each.question, (Cell(SAYS[each.says]), gain_cell(each.gain), Cell(likelier(each.gain))))
        for each in verdict.answers
    )
    return Table("Questions", ("question", "answer", "log-likelihood of a list", "more likely by"), rows)


def model_table(comparison: Comparison) -> Table:
    """Each model, the most likely first."""
    rows = tuple(
        (
            row.name + (" (reference)" if row.name == comparison.reference else ""),
            (
                Cell(fixed(float(row.likelihoods.mean()), 4)),
                Cell("") if row.name == comparison.reference else gain_cell(row.gain),
                Cell(fixed(row.perplexity, 4)),
            ),
        )
        for row in comparison.rows
    )
    heads = ("model", "log-likelihood of a list", f"more than {comparison.reference}", "perplexity")
    return Table("Models", heads, rows)


def gain_cell(gain: Gain) -> Cell:
    """The difference, its interval below it; bold where it does not hold 0."""
    if not known(gain.low):
        return Cell(fixed(gain.mean, 4))
    return Cell(
        fixed(gain.mean, 4), "", f"{fixed(gain.low, 4)} to {fixed(gain.high, 4)}", gain.low > 0 or gain.high < 0
    )


def figure(comparison: Comparison) -> Figure:
    """How much more likely than the reference each model finds a list, with its interval."""
    rows = comparison.rows
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6}):
        drawn = Figure(figsize=(7.6, 1.0 + 0.24 * len(rows)), layout="constrained")
        axes = drawn.subplots()
        for place, row in enumerate(rows):
            half = row.gain.high - row.gain.mean
            colour = _COLOURS[row.attraction]
            bar = half if known(half) else None
            axes.errorbar(row.gain.mean, place, xerr=bar, fmt="o", color=colour, markersize=4, linewidth=1.2)
        axes.axvline(0.0, color="0.5", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=7)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set(xlabel=f"log-likelihood of a list, more than {comparison.reference}; 95 % interval")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    return drawn
