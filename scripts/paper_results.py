"""Put what the paper's experiments and the studies beside them found into docs/results.md.

    make results

or, study by study, the commands of docs/results.md. Folders that are not there leave their tables as they are; the
verdicts on the claims are filled in when all three readings are there.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import polars as pl
from marked import fill, table

from rankfall import theorem_bound
from rankfall.experiments.paper import PAPER
from rankfall.experiments.statistics import LEVEL, by_unit, final, interval, means

ROOT = Path(__file__).resolve().parents[1]
READINGS = {"plain": "as we read it", "unit": "preferences of length 1", "one-topic": "one topic a movie"}
SUFFIXES = {"plain": "", "unit": "-unit", "one-topic": "-one-topic"}
"""Of the names of figures."""

HORIZONS = (100, 1_000, 10_000, 50_000)
GAMMAS_OF_THOMPSON = ((1.0, 1.0), (0.3, 0.3), (0.1, 0.1), (0.1, 0.3))
"""Of CascadeHybridTS and of CascadeHybrid: the same, and each about its best."""
WORDS = {"tradeoff": "tradeoff {:g}", "topics": "{:g} topics", "positions": "{:g} positions"}


def rows(averages: pl.DataFrame, *by: str) -> Iterator[tuple[tuple[object, ...], list[str]]]:
    """Regret of every policy, a row for each value of ``by``; the lowest is bold."""
    for key, group in averages.group_by(*by, maintain_order=True):
        found = {row["case"]: row for row in group.iter_rows(named=True)}
        least = min(row["regret"] for row in found.values())
        yield key, [_cell(found[name], bold=found[name]["regret"] == least) for name in PAPER]


def _cell(row: dict[str, float], *, bold: bool) -> str:
    text = f"{row['regret']:,.0f} ± {row['regret_error']:,.0f}"
    return f"**{text}**" if bold else text


def with_axes(runs: pl.DataFrame, *axes: str) -> pl.DataFrame:
    """Means of all checkpoints, with the values of these axes."""
    places = runs.select("sweep", "point", *axes).unique(maintain_order=True)
    return means(runs).join(places, on=["sweep", "point"], how="left", maintain_order="left")


def regret(runs: pl.DataFrame) -> str:
    """Final regret in every setting of the paper."""
    values = {"tradeoff": "tradeoff", "topics": "topics", "positions": "k"}
    axes = [axis for axis in values.values() if axis in runs.columns]
    averages = final(with_axes(runs, *axes))
    lines = []
    for (sweep, *at), cells in rows(averages, "sweep", *axes):
        where = dict(zip(axes, at, strict=True))[values[str(sweep)]]
        lines.append([WORDS[str(sweep)].format(where), *cells])
    return table(["setting", *PAPER], lines)


def claims(folder: Path) -> str:
    """The verdict on every claim in every reading."""
    found = {name: _claims(folder / name) for name in READINGS}
    statements = {name: claim["statement"] for each in found.values() for name, claim in each.items()}
    heads = ["claim", *(READINGS[name] for name in found)]
    return table(
        heads, ([text, *(_verdict(each[name]) for each in found.values())] for name, text in statements.items())
    )


def _claims(folder: Path) -> dict[str, dict[str, object]]:
    return {claim["name"]: claim for claim in json.loads((folder / "claims.json").read_text())}


def _verdict(claim: dict[str, object]) -> str:
    parts = claim["parts"]
    assert isinstance(parts, list)
    number = sum(part["verdict"] == "holds" for part in parts)
    against = sum(part["verdict"] == "does not hold" for part in parts)
    return f"{claim['verdict']}: {number} of {len(parts)} for it, {against} against"


def details(folder: Path) -> str:
    """What was found, claim by claim, in the words of the report."""
    return "\n".join(
        f"- **{claim['statement']}** {claim['verdict']}: {claim['detail']}" for claim in _claims(folder).values()
    )


def one_run(first: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """The first lists of the study of horizons, the later ones of the paper's experiment: the same users and coins."""
    later = whole.filter(
        (pl.col("sweep") == "tradeoff")
        & pl.col("tradeoff").is_in(first["tradeoff"].unique().implode())
        & (pl.col("step") > first["step"].max())
    )
    places = first.select("sweep", "point", "tradeoff").unique(maintain_order=True)
    later = later.drop("sweep", "point").join(places, on="tradeoff", how="left", maintain_order="left")
    return pl.concat([first, later.select(first.columns)])


def horizons(runs: pl.DataFrame, axis: str, name: str) -> str:
    """Regret by horizon."""
    averages = (
        with_axes(runs, axis).filter(pl.col("step").is_in(HORIZONS)).sort("sweep", "point", "step", maintain_order=True)
    )
    lines = [
        [f"{key[0]}: {name} {key[1]:g}" if name else f"tradeoff {key[1]:g}", f"{key[2]:,}", *cells]
        for key, cells in rows(averages, "sweep", axis, "step")
    ]
    return table(["", "lists", *PAPER], lines)


def gammas(runs: pl.DataFrame) -> str:
    """Final regret by gamma, a row for each policy and tradeoff; the lowest is bold."""
    last = final(with_axes(runs, "gamma", "tradeoff"))
    values = sorted(last["gamma"].unique())
    lines = []
    for (tradeoff, case), group in last.group_by("tradeoff", "case", maintain_order=True):
        found = {row["gamma"]: row for row in group.iter_rows(named=True)}
        least = min(row["regret"] for row in found.values())
        lines.append(
            [f"{case}, tradeoff {tradeoff:g}", *(_cell(found[g], bold=found[g]["regret"] == least) for g in values)]
        )
    return table(["", *(f"gamma {value:g}" for value in values)], lines)


def thompson(runs: pl.DataFrame) -> str:
    """Final regret of CascadeHybridTS less that of CascadeHybrid, paired; a row for each two gammas."""
    places = runs.select("sweep", "point", "gamma", "tradeoff").unique(maintain_order=True)
    last = final(by_unit(runs)).join(places, on=["sweep", "point"], how="left", maintain_order="left").sort("unit")
    found = {key: group["regret"].to_numpy() for key, group in last.group_by("case", "gamma", "tradeoff")}
    tradeoffs = sorted(last["tradeoff"].unique())
    lines = []
    for drawn, bounds in GAMMAS_OF_THOMPSON:
        cells = []
        for tradeoff in tradeoffs:
            apart = found["CascadeHybridTS", drawn, tradeoff] - found["CascadeHybrid", bounds, tradeoff]
            mean, low, high = interval(apart, LEVEL)
            cells.append(f"{mean:,.0f} ({low:,.0f} to {high:,.0f})")
        lines.append([f"gamma {drawn:g}", f"gamma {bounds:g}", *cells])
    heads = ["Thompson sampling", "confidence bounds", *(f"tradeoff {tradeoff:g}" for tradeoff in tradeoffs)]
    return table(heads, lines)


def coverage(runs: pl.DataFrame) -> str:
    """Regret with the coverage of training users less that with the users' own, paired."""
    places = runs.select("sweep", "point", "perfect_coverage", "tradeoff").unique(maintain_order=True)
    last = final(by_unit(runs)).join(places, on=["sweep", "point"], how="left", maintain_order="left")
    lines = []
    for (tradeoff, case), group in last.group_by("tradeoff", "case", maintain_order=True):
        seen, perfect = (
            group.filter(pl.col("perfect_coverage") == flag).sort("unit")["regret"].to_numpy() for flag in (False, True)
        )
        mean, low, high = interval(seen - perfect, LEVEL)
        lines.append(
            [
                f"{case}, tradeoff {tradeoff:g}",
                f"{np.mean(seen):,.0f}",
                f"{np.mean(perfect):,.0f}",
                f"{mean:,.0f} ({low:,.0f} to {high:,.0f})",
            ]
        )
    return table(["", "coverage of training users", "coverage of the users", "cost"], lines)


def theorem(runs: pl.DataFrame) -> str:
    """Theorem 1 beside the regret of CascadeHybrid over the horizon."""
    averages = with_axes(runs, "tradeoff").filter((pl.col("case") == "CascadeHybrid") & pl.col("step").is_in(HORIZONS))
    tradeoffs = sorted(averages["tradeoff"].unique())
    lines = []
    for steps in HORIZONS:
        bound = theorem_bound(n=steps, k=10, m=10, d=18)
        at = averages.filter(pl.col("step") == steps).sort("tradeoff")["regret"]
        lines.append([f"{steps:,}", f"{bound.gamma:.1f}", f"{bound.regret:,.0f}", *(f"{value:,.0f}" for value in at)])
    return table(["steps", "gamma of Theorem 1", "its bound", *(f"measured, tradeoff {t:g}" for t in tradeoffs)], lines)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, path_type=Path), default=ROOT / "out" / "results")
def main(folder: Path) -> None:
    """Fill the page, and copy the figures beside it."""
    page, images = ROOT / "docs" / "results.md", ROOT / "docs" / "images"
    names = (*READINGS, "gamma", "horizon", "sparsity", "coverage")
    files = {name: folder / name / "runs.parquet" for name in names}
    found = {name: pl.read_parquet(path) for name, path in files.items() if path.exists()}
    parts = {}
    if found.keys() >= READINGS.keys():
        parts["claims"] = claims(folder)
    for name in READINGS:
        if name in found:
            parts[f"regret, {name}"] = regret(found[name])
            parts[f"details, {name}"] = details(folder / name)
            shutil.copy(folder / name / "figure.png", images / f"movielens-1m{SUFFIXES[name]}.png")
    if "gamma" in found:
        parts["gamma"] = gammas(found["gamma"])
        parts["thompson"] = thompson(found["gamma"])
    if "horizon" in found and "plain" in found:
        runs = one_run(found["horizon"], found["plain"])
        parts["horizon"] = horizons(runs, "tradeoff", "")
        parts["theorem"] = theorem(runs)
    if "sparsity" in found:
        parts["sparsity"] = horizons(found["sparsity"], "threshold", "from rating")
    if "coverage" in found:
        parts["coverage"] = coverage(found["coverage"])
    page.write_text(fill(page.read_text(), parts))


if __name__ == "__main__":
    main()
