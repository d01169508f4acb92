"""How long it takes to build a catalog from a large click log, and how much memory.

    python benchmarks/catalog_build.py --millions 10 --millions 100

A table of items and a log of so many million rows, a row for each item shown, are generated in a temporary folder and
removed. Building runs in a process of its own, whose time (imports included) and peak memory are printed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
import polars as pl

_WORK = """
import json, resource, sys, time
start = time.perf_counter()
from rankfall import build_catalog
built = build_catalog(sys.argv[1], log=sys.argv[2])
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_SELF)
figures = {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 2**20}
print(json.dumps({**figures, "text": built.describe()}))
"""
_FILE = 5_000_000  # rows of one file


def generate(folder: Path, millions: int, items: int, users: int) -> None:
    """Write a table of items, and a folder of Parquet files with what users were shown and clicked."""
    rng = np.random.default_rng(0)
    topics = np.array([f"topic {j}" for j in range(20)])
    table = {
        "id": np.arange(items),
        "topics": ["|".join(rng.choice(topics, int(rng.integers(1, 4)), replace=False)) for _ in range(items)],
        "price": np.exp(rng.normal(3, 1, items)),
        "age_days": rng.integers(0, 1000, items),
        "brand": [f"brand {j}" for j in rng.zipf(1.5, items) % 200],
    }
    pl.DataFrame(table).write_parquet(folder / "items.parquet")
    (folder / "log").mkdir()
    appeal = rng.beta(1, 10, items)
    left = millions * 1_000_000
    for number in range(-(-left // _FILE)):
        rows = min(_FILE, left)
        left -= rows
        item = (items * rng.random(rows, dtype=np.float32) ** 2).astype(np.int32) % items
        user = rng.integers(0, users, rows // 10 + 1, dtype=np.int32).repeat(10)[:rows]  # lists of ten
        shown = {"user": user, "item": item, "click": rng.random(rows, dtype=np.float32) < appeal[item]}
        pl.DataFrame(shown).write_parquet(folder / "log" / f"{number:03d}.parquet")


@click.command()
@click.option("--millions", type=int, multiple=True, default=(10,), show_default=True, help="Million rows of the log.")
@click.option("--items", default=50_000, show_default=True, help="Number of items.")
@click.option("--users", default=1_000_000, show_default=True, help="Number of users.")
def main(millions: tuple[int, ...], items: int, users: int) -> None:
    """Print time and peak memory for each size."""
    first = None
    for size in millions:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            generate(folder, size, items, users)
            stored = sum(path.stat().st_size for path in (folder / "log").iterdir()) / 2**20
            command = [sys.executable, "-c", _WORK, str(folder / "items.parquet"), str(folder / "log")]
            done = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
            )
        first = first or done
        click.echo(
            f"{size} million rows ({stored:,.0f} MiB): {done['seconds']:,.0f} s, processor {done['cpu']:,.0f} s, "
            f"peak {done['peak']:.2f} GiB; {done['cpu'] / first['cpu']:.1f} times the processor time and "
            f"{done['peak'] / first['peak']:.2f} times the memory of the first size"
        )
        click.echo("\n".join(done["text"].splitlines()[:2]))


if __name__ == "__main__":
    main()
