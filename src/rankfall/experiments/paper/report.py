"""What the report of the paper's study has besides: the claims of section 4.3, and the paper's symbols."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl
from markupsafe import Markup

from rankfall.experiments.folder import Folder
from rankfall.experiments.paper.claims import LINUCB, LITTLE, LSB, check_claims
from rankfall.experiments.paper.verdicts import Claim, Verdict
from rankfall.experiments.report import Section, write_report
from rankfall.experiments.report.page import Written, template
from rankfall.experiments.report.panels import AxisName
from rankfall.experiments.statistics import LEVEL

STEPS = 50_000
"""Of a run in the paper."""

AXES: Mapping[str, AxisName] = {
    "user.tradeoff": AxisName("λ", "tradeoff λ", (0.1, 0.5, 0.9)),
    "user.topics": AxisName("d", "number of topics d", (5, 10, 15)),
    "k": AxisName("K", "number of positions K", (5, 15, 20)),
}
"""What the paper calls its axes, and where to show regret over steps: where no other sweep shows it."""

_MARKS: Mapping[Verdict, str] = {"holds": "✓", "does not hold": "✗", "undecided": "?", "not tested": "\N{EN DASH}"}


POINTS: Mapping[str, str] = {
    "tradeoff": "tradeoffs",
    "topics": "numbers of topics",
    "positions": "numbers of positions",
}
"""What to call the points of the paper's sweeps."""


def write_paper_report(folder: Folder, runs: pl.DataFrame) -> Written:
    """The report of a study with ``paper = true``: with the claims of section 4.3 and the paper's figure."""
    return write_report(
        folder, runs, sections=[claims_section(runs)], axes=AXES, named=POINTS, remark=as_the_paper_says
    )


def as_the_paper_says(values: Mapping[str, Any], case: str) -> str:
    """Whether the paper, too, has this policy ahead of CascadeHybrid, where users want one thing only."""
    expected: Mapping[object, str] = {0.0: LSB, 1.0: LINUCB}
    return ", as the paper says" if expected.get(values.get("user.tradeoff")) == case else ""


def claims_section(runs: pl.DataFrame) -> Section:
    """Every claim with its verdict; and all of them as ``claims.json``."""
    claims = check_claims(runs)
    steps = int(runs["step"].max())  # type: ignore[arg-type]
    package = "rankfall.experiments.paper"
    body = template("claims.html", package).render(
        claims=claims,
        counts=[(verdict, sum(claim.verdict == verdict for claim in claims)) for verdict in _MARKS],
        marks=_MARKS,
        steps=steps if steps < STEPS else None,
        paper_steps=STEPS,
        level=LEVEL,
        little=LITTLE,
    )
    style = template("claims.css", package).render()
    return Section("Claims", Markup(body), Markup(style), {"claims.json": claims_json(claims)})


def claims_json(claims: Sequence[Claim]) -> str:
    """Claims as JSON; a number that is not there is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = []
    for claim in claims:
        parts = [{**asdict(part), "verdict": part.verdict} for part in claim.parts]
        rows.append(plain({**asdict(claim), "parts": parts}))
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
