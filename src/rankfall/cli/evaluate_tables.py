"""What ``rankfall evaluate`` says: tables, notes, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from rankfall.experiments.figures.estimates import EstimateRow

if TYPE_CHECKING:
    from rich.console import Console

    from rankfall.cli.evaluate_simulation import GoingOn
    from rankfall.estimates import CountedAs, Estimate, Interval
    from rankfall.history.evaluation import Judgement
    from rankfall.history.judged_lists import JudgedLists
    from rankfall.users.fitting.fitted import Fitted

LABELS = {
    "ips": "IPS",
    "sn_ips": "SN-IPS",
    "iips": "IIPS",
    "sn_iips": "SN-IIPS",
    "rips": "RIPS",
    "sn_rips": "SN-RIPS",
    "direct": "direct",
    "cascade_dr": "Cascade-DR",
}
_RIGHT = "Right on average: IPS always; RIPS and Cascade-DR if clicks do not depend on items below"
_IIPS = "; IIPS if they depend on item and position only"
_DIRECT = "; direct if the fitted users are right. SN: self-normalised"


def say(
    console: Console,
    judged: JudgedLists,
    found: Sequence[Judgement],
    simulated: Mapping[str, GoingOn],
    fitted: Fitted,
    counted: CountedAs,
) -> None:
    """Print it."""
    what = "share of lists clicked" if counted == "any" else "clicks on a list"
    table = Table(title=f"{what.capitalize()}, from {len(judged):,} lists", title_justify="left")
    for heading in ("policy", "estimator", "value", "95 %", "bootstrap", "effective lists"):
        table.add_column(heading, justify="right" if heading in ("value", "effective lists") else "left")
    logged = judged.earned(counted)
    ends = _ends(logged.low, logged.high)
    table.add_row("as logged", "mean", f"{logged.value:.4f}", ends, "", f"{len(judged):,}")
    for one in found:
        table.add_section()
        name = one.snapshot.name
        for row in _rows(one):
            table.add_row(name, *row)
            name = ""
    console.print(table)
    for one in found:
        agreed = ", ".join(f"{share:.2%}" for share in one.agreed[:5].tolist())
        console.print(
            f"{one.snapshot.name}: {one.snapshot.about}; it does not learn while it is judged. Lists of the log agree "
            f"with it down to position 1, 2, ...: {agreed}{' ...' if len(one.agreed) > 5 else ''}",
            highlight=False,
        )
        for warning in _warnings(one):
            console.print(f"  Warning: {warning}", highlight=False)
    if judged.basis != "nothing":
        console.print(f"{_RIGHT}{_IIPS if counted == 'clicks' else ''}{_DIRECT}.", highlight=False)
    for name, on in simulated.items():
        console.print(
            f"{name}, simulated on users fitted to the first part ({fitted.model}): {on.snapshot:.4f} as it is, "
            f"{on.learning.value:.4f} ({_ends(on.learning.low, on.learning.high)}) over {on.steps:,} lists that it "
            "learns from",
            highlight=False,
        )
    for why, n in judged.left_out.items():
        console.print(f"Left out: {n:,} lists {why}", highlight=False)
    for note in judged.notes:
        console.print(f"Note: {note}.".replace("..", "."), highlight=False)


def _ends(low: float, high: float) -> str:
    return "" if np.isnan(low) or np.isnan(high) else f"{low:.4f} to {high:.4f}"


def _rows(one: Judgement) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if one.bounds is not None:
        low, high = one.bounds.low, one.bounds.high
        rows.append(("at least", f"{low.value:.4f}", _ends(low.low, low.high), "", ""))
        rows.append(("at most", f"{high.value:.4f}", _ends(high.low, high.high), "", ""))
    if one.by_item is not None:
        rate = one.by_item.interval
        rows.append(("click rates of items", f"{rate.value:.4f}", _ends(rate.low, rate.high), "", ""))
    for name, found in one.estimates.items():
        size = f"{found.effective.min():,.1f}"
        ends = _ends(found.interval.low, found.interval.high)
        again = "" if found.resampled is None else _ends(*found.resampled)
        if np.isnan(found.value) or not found.reach:
            rows.append((LABELS[name], "none", "", "", size))
        elif name == "direct":  # an interval would not know how wrong the model may be
            rows.append((LABELS[name], f"{found.value:.4f}", "", "", ""))
        elif name in ("ips", "iips", "rips") and found.reach < len(found.effective):
            rows.append((LABELS[name], f"too low: {found.value:.4f}", ends, again, size))
        else:
            rows.append((LABELS[name], f"{found.value:.4f}", ends, again, size))
    return rows


def _warnings(one: Judgement) -> list[str]:
    """Each warning once, with the estimators it is about."""
    about: dict[str, list[str]] = {}
    for name, found in one.estimates.items():
        for told in found.warnings:
            about.setdefault(told, []).append(LABELS[name])
    if one.bounds is not None:
        about["bounds hold if clicks do not depend on items below"] = ["at least, at most"]
    if one.by_item is not None:
        told = "right if clicks depend on item and position only, and what was shown not on who asked"
        about[f"{told}; {one.by_item.missing:.0%} of its positions have no rate"] = ["click rates of items"]
    return [f"{', '.join(names)}: {told}" for told, names in about.items()]


def rows_of_figure(found: Sequence[Judgement]) -> list[EstimateRow]:
    """The lines of the figure: estimates that speak of all positions."""
    return [
        EstimateRow(one.snapshot.name, LABELS[name], each.value, each.interval.low, each.interval.high)
        for one in found
        for name, each in one.estimates.items()
        if each.reach == len(each.effective) or name in ("direct", "cascade_dr")
    ]


def plain(
    judged: JudgedLists,
    found: Sequence[Judgement],
    simulated: Mapping[str, GoingOn],
    fitted: Fitted,
    counted: CountedAs,
) -> dict[str, Any]:
    """All of it, for JSON."""
    return {
        "reward": counted,
        "lists": len(judged),
        "left_out": judged.left_out,
        "notes": judged.notes,
        "logged": _interval(judged.earned(counted)),
        "fitted": {"model": fitted.model, "lists": fitted.lists},
        "policies": [
            {
                "policy": one.snapshot.name,
                "about": one.snapshot.about,
                "lists": one.lists,
                "agreed": one.agreed.tolist(),
                "estimates": {name: _estimate(each) for name, each in one.estimates.items()},
                "bounds": None
                if one.bounds is None
                else {"low": _interval(one.bounds.low), "high": _interval(one.bounds.high)},
                "item_rates": None if one.by_item is None else _interval(one.by_item.interval),
                "simulated": None
                if (on := simulated.get(one.snapshot.name)) is None
                else {"snapshot": on.snapshot, "learning": _interval(on.learning), "lists": on.steps},
            }
            for one in found
        ],
    }


def _estimate(one: Estimate) -> dict[str, Any]:
    return {
        **_interval(one.interval),
        "bootstrap": None if one.resampled is None else [_number(end) for end in one.resampled],
        "effective": one.effective.tolist(),
        "warnings": one.warnings,
    }


def _interval(one: Interval) -> dict[str, float | None]:
    return {name: _number(getattr(one, name)) for name in ("value", "error", "low", "high")}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
