"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

ABSENT = "\N{EN DASH}"
"""Stands where there is no number."""


def known(value: float | None) -> TypeGuard[float]:
    """Whether there is a number."""
    return value is not None and math.isfinite(value)


def digits(numbers: Iterable[float | None]) -> int:
    """Digits after the point, the same in all rows of a table, that show four of the smallest number.

    >>> digits([123.4, 5000.0]), digits([0.5])
    (1, 4)
    """
    sizes = [abs(number) for number in numbers if known(number) and number]
    return min(6, max(0, 3 - math.floor(math.log10(min(sizes))))) if sizes else 0


def fixed(value: float | None, places: int, unit: str = "") -> str:
    """So many digits after the point; a true minus.

    >>> fixed(-1234.56, 1), fixed(None, 1)
    ('−1,234.6', '–')
    """
    return f"{value:,.{places}f}{unit}".replace("-", "\N{MINUS SIGN}") if known(value) else ABSENT


def short(value: float | None) -> str:
    """Three digits that matter, or all before the point; a true minus.

    >>> short(1234.5), short(12.345), short(0.001234)
    ('1,234', '12.3', '0.00123')
    """
    if not known(value):
        return ABSENT
    size = abs(value)
    return fixed(value, 0 if size >= 100 or size == 0 else min(6, 2 - math.floor(math.log10(size))))


def span(values: Iterable[int]) -> str:
    """One number, or the least and the most.

    >>> span([5, 5]), span([1000, 20000])
    ('5', '1,000 to 20,000')
    """
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def duration(seconds: float) -> str:
    """In the unit people would use.

    >>> [duration(s) for s in (3.2, 100, 5400, 200000)]
    ['3 s', '1.7 minutes', '1.5 hours', '55.6 hours']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"


def flat(value: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested tables as names with dots and texts.

    >>> list(flat({"seed": 12345, "user": {"tradeoff": 0.5}}))
    [('seed', '12,345'), ('user.tradeoff', '0.5')]
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from flat(item, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(_text(item) for item in value)
    else:
        yield prefix, _text(value)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value >= 10_000 else str(value)
