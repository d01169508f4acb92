"""A service in this process, driven by a simulated user, and what its log must say, from plain NumPy."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankfall import Catalog, generate
from rankfall.journal.priors import decode_prior
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge
from rankfall.service.commands import GiveFeedback
from rankfall.service.engine import Engine
from rankfall.service.setup import prepare
from rankfall.stores import open_store
from rankfall.wire import FeedbackRequest, RankRequest

CATALOG: Catalog = generate(items=30, topics=4, features=3, seed=1).catalog


@contextmanager
def running(place: str, catalog: Catalog = CATALOG, **settings: Any) -> Iterator[Engine]:
    """An engine on a store, whose models draw the same each time."""
    prepare(place, lambda: catalog, settings)
    engine = Engine(open_store(place))
    for model in engine.state.models.values():
        model.rng = np.random.default_rng(3)
    try:
        yield engine
    finally:
        engine.close()


def drive(engine: Engine, lists: int, seed: int = 0, model: str = "default", **request: Any) -> list[str]:
    """Ask for lists and answer some of them, out of order; ids of the events."""
    rng = np.random.default_rng(seed)

    async def go() -> list[str]:
        made, waiting = [], []
        for i in range(lists):
            user = f"u{rng.integers(4)}"
            event = await engine.rank(
                engine.state.model(model), RankRequest(**{"user": user, "segment": "s", "k": 4, **request})
            )
            made.append(event.id)
            waiting.append(event.id)
            if rng.random() < 0.4 or i == lists - 1:
                rng.shuffle(waiting)
                answered, waiting = waiting[:-1], waiting[-1:]
                clicks = [[int(c) + 1 for c in rng.permutation(2)[: rng.integers(3)]] or None for _ in answered]
                pairs = zip(answered, clicks, strict=True)
                given = tuple(FeedbackRequest(event_id=e, clicked=c) for e, c in pairs)
                fed = await engine.writer.submit(GiveFeedback(given))
                assert {one.result for one in fed} <= {"accepted"}
        return made

    return asyncio.run(go())


def state_of(engine: Engine, model: str = "default", key: str = "") -> dict[str, np.ndarray]:
    view = asyncio.run(engine.view(engine.state.model(model), key))
    return view.policy.state()


def batch_state(
    folder: Path, model: str = "default", key: str = "", forgetting: Forgetting | None = None
) -> dict[str, np.ndarray]:
    """The state that the exported log says a model has, by nothing but ridge regression."""
    events = pl.read_parquet(folder / "events.parquet").filter(
        pl.col("model") == model, pl.col("owner") == key, pl.col("learn"), pl.col("result").is_not_null()
    )
    decisions = pl.read_parquet(folder / "decisions.parquet").filter(pl.col("model") == model)
    steps: list[tuple[int, str, Any]] = [(row["seq"], "learn", row) for row in events.iter_rows(named=True)]
    steps += [
        (row["seq"], row["kind"], json.loads(row["body"]))
        for row in decisions.iter_rows(named=True)
        if row["kind"] in ("reset", "restore", "prior")
    ]
    across = any('"across_users":true' in body for body in decisions.filter(pl.col("kind") == "create")["body"])
    fresh = partial(_fresh, _columns(folder), forgetting, across)
    return _state(sorted(steps, key=lambda step: step[0]), 2**62, fresh).arrays()


def _fresh(columns: int, forgetting: Forgetting | None, across: bool) -> Ridge:
    return Ridge(columns, forgetting, Prior.identity(columns) if across else None)


def _columns(folder: Path) -> int:
    return int(pl.read_parquet(folder / "events.parquet")["columns"].drop_nulls()[0])


def _state(steps: list[tuple[int, str, Any]], upto: int, fresh: Callable[[], Ridge]) -> Ridge:
    ridge = fresh()
    for at, kind, what in steps:
        if at > upto:
            break
        if kind == "reset":
            ridge = fresh()
        elif kind == "restore":
            ridge = _state(steps, what["source"], fresh)
        elif kind == "prior":
            ridge = ridge.with_prior(decode_prior(base64.b64decode(what["prior"])))
        else:
            features = np.array(what["features"]).reshape(-1, what["columns"])
            seen = min(what["clicked"], default=len(features) - 1) + 1
            rewards = np.zeros(seen)
            rewards[what["clicked"][:1] and min(what["clicked"])] = bool(what["clicked"])
            ridge.learn(features[:seen], rewards)
    return ridge


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def clicks(path: Path, lists: int, seed: int = 0, k: int = 5, **more: object) -> Path:
    rng = np.random.default_rng(seed)
    items = np.concatenate([rng.permutation(len(CATALOG))[:k] for _ in range(lists)])
    frame = pl.DataFrame(
        {
            "list": np.repeat(np.arange(lists), k),
            "position": np.tile(np.arange(1, k + 1), lists),
            "item": [CATALOG.ids[row] for row in items],
            "click": (rng.random(lists * k) < 0.15).astype(int),
            **more,
        }
    )
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.sample(fraction=1.0, shuffle=True, seed=1).sort("list", maintain_order=True).write_parquet(path)
    return path
