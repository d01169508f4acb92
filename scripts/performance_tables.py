"""Put what ``rankfall bench`` measured into docs/performance.md and README.md.

    rankfall bench --data path/to/ml-1m --largest 1000000 --out out/bench
    python scripts/performance_tables.py

Tables stand between marks, ``<!-- bench: speed -->`` and ``<!-- end of bench: speed -->``; the figure of growth is
copied beside them.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from marked import fill, table

from rankfall.experiments.report.numbers import duration, short

ROOT = Path(__file__).resolve().parents[1]
Found = dict[str, Any]


def speed(found: Found, dense: bool = True) -> str:
    """Policies by horizon: our step, and how many times faster than NumPy's."""
    first = found["speed"][0]["data"]
    rows = [row for row in found["speed"] if (row["data"] == first) == dense]
    horizons = sorted({row["steps"] for row in rows})
    cells = {(row["policy"], row["steps"]): f"{short(row['ours'])} µs, **{row['ratio']:.0f}x**" for row in rows}
    numpy = {row["policy"]: f"{short(row['numpy'])} µs" for row in rows}
    heads = [f"a step, one core, {rows[0]['data']}", "plain NumPy", *(f"first {steps:,} steps" for steps in horizons)]
    return table(heads, ([name, numpy[name], *(cells[name, steps] for steps in horizons)] for name in numpy))


def in_brief(found: Found) -> str:
    """The speeds of the README: NumPy, the first hundred steps, and all."""
    first = found["speed"][0]["data"]
    rows = {(row["policy"], row["steps"]): row for row in found["speed"] if row["data"] == first}
    least, most = (pick(steps for _, steps in rows) for pick in (min, max))
    cells = [
        [
            name,
            f"{short(rows[name, most]['numpy'])} µs",
            *(
                f"{short(rows[name, steps]['ours'])} µs, **{rows[name, steps]['ratio']:.0f}x**"
                for steps in (least, most)
            ),
        ]
        for name in dict.fromkeys(policy for policy, _ in rows)
    ]
    return table(
        [f"a step, one core, {first}, K=10", "plain NumPy", f"first {least:,} steps", f"{most:,} steps"], cells
    )


def lists(found: Found) -> str:
    """Calls of rank, by size of the catalog."""
    sizes = sorted({row["items"] for row in found["rank"]})
    cells = {(row["asked"], row["items"]): row for row in found["rank"]}
    heads = ["`rank`, CascadeHybrid, K=10", *(f"{items:,} items: NumPy, Rankfall, slowest, ms" for items in sizes)]
    asked = dict.fromkeys(row["asked"] for row in found["rank"])
    return table(
        heads,
        (
            [
                name,
                *(
                    f"{short(row['numpy'])}, **{short(row['ours'])}**, {short(row['slowest'])}"
                    for row in (cells[name, items] for items in sizes)
                ),
            ]
            for name in asked
        ),
    )


def thompson(found: Found) -> str:
    """Draws and bounds on the same columns."""
    heads = [f"a step, {found['thompson'][0]['steps']:,} steps", "bounds", "Thompson", "times"]
    rows = found["thompson"]
    return table(
        heads,
        ([r["policy"], f"{short(r['bounds'])} µs", f"{short(r['ours'])} µs", f"{r['ratio']:.1f}x"] for r in rows),
    )


def growth(found: Found) -> str:
    """A step by number of items, of new models and of learned ones."""
    rows = [row for row in found["growth"] if row["varied"] == "items"]
    values = sorted({row["value"] for row in rows})
    cells = {(row["policy"], row["model"], row["value"]): short(row["ours"]) for row in rows}
    heads = ["microseconds a step", "model", *(f"{value:,} items" for value in values)]
    kinds = dict.fromkeys((row["policy"], row["model"]) for row in rows)
    return table(heads, ([*kind, *(cells[*kind, value] for value in values)] for kind in kinds))


def rest(found: Found) -> str:
    """All cores, and the paper's grid."""
    cores, grid = found["cores"][0], found["grid"][0]
    return (
        f"{cores['workers']} cores do {cores['ratio']:.2f} times the work of one. The paper's whole grid (both data "
        f"sets, {grid['steps'] / 1e9:.1f} billion interactions)\nwould take {duration(grid['seconds'])} with "
        f"{grid['workers']} workers."
    )


PARTS: dict[str, Callable[[Found], str]] = {
    "bench: speed": speed,
    "bench: sparse": lambda found: speed(found, dense=False),
    "bench: in brief": in_brief,
    "bench: rank": lists,
    "bench: thompson": thompson,
    "bench: growth": growth,
    "bench: rest": rest,
}


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, path_type=Path), default=ROOT / "out" / "bench")
def main(folder: Path) -> None:
    """Fill both pages."""
    found = json.loads((folder / "bench.json").read_text())
    parts = {name: make(found) for name, make in PARTS.items()}
    for page in (ROOT / "docs" / "performance.md", ROOT / "README.md"):
        page.write_text(fill(page.read_text(), parts))
    shutil.copy(folder / "growth.png", ROOT / "docs" / "images" / "growth.png")


if __name__ == "__main__":
    main()
