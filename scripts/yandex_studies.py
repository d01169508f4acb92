"""Run the policies of the field on the queries that the authors of BatchRank fitted click models to.

    python scripts/yandex_studies.py yandex-60q.json --out out/yandex --steps 1000000
    python scripts/yandex_studies.py yandex-60q.json --out out/yandex --steps 5000000 --users CM --users PBM

``yandex_users.py`` says what is in the file. Lists are of 5 out of 10; regret is in expected clicks, for DCM in users
who leave satisfied; one run for each query, in which every policy sees the same coins. Each run is kept as a line of
``runs.jsonl``, and is not made again; several processes may write to it. ``yandex_report.py`` makes tables and a figure
of them.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click
import numpy as np
from yandex_users import WORDS, people_of

from rankfall import (
    DCMKLUCB,
    BatchRank,
    BubbleRank,
    CascadeDUCB,
    CascadeKLUCB,
    CascadeSWUCB,
    CascadeTS,
    CascadeUCB1,
    Drifting,
    RankedEXP3,
    TopRank,
    simulate,
)
from rankfall.experiments.simulation import cores, run_seed
from rankfall.policies import Policy

K = 5
CHANGES = 10
"""Queries that a changing user goes through: as many stretches of the same length."""

KINDS = (*WORDS, "changing CM")


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


def compared(kind: str, steps: int) -> dict[str, Policy]:
    """The policies that are compared on users of a kind."""
    return forgetting(steps) if kind == "changing CM" else policies(steps)


def users(models: dict[str, Any], kind: str, steps: int) -> list[Any]:
    """A user for each query; one who changes goes through some queries, drawn at random."""
    if kind != "changing CM":
        people = people_of(models[kind], kind)
        return [people.user(query, "satisfied" if kind == "DCM" else "clicks") for query in people.people]
    fixed = users(models, "CM", steps)
    turns = [np.random.default_rng(number).permutation(len(fixed))[:CHANGES] for number in range(len(fixed))]
    return [Drifting([(at * steps // CHANGES, fixed[turn]) for at, turn in enumerate(turn)]) for turn in turns]


def run(models: dict[str, Any], kinds: tuple[str, ...], queries: int, steps: int, out: Path, workers: int) -> None:
    """Every run that is not there yet, query by query, some side by side; each is kept as soon as it is done."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "runs.jsonl"
    known = {tuple(row["case"]) for row in rows(file)}
    shares = (*np.geomspace(1e-4, 0.5, 24), 0.9, 1.0)
    marks = sorted({max(1, int(steps * share)) for share in shares})
    people = {kind: users(models, kind, steps) for kind in kinds}

    def one(case: tuple[str, str, int, int], policy: Policy) -> dict[str, Any]:
        kind, _, number, _ = case
        done = simulate(policy, people[kind][number], steps, K, run_seed(0, number, 0), checkpoints=marks)
        return {"case": case, "marks": marks, "regret": done.regret.tolist(), "best": done.best}

    missing = [
        (case, policy)
        for number in range(min(queries, len(models["CM"])))
        for kind in kinds
        for name, policy in compared(kind, steps).items()
        if (case := (kind, name, number, steps)) not in known
    ]
    with ThreadPoolExecutor(workers) as pool, file.open("a", buffering=1) as lines:
        try:
            for done in as_completed([pool.submit(one, *run) for run in missing]):
                lines.write(json.dumps(done.result()) + "\n")
        finally:  # interrupted, it ends with the runs under way
            pool.shutdown(cancel_futures=True)


def rows(file: Path) -> list[dict[str, Any]]:
    """The runs that are kept."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@click.command(help=__doc__)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/yandex"), show_default=True)
@click.option("--steps", default=1_000_000, show_default=True, help="Lists shown in each run.")
@click.option("--queries", default=60, show_default=True, help="How many queries, from the first.")
@click.option("--users", "kinds", multiple=True, type=click.Choice(KINDS), default=KINDS, help="Click models.")
@click.option("--workers", default=cores(), show_default="all cores", help="Runs side by side.")
def main(path: Path, out: Path, steps: int, queries: int, kinds: tuple[str, ...], workers: int) -> None:
    """Run what is missing."""
    run(json.loads(path.read_text()), kinds, queries, steps, out, workers)


if __name__ == "__main__":
    main()
