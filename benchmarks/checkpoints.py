"""How long saving the states of many users holds up the writer, and how many bytes that takes.

    python benchmarks/checkpoints.py --users 10000 --columns 28 --columns 100

Users learn once each; then everything is saved while another thread has small commands carried out, one after the
other. The longest of them tells how long the writer was held.
"""

import asyncio
import sqlite3
import tempfile
import threading
import time
from pathlib import Path

import click
import numpy as np

from rankfall import Catalog
from rankfall.journal.catalogs import encode_catalog
from rankfall.service import upkeep
from rankfall.service.commands import CreateModel, FindEvent, GiveFeedback, SeedCatalog
from rankfall.service.engine import Engine
from rankfall.stores import open_store
from rankfall.wire import FeedbackRequest, ModelSettings, RankRequest

TOGETHER = 100
"""Users who are served at the same time."""


def catalog_of(columns: int) -> Catalog:
    """Items with so many columns, half of them topics."""
    rng, topics = np.random.default_rng(0), columns // 2
    coverage = rng.random((200, topics)) * (rng.random((200, topics)) < 0.1)
    return Catalog(coverage, rng.normal(size=(200, columns - topics)), topics=[f"t{n}" for n in range(topics)])


async def learn_once(engine: Engine, users: int) -> None:
    """Have each user click on a list."""
    model = engine.state.model("own")
    for first in range(0, users, TOGETHER):
        names = [f"user {n}" for n in range(first, min(first + TOGETHER, users))]
        shown = await asyncio.gather(*(engine.rank(model, RankRequest(user=name)) for name in names))
        await engine.writer.submit(GiveFeedback(tuple(FeedbackRequest(event.id, 3) for event in shown)), 60.0)


def saved(file: Path) -> tuple[int, int]:
    """How many states are saved, and their bytes."""
    with sqlite3.connect(file) as connection:
        count, size = connection.execute("SELECT count(*), sum(length(state)) FROM checkpoints").fetchone()
    return count, size or 0


def measure(users: int, columns: int) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        upkeep.CHECKPOINT_AFTER = 10**9
        engine = Engine(open_store(folder), room=users, rank_patience=60.0)
        engine.write(SeedCatalog(encode_catalog(catalog_of(columns))))
        engine.write(CreateModel("own", ModelSettings(scope="user")))
        asyncio.run(learn_once(engine, users))
        held: list[float] = []
        done = threading.Event()

        def probe() -> None:
            while not done.is_set():
                began = time.perf_counter()
                engine.write(FindEvent("own", "nobody", ""))
                held.append(time.perf_counter() - began)

        file = Path(folder) / "rankfall.sqlite"
        before = saved(file)[0]
        thread = threading.Thread(target=probe)
        thread.start()
        began = time.perf_counter()
        upkeep.CHECKPOINT_AFTER = 1
        while saved(file)[0] < before + users + 1:
            time.sleep(0.02)
        took = time.perf_counter() - began
        done.set()
        thread.join()
        count, size = saved(file)
        upkeep.CHECKPOINT_AFTER = 10**9
        engine.close()
    return (
        f"| {columns} | {count:,} | {size / 1e6:.1f} | {size / count / 1e3:.1f} | {took:.1f} "
        f"| {max(held) * 1e3:.0f} | {np.median(held) * 1e3:.1f} |"
    )


@click.command()
@click.option("--users", default=10_000, show_default=True)
@click.option("--columns", multiple=True, default=(28, 100), show_default=True)
def main(users: int, columns: tuple[int, ...]) -> None:
    """Measure how long saving states holds up the writer."""
    click.echo("| columns | states | MB | kB a state | s in all | longest wait, ms | median wait, ms |")
    click.echo("|---|---|---|---|---|---|---|")
    for one in columns:
        click.echo(measure(users, one))


if __name__ == "__main__":
    main()
