"""The page of a first look: one file that needs no network."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

from rankfall.catalog import Catalog
from rankfall.experiments.figures import save
from rankfall.experiments.first_look.figure import look_figure
from rankfall.experiments.first_look.look import GAMMA, KINDS, TRADEOFF, FirstLook, Moment
from rankfall.experiments.report.page import template
from rankfall.files import replacing

_PACKAGE = "rankfall.experiments.first_look"


def write_page(look: FirstLook, path: Path) -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder:
        (svg,) = save(look_figure(look, dict(KINDS)), Path(folder) / "figure", ("svg",))
        drawn = base64.b64encode(svg.read_bytes()).decode()
    text = template("first_look.html", _PACKAGE).render(
        look=look,
        kinds=KINDS,
        svg=drawn,
        lists=[(moment, _entries(look.catalog, moment)) for moment in look.moments],
        tradeoff=TRADEOFF,
        gamma=GAMMA,
    )
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _entries(catalog: Catalog, moment: Moment) -> list[tuple[str, str]]:
    """The titles of a list, each with the topics of its item."""
    titles = catalog.titles or [str(one) for one in catalog.ids]
    return [
        (titles[row], ", ".join(catalog.topics[topic] for topic in catalog.coverage[row].nonzero()[0]))
        for row in moment.ranking.items.tolist()
    ]
