"""What rules cost: a list under them, over a plain list of the same model, in turns.

    python benchmarks/list_rules.py [--items 1000 100000] [--turns 200] [--learned 2000]

At most two of each of 100 brands, only what is in stock (four items in five), and no two of a brand within three
positions; lists of ten. Without shortlists: a request that excludes an item, as for a model that is new, forgets, or
has one state for each user. With shortlists: any item of a model that has learned and goes on learning. Each list is
the first after the model has learned from the one before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from rankfall import Apart, AtLeast, AtMost, CascadeHybrid, Catalog, Only, Ranking
from rankfall.wire.rules import Rule

K = 10
RULES: tuple[Rule, ...] = (
    AtMost(n=2, attribute="brand"),
    Only(attribute="in_stock", value=True),
    Apart(attribute="brand", within=3),
)
QUOTA: tuple[Rule, ...] = (*RULES, AtLeast(n=2, attribute="new", value=True, first=5))


def shop(items: int) -> Catalog:
    """Items with 18 topics, about two each, and ten features; the features of a brand's items are alike."""
    rng = np.random.default_rng(0)
    brand = rng.integers(100, size=items)
    relevance = rng.normal(size=(100, 10))[brand] + rng.normal(size=(items, 10))
    return Catalog(
        (rng.random((items, 18)) < 0.12) * rng.random((items, 18)),
        relevance / np.linalg.norm(relevance, axis=1, keepdims=True),
        attributes={
            "brand": [f"brand {n}" for n in brand],
            "in_stock": (rng.random(items) < 0.8).tolist(),
            "new": (rng.random(items) < 0.05).tolist(),
        },
    )


def learned(catalog: Catalog, lists: int) -> CascadeHybrid:
    """A policy that has seen so many lists, of people who like some features."""
    policy, rng = CascadeHybrid(catalog, gamma=0.5), np.random.default_rng(1)
    taste = rng.random(28) * 0.3
    for _ in range(lists):
        ranking = policy.rank(K)
        clicked = np.flatnonzero(rng.random(K) < ranking.features @ taste)
        policy.update(ranking, int(clicked[0]) if len(clicked) else None)
    return policy


def microseconds(what: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    what()
    return (time.perf_counter() - began) * 1e6


def compare(
    policy: CascadeHybrid, turns: int, exclude: list[int] | None, rules: tuple[Rule, ...]
) -> tuple[float, float]:
    """Means of plain lists and of lists under rules, each the first after the policy has learned from another list."""
    took: dict[bool, list[float]] = {False: [], True: []}
    rng, taste = np.random.default_rng(2), np.random.default_rng(1).random(28) * 0.3
    for turn in range(2 * turns + 20):
        ruled = turn % 2 == 1
        shown: list[Ranking] = []
        make = partial(policy.rank, K, exclude=exclude, rules=rules if ruled else None)
        took[ruled].append(microseconds(lambda make=make, shown=shown: shown.append(make())))
        clicked = np.flatnonzero(rng.random(K) < shown[0].features @ taste)
        policy.update(shown[0], int(clicked[0]) if len(clicked) else None)
    return trimmed(took[False][10:]), trimmed(took[True][10:])


def trimmed(times: list[float]) -> float:
    """Their mean without the longest tenth, when something else ran."""
    return float(np.mean(sorted(times)[: -(len(times) // 10) or None]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--learned", type=int, default=2_000, help="lists that the model has learned from before")
    given = parser.parse_args()
    sys.stdout.write("| items | shortlists | rules | plain, µs | under rules, µs | ratio |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for items in given.items:
        catalog = shop(items)
        policy = learned(catalog, given.learned)
        for name, exclude in (("no", [0]), ("yes", None)):
            for words, rules in (("three", RULES), ("and a quota", QUOTA)):
                plain, ruled = compare(policy, given.turns, exclude, rules)
                times = f"{plain:,.0f} | {ruled:,.0f} | {ruled / plain:.2f}"
                sys.stdout.write(f"| {items:,} | {name} | {words} | {times} |\n")


if __name__ == "__main__":
    main()
