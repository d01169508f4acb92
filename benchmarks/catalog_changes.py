"""How long one changed item keeps a server busy, over a large catalog: the writer, and whoever ranks next.

    python benchmarks/catalog_changes.py [--items 100000] [--models 3] [--changes 30]

It prints one line of JSON: milliseconds (medians) on the thread that writes, for the list after a change, and for a
list without a change. Run it with the ``PYTHONPATH`` of another version to compare; it knows the engine of 0.1.0 too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from statistics import median
from typing import Any

import numpy as np

from rankfall import Catalog
from rankfall.service.engine import Engine
from rankfall.stores import open_store

try:
    from rankfall.journal.catalogs import encode_catalog
    from rankfall.service.commands import CreateModel, PatchItem, SeedCatalog
    from rankfall.wire import ItemPatch, ModelSettings, RankRequest

    OLD = False
except ImportError:
    from rankfall.service.schemas import Ask as RankRequest
    from rankfall.service.schemas import Settings as ModelSettings

    from rankfall.service.setup import _seed

    OLD = True


class Measured:
    """An engine, and the time its writing thread spends on folding."""

    def __init__(self, folder: str, items: int, models: int) -> None:
        rng = np.random.default_rng(0)
        catalog = Catalog(
            (rng.random((items, 18)) < 0.12) * rng.random((items, 18)),
            rng.random((items, 10)),
            ids=[f"i{n}" for n in range(items)],
            titles=[f"Title {n}" for n in range(items)],
        )
        self.topics, self.folding, self.seconds = catalog.topics, False, 0.0
        self.engine: Any = Engine(open_store(folder))
        self.write(_seed(self.engine, catalog) if OLD else SeedCatalog(encode_catalog(catalog)))
        for n in range(models):
            settings = ModelSettings(k=10)
            self.write(self.engine.create(f"m{n}", settings) if OLD else CreateModel(f"m{n}", settings))
        owner = self.engine if OLD else self.engine.state
        fold = "fold" if OLD else "catch_up"
        inner = getattr(owner, fold)

        def timed() -> Any:
            start = time.perf_counter()
            try:
                return inner()
            finally:
                self.seconds += time.perf_counter() - start

        setattr(owner, fold, timed)

    def write(self, what: Any) -> Any:
        """Have something written."""
        return self.engine.do_now(what) if OLD else self.engine.write(what)

    def patch(self, n: int) -> float:
        """Change one item; seconds of the writing thread."""
        coverage = {self.topics[n % 18]: 0.5}
        before = self.seconds
        if OLD:
            self.write(self.engine.patch_item(f"i{n}", {"coverage": coverage}))
        else:
            self.write(PatchItem(f"i{n}", ItemPatch(coverage=coverage)))
        return self.seconds - before

    async def rank(self) -> float:
        """Rank once with each model; seconds for each list."""
        models = list((self.engine if OLD else self.engine.state).models.values())
        start = time.perf_counter()
        for model in models:
            await self.engine.rank(model, RankRequest())
        return (time.perf_counter() - start) / len(models)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--changes", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        measured = Measured(folder, given.items, given.models)
        for _ in range(2):  # the first lists compile
            runner.run(measured.rank())
        writing, after, plain = [], [], []
        for n in range(given.changes):
            writing.append(measured.patch(n))
            after.append(runner.run(measured.rank()))
            plain.append(runner.run(measured.rank()))
        measured.engine.close()
    seconds = {"writer_ms": writing, "next_list_ms": after, "plain_list_ms": plain}
    about = {"items": given.items, "models": given.models}
    print(json.dumps(about | {name: round(1e3 * median(found), 2) for name, found in seconds.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
