"""How long it takes to learn what new users start from, how large its entry is, and whether callers wait for it.

    python benchmarks/prior_refresh.py --users 50000 --columns 28

Users learn once each and are saved; then the prior is learned as a server does it, while another thread has lists made,
one after the other, for users in memory.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable

import click
import numpy as np
from checkpoints import catalog_of, learn_once

from rankfall.journal.catalogs import encode_catalog
from rankfall.service import prior_refresh
from rankfall.service.commands import CreateModel, SeedCatalog
from rankfall.service.engine import Engine
from rankfall.stores import open_store
from rankfall.wire import ModelSettings, RankRequest


def measure(users: int, columns: int) -> str:
    """A row of the table."""
    prior_refresh.FIRST_LISTS = 10**9
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(open_store(folder), rank_patience=60.0)
        engine.write(SeedCatalog(encode_catalog(catalog_of(columns))))
        engine.write(CreateModel("own", ModelSettings(scope="user", across_users=True)))
        asyncio.run(learn_once(engine, users))
        engine.state.model("own").warm_up_later()
        model = engine.state.model("own")
        before = asyncio.run(lists(engine, 2.0, lambda: False))
        engine.serve()
        prior_refresh.FIRST_LISTS = 1
        began = time.perf_counter()
        during = asyncio.run(lists(engine, 600.0, lambda: bool(model.history.priors)))
        took = time.perf_counter() - began
        after = asyncio.run(lists(engine, 2.0, lambda: False))
        note = model.history.priors[-1]
        entry = engine.store.entry(note.position)
        assert entry is not None
        engine.close()
    waits = " | ".join(f"{np.median(w) * 1e3:.1f} / {max(w) * 1e3:.0f}" for w in (before, during, after))
    return f"| {columns} | {users:,} | {note.users:,} | {took:.1f} | {len(entry.body) / 1e3:.1f} | {waits} |"


async def lists(engine: Engine, seconds: float, done: Callable[[], bool]) -> list[float]:
    """How long each of many lists takes, one after the other."""
    took, model, n = [], engine.state.model("own"), 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until and not done():
        n += 1
        began = time.perf_counter()
        await engine.rank(model, RankRequest(user=f"user {n % 100}"))
        took.append(time.perf_counter() - began)
    return took


@click.command()
@click.option("--users", default=50_000, show_default=True)
@click.option("--columns", multiple=True, default=(28,), show_default=True)
def main(users: int, columns: tuple[int, ...]) -> None:
    """Measure how long a prior takes to learn."""
    click.echo("| columns | users | read | s in all | kB | ms a list before, median / longest | meanwhile | after |")
    click.echo("|---|---|---|---|---|---|---|---|")
    for one in columns:
        click.echo(measure(users, one))


if __name__ == "__main__":
    main()
