"""What context, rules, rewards and priors cost the service: models that have them beside one that has none, in turns.

    python benchmarks/load_with.py --rounds 5

One server on SQLite with 1,000 items, a worker, and lists of ten. Each model takes its turns at full load. The middle
round counts.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
from load import Setting, call, middle, serving

RULES = [
    {"kind": "at_most", "n": 2, "attribute": "brand"},
    {"kind": "only", "attribute": "in_stock", "value": True},
    {"kind": "apart", "attribute": "brand", "within": 2},
]
CONTEXT = {"hour": {"kind": "hour"}, "device": {"kind": "category", "levels": ["mobile", "desktop"]}}
SAID = {"context": {"hour": 8.5, "device": "mobile"}}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "rewards": ({"rewards": {"click": 1, "purchase": 5}}, {}),
    "rules": ({"rules": RULES}, {}),
    "context": ({"context": CONTEXT}, SAID),
    "context and rules": ({"context": CONTEXT, "rules": RULES}, SAID),
    "a model for each user": ({"scope": "user", "across_users": False}, {}),
    "a model for each user, across users": ({"scope": "user"}, {}),
}
"""What each model is made with, and what requests for its lists say beside who asks."""


@click.command(help=__doc__)
@click.option("--seconds", type=float, default=4.0, show_default=True, help="How long a round takes.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="The middle one counts.")
@click.option("--users", type=click.IntRange(1), default=2_000, show_default=True)
def main(seconds: float, rounds: int, users: int) -> None:
    """Measure and print."""
    setting = Setting(1_000, "global", 1, "sqlite", users)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="rankfall-load-") as folder, serving(setting, Path(folder), None) as served:
        items = served.client.get("/v1/catalog/items", params={"limit": 1000}).raise_for_status().json()["items"]
        for item in items:
            attributes = {"brand": f"brand {rng.integers(100)}", "in_stock": bool(rng.random() < 0.9)}
            path = f"/v1/catalog/items/{item['id']}"
            served.client.patch(path, json={"attributes": attributes}).raise_for_status()
        names = {words: f"m{n}" for n, words in enumerate(MODELS)}
        for words, (settings, _) in MODELS.items():
            served.client.put(f"/v1/models/{names[words]}", json=settings).raise_for_status()
        assert served.process is not None
        watch = {"server": served.process.pid}

        def load(words: str, seconds: float) -> dict[str, Any]:
            also = json.dumps(MODELS[words][1])
            return call(served.port, seconds, 16, watch, users=users, model=names[words], also=also)

        for words in MODELS:
            load(words, 3.0)
        found = {words: [] for words in MODELS}  # type: dict[str, list[dict[str, Any]]]
        for _ in range(rounds):
            for words in MODELS:
                found[words].append(load(words, seconds))
    click.echo("| | pairs/s | rank p50 / p99 ms | server ms a pair | of plain |\n|---|---:|---:|---:|---:|")
    plain = middle(found["plain"])["processor"]["server"]
    for words, turns in found.items():
        one = middle(turns)
        cost = one["processor"]["server"]
        times = f"{one['rank']['p50']:.1f} / {one['rank']['p99']:.1f}"
        click.echo(f"| {words} | {one['pairs']:,.0f} | {times} | {cost:.3f} | {cost / plain:.2f} |")
        if one["failed"]:
            click.secho(f"{words}: {one['failure']}", fg="red", err=True)


if __name__ == "__main__":
    main()
