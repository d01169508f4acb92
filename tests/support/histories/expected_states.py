"""What a model knows after some lists, computed by itself from what was kept of them."""

import json
from typing import Any

import numpy as np
from engines import Learned, batch

from histories.models import DECLARED, MODELS, TOGETHER
from rankfall.policies.context import Context
from rankfall.policies.linear.crosses import Crosses
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge


def state_of(model: str, learned: list[Any]) -> dict[str, bytes]:
    """The state of a model after these lists, computed by itself."""
    if model in TOGETHER:
        return together(learned, **MODELS[model])
    if "context" in MODELS[model]:
        return in_context(learned, MODELS[model].get("rewards"))
    if "rewards" in MODELS[model]:
        return valued(learned, **MODELS[model])
    if "policy" not in MODELS[model]:
        return batch(learned)
    window = MODELS[model].get("forgetting", {}).get("window")
    return counted(learned, window)


Outcome = tuple[int, str, float]
"""Position, type and value."""


def valued(lessons: list[Any], rewards: dict[str, float], feedback: str = "cascade", **_: Any) -> dict[str, bytes]:
    """Ridge regression of what items earned, in shares of the largest reward.

    A lesson is a list with its clicks and the outcomes before them, or an outcome on a list that came before.
    """
    model, largest = Ridge(4), max(rewards.values())
    for kept, clicks, before, later in lessons:
        rows = np.frombuffer(kept).reshape(-1, 4)
        last = clicks[0 if feedback == "cascade" else -1] if clicks else len(rows) - 1
        if later is not None:
            at, kind, value = later
            if at <= last:
                model.earn(rows[at], rewards[kind] * value / largest)
            continue
        earned = np.zeros(len(rows))
        earned[clicks] = rewards["click"] / largest
        for at, kind, value in before:
            earned[at] += rewards[kind] * value / largest
        model.learn(rows[: last + 1], earned[: last + 1])
    return {name: array.tobytes() for name, array in model.arrays().items()}


def in_context(lessons: list[Any], rewards: dict[str, float] | None) -> dict[str, bytes]:
    """Ridge regression on features crossed with the context: of each list 5 features for an item, then 5 numbers.

    How far the context may move preferences is chosen from the clicks alone.
    """
    model = Ridge(25)
    crossed = Crosses(Context(DECLARED["context"]), 5, model, None)
    worth, largest = rewards or {"click": 1.0}, max((rewards or {"click": 1.0}).values())
    for lesson in lessons:
        kept, clicks, before, later = lesson if rewards else (lesson[0], lesson[1], [], None)
        clicks = [] if clicks is None else [clicks] if isinstance(clicks, int) else clicks
        numbers = np.frombuffer(kept)
        rows, c = numbers[:-5].reshape(-1, 5), numbers[-5:]
        seen = clicks[0] + 1 if clicks else len(rows)
        if later is not None:
            at, kind, value = later
            if at < seen:
                model.earn(np.kron(c * crossed.scales[[0, 1, 1, 2, 2]], rows[at]), worth[kind] * value / largest)
            continue
        clicked = np.zeros(len(rows))
        clicked[clicks[:1]] = 1.0
        earned = np.zeros(len(rows))
        earned[clicks] = worth["click"] / largest
        for at, kind, value in before:
            earned[at] += worth[kind] * value / largest
        crossed.learn(rows[:seen], c, clicked[:seen], earned[:seen])
    return {name: array.tobytes() for name, array in (model.arrays() | crossed.arrays()).items()}


def together(
    lessons: list[Any], rewards: dict[str, float] | None = None, context: Any = None, **_: Any
) -> dict[str, bytes]:
    """Ridge regression that starts from the last prior there was; lessons are those of the other two, and priors.

    With a context the prior says how far it may move preferences: nothing else is chosen or kept.
    """
    rewards = rewards or {"click": 1.0}
    columns = 25 if context else 4
    model, largest = Ridge(columns, prior=Prior.identity(columns)), max(rewards.values())
    earned: dict[int, Any] = {}  # what the items of each list have earned
    for lesson in lessons:
        if isinstance(lesson, Prior):
            model = model.with_prior(lesson)
            continue
        kept, clicks, before, later = lesson if len(lesson) == 4 else (lesson[0], [lesson[1]], [], None)
        clicks = [click for click in clicks if click is not None]
        numbers = np.frombuffer(kept)
        rows = numbers[: -5 if context else None].reshape(-1, 5 if context else 4)
        if context:
            rows = np.array([np.kron(numbers[-5:], row) for row in rows])
        last = clicks[0] if clicks else len(rows) - 1
        if later is not None:
            at, kind, value = later
            if at <= last:
                model.earn(rows[at], rewards[kind] * value / largest, earned[id(kept)][at])
            earned[id(kept)][at] += rewards[kind] * value / largest
            continue
        own = earned[id(kept)] = np.zeros(len(rows))
        own[clicks] = rewards["click"] / largest
        for at, kind, value in before:
            own[at] += rewards[kind] * value / largest
        model.learn(rows[: last + 1], own[: last + 1].copy())
    crossed = {"cross_scales": np.ones(3), "cross_clicks": np.zeros(0), "cross_sums": np.zeros(2)} if context else {}
    return {name: array.tobytes() for name, array in (model.arrays() | crossed).items()}


def counted(learned: list[Learned], window: int | None) -> dict[str, bytes]:
    """How often each item was seen and clicked: in all lists, or in the last ones."""
    last = learned if window is None else learned[-window:]
    seen = [(json.loads(kept)[: None if hit is None else hit + 1], hit) for kept, hit in last]
    ids = sorted({item for items, _ in seen for item in items})
    clicks = [items[hit] for items, hit in seen if hit is not None]
    arrays: dict[str, Any] = {
        "ids": np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8),
        "observed": np.array([float(sum(item in items for items, _ in seen)) for item in ids]),
        "clicked": np.array([float(clicks.count(item)) for item in ids]),
        "n_updates": np.array(len(learned)),
    }
    if window is not None:
        longest = max((len(items) for items, _ in seen), default=0)
        padded = [[ids.index(item) for item in items] + [-1] * (longest - len(items)) for items, _ in seen]
        arrays["window"] = np.array(padded, dtype=np.int64)
        arrays["hits"] = np.array([-1 if hit is None else hit for _, hit in seen], dtype=np.int64)
    return {name: array.tobytes() for name, array in arrays.items()}
