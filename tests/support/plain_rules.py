"""What rules ask of a list, said once more in plain Python: by values, without codes, counts or lookahead."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

from rankfall.wire.rules import Apart, AtLeast, Only, Rule

Values = Mapping[str, Sequence[Any]]
ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
DAY = 86400.0


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _moment(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    moment = datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def fits(rule: Any, value: Any, now: float | None) -> bool:
    """Whether the value of an item fits a rule."""
    if value is None:
        return False
    if rule.op == "=":
        return _same(value, rule.value)
    if rule.op == "!=":
        return not _same(value, rule.value)
    if rule.op == "in":
        return any(_same(value, one) for one in rule.value)
    if rule.op == "newer_than":
        assert rule.value.endswith("d")
        assert now is not None
        return _moment(value) >= now - float(rule.value[:-1]) * DAY
    return ORDERS[rule.op](_moment(value), _moment(rule.value))


def broken_at(rule: Rule, values: Sequence[Any], rows: Sequence[int], now: float | None = None) -> list[int]:
    """The positions of a whole list at which a rule does not hold."""
    shown = [values[row] for row in rows]
    if isinstance(rule, Only):
        return [i for i, value in enumerate(shown) if not fits(rule, value, now)]
    if isinstance(rule, Apart):
        return [
            i
            for i, value in enumerate(shown)
            if value is not None and any(_same(value, other) for other in shown[max(0, i - rule.within + 1) : i])
        ]
    end = len(rows) if rule.first is None else min(rule.first, len(rows))
    if isinstance(rule, AtLeast):
        return [] if sum(fits(rule, value, now) for value in shown[:end]) >= rule.n else [end - 1]
    alike: Callable[[Any, Any], bool] = _same if rule.value is None else lambda one, _: fits(rule, one, now)
    broken = []
    for i, value in enumerate(shown[:end]):
        counts = value is not None if rule.value is None else fits(rule, value, now)
        if counts and sum(other is not None and alike(other, value) for other in shown[:i]) >= rule.n:
            broken.append(i)
    return broken


def holds(rules: Sequence[Rule], values: Values, rows: Sequence[int], now: float | None = None) -> bool:
    """Whether a whole list keeps all rules."""
    return not any(broken_at(rule, values[rule.attribute], rows, now) for rule in rules)


def completions(begun: Sequence[int], fixed: Mapping[int, int], free: Sequence[int], k: int) -> Iterator[list[int]]:
    """All lists of ``k`` that begin so, hold the fixed rows at their positions, and take the others from ``free``."""
    open_positions = [i for i in range(len(begun), k) if i not in fixed]
    rest = [row for row in free if row not in begun]
    for chosen in permutations(rest, len(open_positions)):
        whole = [*begun, *[-1] * (k - len(begun))]
        for i, row in fixed.items():
            if i >= len(begun):
                whole[i] = row
        for i, row in zip(open_positions, chosen, strict=True):
            whole[i] = row
        yield whole
