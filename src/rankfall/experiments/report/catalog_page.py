"""The report on a catalog that was built: what was done, what was dropped, and a picture."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rankfall.data.catalogs import Built
from rankfall.experiments import figures
from rankfall.experiments.report.page import template
from rankfall.files import replacing


def write_catalog_report(built: Built, path: Path, *, items: str, log: str | None = None) -> None:
    """Write the report as one HTML page.

    Parameters
    ----------
    items, log : what to call the files it was built from.
    """
    with tempfile.TemporaryDirectory(prefix="rankfall-") as folder:
        (drawn,) = figures.save(figures.catalog_figure(built.catalog), Path(folder) / "catalog", ("svg",))
        svg = base64.b64encode(drawn.read_bytes()).decode()
    text = template("catalog.html").render(_context(built, items, log), svg=svg)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _context(built: Built, items: str, log: str | None) -> dict[str, Any]:
    catalog, seen = built.catalog, built.log
    made = [(each.column, each.rule.features, each.note) for each in built.columns if each.rule is not None]
    features = [(column, _named(names), note) for column, names, note in made]
    if built.factors:
        factors = catalog.recipe.factors if catalog.recipe is not None else None
        features.append(("(the log)", _named(() if factors is None else factors.features), built.factors))
    covered = catalog.coverage > 0
    topics = [
        (
            name,
            f"{int(covered[:, j].sum()):,}",
            "" if seen is None else f"{int(seen.audience[j]):,}",
            " to ".join(f"{each:.3f}" for each in _ends(catalog.coverage[covered[:, j], j])),
        )
        for j, name in enumerate(catalog.topics)
    ]
    counts = [("items", f"{len(catalog):,} of {items}")]
    if seen is not None:
        counts += [
            ("click log", f"{seen.rows:,} rows of {log}"),
            ("people", f"{seen.people:,}, of whom {seen.clicked.shape[0]:,} clicked"),
            ("items never shown", f"{int((seen.shown == 0).sum()):,}"),
            ("rows of unknown items", f"{seen.unknown:,}"),
        ]
    counts += [("coverage", built.coverage), ("length of features", f"{_length(built):.2f} on average")]
    dropped = [(each.column, each.note) for each in built.columns if each.rule is None]
    return {
        "catalog": catalog,
        "clicks": None if seen is None else f"{seen.clicked.nnz:,}",
        "counts": counts,
        "features": features,
        "dropped": dropped,
        "topics": topics,
    }


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, ... {names[-1]} ({len(names)})"


def _ends(values: Any) -> list[float]:
    return [float(values.min()), float(values.max())] if len(values) else []


def _length(built: Built) -> float:
    return float(np.linalg.norm(built.catalog.relevance, axis=1).mean())
