"""What requests of a soak say beside who asks: a context, and rules about attributes; and whether lists keep rules."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from callers import K
from plain_rules import broken_at

from rankfall.wire.rules import Apart, AtLeast, AtMost, Only, Rule, rule_to_json

CONTEXT = {"hour": {"kind": "hour"}, "device": {"kind": "category", "levels": ["tv", "web"]}}
FEATURES = {"match": {"scale": 2.0}}
"""What candidates may have in one request."""
FACTORS = np.array([0, 1, 1, 2, 2])
"""Of each of the five numbers that a context becomes: a constant, the hour as two of them, and each level."""
RULES: tuple[Rule, ...] = (
    Only(attribute="in_stock", value=True),
    AtMost(n=2, attribute="brand"),
    AtLeast(n=1, attribute="provider", value="us", first=3),
)
ASKED = Apart(attribute="brand", within=2)
"""What some requests ask for beside that."""
LASTING = range(100)
"""Items of which nothing changes: baselines are made of them."""
STOCKED = range(100, 150)
"""Items that come into stock and go out of it."""
CHANGING = range(150, 220)
"""Items that are put in and taken out."""


def attributes_of(item: int) -> dict[str, Any]:
    """What is known of an item when the soak begins."""
    return {"brand": f"brand {item % 9}", "in_stock": item % 4 != 0, "provider": "us" if item % 5 == 0 else "them"}


def situation(model: str, rng: random.Random) -> dict[str, Any]:
    """What a request to a model says beside who asks; now and then nothing."""
    if model == "in_context" and rng.random() < 0.9:
        said: dict[str, Any] = {"hour": rng.randrange(96) / 4, "device": rng.choice(["tv", "web", "watch"])}
        context = {"context": {name: said[name] for name in rng.sample(list(said), rng.randint(1, 2))}}
        return context | (_candidates(rng) if rng.random() < 0.5 else {})
    if model == "ruled":
        baseline = {"baseline": rng.sample(LASTING, 4 * K)} if rng.random() < 0.5 else {}
        return baseline | ({"rules": [rule_to_json(ASKED)]} if rng.random() < 0.5 else {})
    return {}


def _candidates(rng: random.Random) -> dict[str, Any]:
    """Some items, a few of them with how well they match; the first of them are the baseline."""
    items = rng.sample(LASTING, 4 * K)
    told = [{"id": item, "features": {"match": rng.randrange(9) / 2}} if rng.random() < 0.5 else item for item in items]
    return {"candidates": told, "baseline": items[:K]}


def check_rules(answer: Mapping[str, Any], request: Mapping[str, Any], attributes: Sequence[Mapping[str, Any]]) -> None:
    """A list keeps all rules but those that it is said not to keep; ``attributes`` are those of its items."""
    rules = [*RULES, *([ASKED] if "rules" in request else [])]
    values = {rule.attribute: [known.get(rule.attribute) for known in attributes] for rule in rules}
    places = range(len(attributes))
    broken = [[i + 1, rule_to_json(rule)] for rule in rules for i in broken_at(rule, values[rule.attribute], places)]
    told = [[one["position"], one["rule"]] for one in answer.get("relaxed", [])]
    assert sorted(broken, key=str) == sorted(told, key=str), f"{broken} do not hold in {answer} with {attributes}"
    if answer["arm"] == "policy":  # of so many items some always keep all rules
        assert not broken, f"{answer} with {attributes}"
        assert len(attributes) == K, answer
