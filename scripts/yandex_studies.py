"""Run the policies of the field on the queries that the authors of BatchRank fitted click models to.

    python scripts/yandex_studies.py yandex-60q.json --out out/yandex --steps 1000000
    python scripts/yandex_studies.py yandex-60q.json --out out/yandex --steps 1000000 --table

The file maps click model (``CM``, ``DCM``, ``PBM``) to query to ``args``: the attraction of ten documents, then what
the model has by position (DCM: termination, PBM: examination). It is not ours to ship: its terms are unknown. Lists are
of 5 out of 10, regret is in expected clicks, one run for each query, and every policy sees the same coins. Each run is
kept as a line of ``runs.jsonl``, and is not made again. ``--table`` prints the results as Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from rankfall import (
    DCMKLUCB,
    BatchRank,
    BubbleRank,
    Cascade,
    CascadeDUCB,
    CascadeKLUCB,
    CascadeSWUCB,
    CascadeTS,
    CascadeUCB1,
    DependentClick,
    Drifting,
    PerItem,
    PositionBased,
    RankedEXP3,
    TopRank,
    User,
    simulate,
)
from rankfall.experiments.simulation import run_seed
from rankfall.policies import Policy

K = 5
CHANGES = 10
"""Queries that a changing user goes through: as many stretches of the same length."""

MODELS = {
    "CM": lambda alpha, *_: User(PerItem(alpha), Cascade(), "clicks"),
    "DCM": lambda alpha, termination, *_: User(PerItem(alpha), DependentClick(termination), "clicks"),
    "PBM": lambda alpha, examination, *_: User(PerItem(alpha), PositionBased(examination), "clicks"),
}


def policies(steps: int) -> dict[str, Policy]:
    """The policies compared, for a horizon; those of the authors' public code beside those of the papers."""
    return {
        "BatchRank": BatchRank(10, k=K, steps=steps),
        "BatchRank, as in its code": BatchRank(10, k=K, steps=steps, form="code"),
        "TopRank": TopRank(10, steps=steps),
        "BubbleRank": BubbleRank(10, steps=steps),
        "CascadeKLUCB": CascadeKLUCB(10),
        "CascadeKLUCB, as in the code": DCMKLUCB(10, exploration=0),
        "RankedEXP3": RankedEXP3(10, k=K, steps=steps, clicks="all"),
        "RankedEXP3, losses": RankedEXP3(10, k=K, steps=steps, clicks="all", estimates="losses"),
    }


def forgetting(steps: int) -> dict[str, Policy]:
    """The policies compared on users who change."""
    return {
        "CascadeDUCB": CascadeDUCB(10, steps=steps),
        "CascadeSWUCB": CascadeSWUCB(10, steps=steps),
        "CascadeUCB1": CascadeUCB1(10),
        "CascadeKLUCB": CascadeKLUCB(10),
        "CascadeTS": CascadeTS(10),
    }


def cases(models: dict[str, Any], steps: int) -> Iterator[tuple[str, str, int, Any, Policy]]:
    """Model, policy, number of the query, user and policy of every run."""
    queries = list(models["CM"])
    for number, query in enumerate(queries):
        for model, make in MODELS.items():
            user = make(*models[model][query]["args"])
            for name, policy in policies(steps).items():
                yield model, name, number, user, policy
        turns = np.random.default_rng(number).permutation(len(queries))[:CHANGES]
        people = [MODELS["CM"](*models["CM"][queries[turn]]["args"]) for turn in turns]
        user = Drifting([(at * steps // CHANGES, one) for at, one in enumerate(people)])
        for name, policy in forgetting(steps).items():
            yield "changing CM", name, number, user, policy


def run(models: dict[str, Any], steps: int, out: Path) -> None:
    """Every run that is not there yet."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "runs.jsonl"
    known = {tuple(row["case"]) for row in rows(file)}
    marks = sorted({max(1, int(steps * share)) for share in (0.001, 0.01, 0.1, 0.5, 0.9, 1.0)})
    for model, name, number, user, policy in cases(models, steps):
        case = (model, name, number, steps)
        if case not in known:
            done = simulate(policy, user, steps, K, run_seed(0, number, 0), checkpoints=marks)
            row = {"case": case, "marks": marks, "regret": done.regret.tolist(), "best": done.best}
            with file.open("a") as lines:
                lines.write(json.dumps(row) + "\n")


def rows(file: Path) -> list[dict[str, Any]]:
    """The runs that are kept."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(file: Path, steps: int) -> str:
    """Mean regret with its standard error over queries, the median, and how many queries still lost at the end.

    To lose is to earn less than 0.999 of what the best list earns, over the last tenth of the steps.
    """
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in rows(file):
        model, name, number, horizon = row["case"]
        if horizon == steps:
            found.setdefault((model, name), {})[number] = row
    lines = ["| users | policy | queries | regret | median | still losing |", "|---|---|---:|---:|---:|---:|"]
    for (model, name), runs in found.items():
        regret = np.array([one["regret"][-1] for one in runs.values()])
        last = np.array([one["regret"][-1] - one["regret"][-2] for one in runs.values()])
        earnable = np.array([one["best"] * (one["marks"][-1] - one["marks"][-2]) for one in runs.values()])
        error = regret.std(ddof=1) / np.sqrt(len(regret)) if len(regret) > 1 else np.nan
        losing = int((last > 1e-3 * earnable).sum())
        mean, median = f"{regret.mean():,.0f} ± {error:,.0f}", f"{np.median(regret):,.0f}"
        lines.append(f"| {model} | {name} | {len(regret)} | {mean} | {median} | {losing} |")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/yandex"), show_default=True)
@click.option("--steps", default=1_000_000, show_default=True, help="Lists shown in each run.")
@click.option("--table", "only_table", is_flag=True, help="Print what is there, and run nothing.")
def main(path: Path, out: Path, steps: int, only_table: bool) -> None:
    """Run what is missing, and print the table."""
    if not only_table:
        run(json.loads(path.read_text()), steps, out)
    click.echo(table(out / "runs.jsonl", steps))


if __name__ == "__main__":
    main()
