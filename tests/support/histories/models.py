"""The models of a history, one of each kind, and who uses them."""

from typing import Any

from rankfall.wire.rules import Apart, Only

USERS = ["anna", "ben", "cleo", "dora"]
REWARDS = {"click": 1, "cart": 2, "bought": 5, "no": -1}
DECLARED = {
    "context": {"hour": {"kind": "hour"}, "device": {"kind": "category", "levels": ["tv", "web"]}},
    "request_features": {"match": {"scale": 2.0}},
}
MODELS: dict[str, dict[str, Any]] = {
    "shared": {"scope": "global"},
    "own": {"scope": "user", "rules": [{"kind": "at_most", "n": 1, "attribute": "brand"}]},
    "counted": {"scope": "global", "policy": "CascadeKLUCB"},
    "recent": {"scope": "user", "policy": "CascadeSWUCB", "forgetting": {"window": 3}},
    "valued": {"scope": "user", "rewards": REWARDS},
    "valued by all": {
        "scope": "global",
        "feedback": "last_click",
        "rewards": {"click": 0.5, "cart": 0.2, "bought": 0.3, "no": -2},
    },
    "together": {"scope": "user", "across_users": True},
    "valued together": {
        "scope": "user",
        "across_users": True,
        "rewards": {"click": 1, "cart": 2, "bought": 5, "no": -1},
    },
    "in context": {"scope": "user", **DECLARED},
    "valued in context": {"scope": "global", "rewards": REWARDS, **DECLARED},
    "together in context": {"scope": "user", "across_users": True, **DECLARED},
}
ALIKE = {
    "in context": ["CascadeHybrid", "CascadeHybridTS"],
    "together in context": ["CascadeHybrid", "CascadeHybridTS"],
    "valued in context": ["CascadeHybrid", "CascadeHybridGreedy"],
    "shared": ["CascadeHybrid", "CascadeHybridTS", "CascadeHybridGreedy", "CascadeHybridEpsilon"],
    "own": ["CascadeHybrid", "CascadeHybridTS"],
    "counted": ["CascadeKLUCB", "CascadeUCB1", "CascadeTS"],
    "recent": ["CascadeSWUCB"],
    "valued": ["CascadeHybrid", "CascadeHybridGreedy"],
    "valued by all": ["CascadeHybrid", "CascadeHybridTS"],
    "together": ["CascadeHybrid", "CascadeHybridTS"],
    "valued together": ["CascadeHybrid", "CascadeHybridGreedy"],
}
TOGETHER = [name for name, words in MODELS.items() if words.get("across_users")]
TYPES = ["cart", "bought", "no"]
RULES = [Apart(attribute="brand", within=2), Only(attribute="brand", op="!=", value="c")]
