"""How the results of a study came about: for its report."""

from __future__ import annotations

from typing import Any

from rankfall.data.preparation import Prepared
from rankfall.experiments.folder import Folder
from rankfall.experiments.frozen_table import thaw
from rankfall.experiments.report.numbers import duration


def about(folder: Folder) -> dict[str, Any]:
    """What the runs were made with."""
    plan, study = folder.plan, folder.plan.study
    data = {value.dataset: _described(value) for value in plan.data.values() if isinstance(value, Prepared)}
    said = {
        "policies": [case.label for case in study.all_cases],
        "settings": thaw(study.settings),
        "user": thaw(study.user),
        "k": study.k,
        "users": max(setup.users for setup in plan.setups),
        "repeats": study.repeats,
        "steps": study.steps,
        "steps in all": plan.steps,
        "seed": study.seed,
        "data": data,
        "notes": list(plan.notes) or "none",
        "provenance": {name: value for name, value in folder.provenance().items() if name not in {"seed", "notes"}},
    }
    return {name: value for name, value in said.items() if value not in ({}, [])}


def speeds(folder: Folder) -> dict[str, str]:
    """How fast each policy was, and how much work there was in all; empty if no times were kept."""
    timings = folder.timings()
    said = {}
    for policy in dict.fromkeys(setup.name for setup in folder.plan.setups):
        rows = [row for row in timings if row["policy"] == policy]
        seconds = sum(row["seconds"] for row in rows)
        if seconds:
            said[policy] = f"{sum(row['steps'] for row in rows) / seconds:,.0f} steps a second on one core"
    if said:
        said["all chunks"] = duration(sum(row["seconds"] for row in timings)) + " of work of one core"
    return said


def _described(prepared: Prepared) -> dict[str, str]:
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in prepared.describe().splitlines()[1:]}
