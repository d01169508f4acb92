"""What ``rankfall evaluate`` says: tables, notes, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rankfall.experiments.figures.estimates import EstimateRow
from rankfall.history.judged_lists import counted_lists, told_left_out

if TYPE_CHECKING:
    from rich.console import Console

    from rankfall.cli.evaluate_simulation import GoingOn
    from rankfall.estimates import Estimate, Interval
    from rankfall.history.evaluation import Judgement
    from rankfall.history.judged_lists import Earning, JudgedLists
    from rankfall.users.fitting.reward_model import ChosenFit

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
ITEMS_AT_POSITIONS = "items at positions"
_RIGHT = "Right on average: IPS always; RIPS and Cascade-DR if clicks do not depend on items below"
_IIPS = "; IIPS if they depend on item and position only"
_DIRECT = "; direct if the fitted users are right. SN: self-normalised"


@dataclass(frozen=True)
class Evaluation:
    """What ``rankfall evaluate`` found.

    Attributes
    ----------
    judged : the lists that policies are judged by.
    found : what each policy is worth.
    people, simulated : how policies go on learning, by name, and on whom that was simulated.
    chosen : the fitted users.
    earning : what a list earns.
    notes : what else there is to know.
    """

    judged: JudgedLists
    found: Sequence[Judgement]
    people: str | None
    simulated: Mapping[str, GoingOn]
    chosen: ChosenFit
    earning: Earning
    notes: Sequence[str]

    @property
    def logged(self) -> Interval:
        """What a list earned, as logged."""
        return self.judged.earned(self.earning)

    @property
    def what(self) -> str:
        """What a list earns, in words."""
        return {"any": "share of lists clicked", "clicks": "clicks on a list", "worth": "worth of a list"}[self.earning]


def say(console: Console, evaluation: Evaluation) -> None:
    """Print it."""
    judged, found, logged = evaluation.judged, evaluation.found, evaluation.logged
    table = Table(
        title=f"{evaluation.what.capitalize()}, from {counted_lists(len(judged))}",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("", overflow="fold")
    for heading in ("value", "95 %", "bootstrap", "effective\nlists"):
        table.add_column(heading, justify="left" if heading in ("95 %", "bootstrap") else "right", no_wrap=True)
    table.add_row("as logged", f"{_shown(logged.value)}", _ends(logged.low, logged.high), "", f"{len(judged):,}")
    for one in found:
        table.add_section()
        table.add_row(f"[bold]{escape(one.snapshot.name)}")
        for name, *cells in _rows(one):
            table.add_row(f"  {name}", *cells)
    console.print(table)
    for line in _lines(evaluation):
        console.print(line, highlight=False, markup=False)


def _lines(evaluation: Evaluation) -> Iterator[str]:
    """What there is to know beside the table."""
    judged, chosen = evaluation.judged, evaluation.chosen
    for one in evaluation.found:
        agreed = ", ".join(f"{share:.2%}" for share in one.agreed[:5].tolist())
        yield (
            f"{one.snapshot.name}: {one.snapshot.about}; it does not learn while it is judged. Lists of the log agree "
            f"with it down to position 1, 2, ...: {agreed}{' ...' if len(one.agreed) > 5 else ''}"
        )
        if one.lists < len(judged):
            yield f"  Judged by {one.lists:,} of the lists; it cannot make the others"
        for warning in _warnings(one):
            yield f"  Warning: {warning}"
        for note in one.snapshot.notes:
            yield f"  Note: {note}"
    if judged.basis != "nothing":
        yield f"{_RIGHT}{_IIPS if evaluation.earning != 'any' else ''}{_DIRECT}."
    yield _users(chosen, evaluation.earning)
    for name, on in evaluation.simulated.items():
        yield (
            f"{name}, simulated on {evaluation.people}: {_shown(on.snapshot)} as it is, {_shown(on.learning.value)} "
            f"({_ends(on.learning.low, on.learning.high)}) over {on.steps:,} lists that it learns from"
        )
    yield from told_left_out(judged.left_out)
    for note in (*judged.notes, *evaluation.notes):
        yield f"Note: {note.removesuffix('.')}."


def _users(chosen: ChosenFit, earning: Earning) -> str:
    """Which users were fitted, and why these."""
    users = f"Fitted users: {chosen.fitted.model}, on {counted_lists(chosen.fitted.lists)} of the first part"
    if len(chosen.likelihoods) < 2:
        return users
    (_, best), (second, next_best) = list(chosen.likelihoods.items())[:2]
    clicks = "the first click of lists set aside is" if earning == "any" else "the clicks on lists set aside are"
    return (
        f"{users}; of {len(chosen.likelihoods)} click models the one under which {clicks} most likely (log-likelihood "
        f"of a list {best:.4f}, under {second} {next_best:.4f})"
    )


def _shown(value: float) -> str:
    return f"{value:,.4f}" if abs(value) < 100.0 else f"{value:,.2f}"


def _ends(low: float, high: float) -> str:
    return "" if np.isnan(low) or np.isnan(high) else f"{_shown(low)} to {_shown(high)}"


def _rows(one: Judgement) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if one.bounds is not None:
        low, high = one.bounds.low, one.bounds.high
        rows.append(("at least", f"{_shown(low.value)}", _ends(low.low, low.high), "", ""))
        rows.append(("at most", f"{_shown(high.value)}", _ends(high.low, high.high), "", ""))
    if one.by_item is not None:
        rate = one.by_item.interval
        rows.append((ITEMS_AT_POSITIONS, f"{_shown(rate.value)}", _ends(rate.low, rate.high), "", ""))
    for name, found in one.estimates.items():
        size = f"{found.effective.min():,.1f}"
        ends = _ends(found.interval.low, found.interval.high)
        again = "" if found.resampled is None else _ends(*found.resampled)
        if np.isnan(found.value) or not found.effective.any():
            rows.append((LABELS[name], "none", "", "", size))
        elif name == "direct":  # an interval would not know how wrong the model may be
            rows.append((LABELS[name], f"{_shown(found.value)}", "", "", ""))
        elif name in ("ips", "iips", "rips") and not found.effective.all():
            rows.append((LABELS[name], f"too low: {_shown(found.value)}", ends, again, size))
        else:
            rows.append((LABELS[name], f"{_shown(found.value)}", ends, again, size))
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
        about[f"{told}; {one.by_item.missing:.0%} of its positions have no mean"] = [ITEMS_AT_POSITIONS]
    return [f"{', '.join(names)}: {told}" for told, names in about.items()]


def rows_of_figure(found: Sequence[Judgement]) -> list[EstimateRow]:
    """The lines of the figure: bounds, and estimates that speak of all positions."""
    rows = []
    for one in found:
        name = one.snapshot.name
        if one.bounds is not None:
            rows.append(EstimateRow(name, "bounds", np.nan, one.bounds.low.low, one.bounds.high.high))
        if one.by_item is not None:
            rate = one.by_item.interval
            rows.append(EstimateRow(name, ITEMS_AT_POSITIONS, rate.value, rate.low, rate.high))
        for estimator, each in one.estimates.items():
            if estimator == "direct":
                rows.append(EstimateRow(name, LABELS[estimator], each.value, each.value, each.value))
            elif each.effective.all() or (estimator == "cascade_dr" and each.reach):
                low, high = each.interval.low, each.interval.high
                rows.append(EstimateRow(name, LABELS[estimator], each.value, low, high))
    return rows


def plain(evaluation: Evaluation) -> dict[str, Any]:
    """All of it, for JSON."""
    judged, chosen = evaluation.judged, evaluation.chosen
    return {
        "reward": evaluation.earning,
        "lists": len(judged),
        "left_out": judged.left_out,
        "notes": [*judged.notes, *evaluation.notes],
        "logged": _interval(evaluation.logged),
        "people": evaluation.people,
        "fitted": {
            "model": chosen.fitted.model,
            "lists": chosen.fitted.lists,
            "likelihoods": dict(chosen.likelihoods),
        },
        "policies": [
            {
                "policy": one.snapshot.name,
                "about": one.snapshot.about,
                "notes": one.snapshot.notes,
                "lists": one.lists,
                "agreed": one.agreed.tolist(),
                "estimates": {name: _estimate(each) for name, each in one.estimates.items()},
                "bounds": None
                if one.bounds is None
                else {"low": _interval(one.bounds.low), "high": _interval(one.bounds.high)},
                "items_at_positions": None if one.by_item is None else _interval(one.by_item.interval),
                "simulated": None
                if (on := evaluation.simulated.get(one.snapshot.name)) is None
                else {"snapshot": on.snapshot, "learning": _interval(on.learning), "lists": on.steps},
            }
            for one in evaluation.found
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
