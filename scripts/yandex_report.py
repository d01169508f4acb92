"""Tables and a figure of the runs that ``yandex_studies.py`` keeps, printed or put into docs/yandex.md.

    python scripts/yandex_report.py yandex-60q.json --out out/yandex
    python scripts/yandex_report.py yandex-60q.json --out out/yandex --write

Of the queries of a click model those count that every policy has run on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click
import matplotlib as mpl
import numpy as np
from marked import fill
from matplotlib.figure import Figure
from yandex_studies import KINDS, K, compared, rows, users
from yandex_users import WORDS

from rankfall.arrays import FloatArray
from rankfall.experiments.figures.look import Look
from rankfall.experiments.figures.saving import save

PAGE = Path(__file__).resolve().parents[1] / "docs" / "yandex.md"
DRAWN = ("CM", "PBM", "DCM")
FIRST, ATTRACTIVE = "the first five documents", "the most attractive five, in order"

COMPARED = (
    ("BatchRank", "RankedEXP3"),
    ("BatchRank, as in its code", "RankedEXP3, losses"),
    ("BatchRank, as in its code", "BatchRank"),
    ("TopRank", "BatchRank"),
    ("TopRank", "BatchRank, as in its code"),
    ("CascadeKLUCB", "BatchRank"),
    ("CascadeKLUCB", "BatchRank, as in its code"),
    ("CascadeKLUCB", "TopRank"),
    ("CascadeKLUCB, as in the code", "TopRank"),
    ("BubbleRank", FIRST),
    ("CascadeDUCB", "CascadeUCB1"),
    ("CascadeSWUCB", "CascadeUCB1"),
    ("CascadeSWUCB", "CascadeKLUCB"),
    ("CascadeSWUCB", "CascadeTS"),
    ("CascadeSWUCB", "CascadeDUCB"),
)
"""Who is said to lose less than whom."""

Found: TypeAlias = dict[str, dict[str, list[dict[str, Any]]]]
"""For each click model and policy its runs, query by query."""


def found(models: dict[str, Any], file: Path, steps: int) -> Found:
    """The runs of so many steps, and what two lists lose that stay the same.

    The first documents are what BubbleRank starts from, the most attractive ones what all of the policies look for.
    """
    runs: dict[str, dict[str, dict[int, Any]]] = {}
    for row in rows(file):
        kind, name, number, horizon = row["case"]
        if horizon == steps:
            runs.setdefault(kind, {}).setdefault(name, {})[number] = row
    result: Found = {}
    for kind in [kind for kind in KINDS if kind in runs]:
        queries = sorted(set.intersection(*(set(ours) for ours in runs[kind].values())))
        names = [name for name in compared(kind, steps) if name in runs[kind]]
        result[kind] = {name: [runs[kind][name][query] for query in queries] for name in names}
        if kind in WORDS and queries:
            marks, people = next(iter(result[kind].values()))[0]["marks"], users(models, kind, steps)
            result[kind][FIRST] = [always(range(K), people[query], marks) for query in queries]
            most = [np.argsort(-people[query].attraction.alone, kind="stable")[:K] for query in queries]
            result[kind][ATTRACTIVE] = [
                always(best, people[query], marks) for best, query in zip(most, queries, strict=True)
            ]
    return result


def always(items: Sequence[int], user: Any, marks: list[int]) -> dict[str, Any]:
    """What is lost by showing always the same list to a user."""
    best = user.reward(user.best(K))
    return {"marks": marks, "best": best, "regret": [mark * (best - user.reward(items)) for mark in marks]}


def final(runs: list[dict[str, Any]]) -> FloatArray:
    """Regret at the end of each run."""
    return np.array([one["regret"][-1] for one in runs])


def losing(one: dict[str, Any]) -> bool:
    """Whether a run earned less than 0.999 of what the best list earns, over the last tenth of its steps."""
    lost, steps = one["regret"][-1] - one["regret"][-2], one["marks"][-1] - one["marks"][-2]
    return bool(lost > 1e-3 * one["best"] * steps)


def table(all_found: Found) -> str:
    """Mean regret with its standard error over queries, the median, and on how many queries it still lost."""
    lines = ["| users | policy | queries | regret | median | still losing |", "|---|---|---:|---:|---:|---:|"]
    for kind, by_name in all_found.items():
        for name, runs in by_name.items():
            regret = final(runs)
            error = regret.std(ddof=1) / np.sqrt(len(regret)) if len(regret) > 1 else np.nan
            numbers = f"{len(regret)} | {regret.mean():,.0f} ± {error:,.0f} | {np.median(regret):,.0f}"
            lines.append(f"| {kind} | {name} | {numbers} | {sum(map(losing, runs))} |")
    return "\n".join(lines)


def counts(all_found: Found) -> str:
    """On how many queries of each click model a policy lost less than another, and by what factor in the mean."""
    lines = [f"| loses less | than | {' | '.join(all_found)} |", f"|---|---|{'---:|' * len(all_found)}"]
    for one, other in COMPARED:
        cells = []
        for by_name in all_found.values():
            if one in by_name and other in by_name:
                ours, theirs = final(by_name[one]), final(by_name[other])
                cells.append(f"{(ours < theirs).sum()} of {len(ours)}, {theirs.mean() / ours.mean():.1f} x")
            else:
                cells.append("")
        if any(cells):
            lines.append(f"| {one} | {other} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(all_found: Found) -> Figure:
    """Regret over steps by policy, mean over queries, a panel for each of three click models."""
    panels = [kind for kind in DRAWN if kind in all_found]
    look = Look([name for name in all_found[panels[0]] if name not in (FIRST, ATTRACTIVE)])
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6}):
        drawn = Figure(figsize=(7.6, 3.4), layout="constrained")
        for axes, kind in zip(drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
            for name in look.names:
                runs = all_found[kind][name]
                mean = np.mean([one["regret"] for one in runs], axis=0)
                axes.plot(runs[0]["marks"], mean, **{**look.line(name), "markevery": 4})
            axes.set(xscale="log", yscale="log", title=f"{kind}, {len(runs)} queries", xlabel="step")
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="0.92")
            axes.set_axisbelow(True)
        drawn.axes[0].set(ylabel="cumulative regret, mean over queries")
        drawn.legend(handles=look.handles(), loc="outside lower center", ncols=4, frameon=False, handlelength=3.2)
    return drawn


@click.command(help=__doc__)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/yandex"), show_default=True)
@click.option("--steps", default=5_000_000, show_default=True, help="Steps of the long runs.")
@click.option("--short", default=1_000_000, show_default=True, help="Steps of the others.")
@click.option("--write", is_flag=True, help="Put tables and figure into docs/yandex.md.")
def main(path: Path, out: Path, steps: int, short: int, write: bool) -> None:
    """Print tables, or write the page."""
    models, file = json.loads(path.read_text()), out / "runs.jsonl"
    long, others = found(models, file, steps), found(models, file, short)
    parts = {
        "long runs": table(long),
        "long counts": counts(long),
        "short runs": table(others),
        "short counts": counts(others),
    }
    if write:
        PAGE.write_text(fill(PAGE.read_text(), parts))
        save(figure(long), PAGE.parent / "images" / "yandex", ["png"])
    else:
        click.echo("\n\n".join(parts.values()))


if __name__ == "__main__":
    main()
