"""What it costs to find the best of many rankers: the study of docs/compare.md.

    python benchmarks/compare_rankers.py
    python benchmarks/compare_rankers.py --write docs/compare.md

The first prints the table, ``--write`` puts it into the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import numpy as np

from rankfall import PerItem, PositionBased, User
from rankfall.compare import (
    Comparison,
    DoubleThompson,
    MergeDTS,
    Method,
    Probabilistic,
    SelfSparring,
    TeamDraft,
    Together,
    UniformPairs,
)
from rankfall.experiments.comparing import preference_gaps, simulate_comparison

K, ITEMS = 5, 30
METHODS: dict[str, Method] = {
    "MergeDTS": MergeDTS(),
    "MergeDTS, alpha 0.262, C 400,000, M 16": MergeDTS(batch=16, alpha=0.8**6, c=400_000.0),
    "MergeDTS, alpha 0.262, C 400,000, M 4": MergeDTS(batch=4, alpha=0.8**6, c=400_000.0),
    "DoubleThompson": DoubleThompson(),
    "SelfSparring": SelfSparring(),
    "UniformPairs": UniformPairs(),
    "Together": Together(),
}


def rankers_of(user: User, attraction: np.ndarray, n: int, rng: np.random.Generator) -> dict[str, list[int]]:
    """One that knows the attraction of items, and others that know it with noise of 0.1 to 0.5; all lists differ."""
    lists: dict[str, list[int]] = {}
    while len(lists) < n:
        noise = np.append(0.0, np.geomspace(0.1, 0.5, n - 1))[len(lists)]
        order = np.argsort(-(attraction + rng.normal(scale=noise, size=ITEMS)))[: 2 * K].tolist()
        if order not in lists.values() and user.reward(order[:K]) not in [user.reward(x[:K]) for x in lists.values()]:
            lists[f"ranker {len(lists)}"] = order
    return lists


def on_users(numbers: tuple[int, ...], steps: int, repeats: int) -> list[str]:
    """Rows of the table: regret, reward lost, who was found."""
    rows = []
    for n in numbers:
        worlds = []
        for repeat in range(repeats):
            rng = np.random.default_rng([n, repeat])
            attraction = rng.uniform(0.0, 0.6, ITEMS) ** 1.5
            user = User(PerItem(attraction), PositionBased(0.85 ** np.arange(K)))
            lists = rankers_of(user, attraction, n, rng)
            gaps = {kind: preference_gaps(lists, user, K, kind, 1000) for kind in (TeamDraft(), Probabilistic())}
            worlds.append((user, lists, gaps))
        cases = [(label, method, TeamDraft()) for label, method in METHODS.items() if n <= 16 or label != "Together"]
        cases.append(("DoubleThompson, probabilistic", DoubleThompson(), Probabilistic()))
        for label, method, kind in cases:
            regret, lost, found, left = [], [], 0, []
            for repeat, (user, lists, gaps) in enumerate(worlds):
                known = gaps[kind]
                run = simulate_comparison(Comparison(lists, method, kind), lists, user, known, steps, K, seed=repeat)
                regret.append(run.regret[-1])
                lost.append(run.lost[-1])
                left.append(run.left[-1])
                found += run.best[-1] == known.best
            error = np.std(regret, ddof=1) / np.sqrt(repeats)
            rows.append(
                f"| {n} | {label} | {np.mean(regret):,.0f} ± {error:,.0f} | {np.mean(lost):,.0f} "
                f"| {found} of {repeats} | {np.mean(left):.1f} |"
            )
            click.echo(rows[-1])
    return rows


@click.command()
@click.option("--rankers", default="16,64", help="How many, with commas.")
@click.option("--steps", default=20_000)
@click.option("--repeats", default=4)
@click.option("--write", type=click.Path(path_type=Path, exists=True), help="The page to put the table into.")
def main(rankers: str, steps: int, repeats: int, write: Path | None) -> None:
    """Compare ways to compare."""
    rows = on_users(tuple(int(n) for n in rankers.split(",")), steps, repeats)
    if write is not None:
        head = "| rankers | method | regret | clicks lost | best leads | left |\n|---:|---|---:|---:|---:|---:|"
        mark, end = "<!-- rankers -->\n", "<!-- end of rankers -->\n"
        table = "\n".join([head, *rows]) + "\n"
        page = re.sub(f"({mark}).*({end})", lambda found: found[1] + table + found[2], write.read_text(), flags=re.S)
        write.write_text(page)


if __name__ == "__main__":
    main()
