"""The files of a report: page, figure, tables."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import polars as pl
from markupsafe import Markup

from rankfall.experiments import figures
from rankfall.experiments.folder import Folder
from rankfall.experiments.plan import Plan
from rankfall.experiments.report import about, numbers, tables
from rankfall.experiments.report.conclusion import Remark, conclusion
from rankfall.experiments.report.panels import AxisName, panels_of
from rankfall.experiments.statistics import checked, differences, final, means
from rankfall.files import make_folder, replacing


@dataclass(frozen=True)
class Section:
    """A further section of the page, before all others.

    Attributes
    ----------
    title : its heading.
    body, style : HTML and CSS that are safe as they stand.
    files : texts to write beside the page, by name.
    """

    title: str
    body: Markup
    style: Markup
    files: Mapping[str, str]


class Curves(NamedTuple):
    """What the figure draws instead of regret over steps: like means, with ``step`` in lists of what ``along`` says."""

    means: pl.DataFrame
    along: str


class Written(NamedTuple):
    """What a report says in one sentence, its page, and all files that were written."""

    conclusion: str
    page: Path
    files: list[Path]


def write_report(
    folder: Folder,
    runs: pl.DataFrame,
    *,
    sections: Sequence[Section] = (),
    axes: Mapping[str, AxisName] | None = None,
    named: Mapping[str, str] | None = None,
    remark: Remark | None = None,
    curves: Curves | None = None,
) -> Written:
    """Write ``report.html``, figures and tables into the folder of a study; the same runs give the same bytes.

    Parameters
    ----------
    runs : what :func:`rankfall.experiments.run_study` gives, in any order.
    sections : further ones, with the files that go with them.
    axes : what to call axes, by path.
    named, remark : for the conclusion, see :func:`rankfall.experiments.report.conclusion.conclusion`.
    curves : what to draw instead of regret over steps.
    """
    plan, out, runs = folder.plan, folder.path, checked(runs)
    make_folder(out)
    averages, apart = means(runs), differences(plan, runs)
    curves = curves or Curves(averages, "step")
    drawn = _figure(plan, averages, axes or {}, curves)
    written = figures.save(drawn, out / "figure", ("png", "svg", "pdf"))
    svg = (out / "figure.svg").read_bytes()
    texts = {
        "summary.csv": final(averages).write_csv(),
        "differences.csv": pl.DataFrame([vars(each) for each in apart]).write_csv(),
        **{name: text for section in sections for name, text in section.files.items()},
    }
    context = _context(folder, runs, averages, sections, svg)
    context["conclusion"] = said = conclusion(plan, averages, named=named, remark=remark)
    context["along"] = "steps" if curves.along == "step" else curves.along
    context["differences"] = tables.difference_tables(plan, apart)
    if not plan.study.sweeps:
        texts["table.md"] = template("table.md").render(context)
    texts["report.html"] = template("report.html").render(context)
    return Written(said, out / "report.html", [*written, *(_write(out / name, text) for name, text in texts.items())])


_PACKAGE = "rankfall.experiments.report"


@cache
def _environment(package: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (package, _PACKAGE)]),
        autoescape=lambda name: name is None or name.endswith(".html"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["short"] = numbers.short
    return environment


def template(name: str, package: str = _PACKAGE) -> jinja2.Template:
    """A template of a package; what it prints is escaped if it is HTML."""
    return _environment(package).get_template(name)


def _figure(plan: Plan, averages: pl.DataFrame, axes: Mapping[str, AxisName], curves: Curves) -> Any:
    labels = [case.label for case in plan.study.all_cases]
    if plan.study.sweeps:
        return figures.sweeps_figure(averages, panels_of(plan, axes), labels, _over(plan, averages), *curves)
    published = {
        case.label: case.published.value
        for case in plan.study.all_cases
        if case.published is not None and case.published.what == "regret"
    }
    order = pl.DataFrame({"case": labels}).with_row_index("order")
    return figures.cases_figure(
        averages.join(order, on="case").sort("order", "step").drop("order"), published, _over(plan, averages), *curves
    )


def _over(plan: Plan, averages: pl.DataFrame) -> str:
    """Over what means and errors are taken: 12 users, or 20 repeats of one user."""
    units = numbers.span(averages["units"])
    one = max(setup.users for setup in plan.setups) == 1
    return f"{units} repeats of one user" if one else f"{units} users"


def _context(
    folder: Folder, runs: pl.DataFrame, averages: pl.DataFrame, sections: Sequence[Section], svg: bytes
) -> dict[str, Any]:
    plan, study, last = folder.plan, folder.plan.study, final(averages)
    regret = tables.regret_tables(plan, last) if study.sweeps else [tables.case_table(plan, runs, averages)]
    return {
        "study": study,
        "cases": [case.label for case in study.all_cases],
        "points": sum(len(sweep.points) for sweep in study.sweeps),
        "users": numbers.span(setup.users for setup in plan.setups),
        "units": _over(plan, averages),
        "svg": base64.b64encode(svg).decode(),
        "sections": sections,
        "regret": regret,
        "topics": tables.topic_tables(plan, last),
        "clicks": tables.click_tables(plan, last),
        "speeds": list(about.speeds(folder).items()),
        "about": list(numbers.flat(about.about(folder))),
    }


def _write(path: Path, text: str) -> Path:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path
