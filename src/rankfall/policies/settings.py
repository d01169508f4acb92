"""Settings of policies: frozen values whose fields have a default and a check."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import finite, number, whole
from rankfall.errors import ProblemError

Check = Callable[[str, Any], Any]
"""Gives the value of a field by name, converted; raises :class:`ProblemError` where it makes no sense."""


@dataclass(frozen=True)
class PolicySettings:
    """How a policy behaves. Every field has a default; a value that makes no sense is refused.

    A policy with settings of its own declares them like this:

    >>> @dataclass(frozen=True)
    ... class Settings(PolicySettings):
    ...     epsilon: float = real(0.1, low=0.0, high=1.0)
    >>> Settings(epsilon=2)
    Traceback (most recent call last):
    rankfall.errors.ProblemError: epsilon must be a number in [0, 1], got 2
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            checked(each, getattr(self, each.name))
        self.check()

    def check(self) -> None:
        """Raise :class:`ProblemError` for fields that do not go together; by default all do."""

    @classmethod
    def of(cls, owner: str, named: dict[str, Any]) -> Self:
        """The settings with these values, each converted to the plain type of its field.

        >>> PolicySettings.of("TopRank", {"speed": 3})
        Traceback (most recent call last):
        rankfall.errors.ProblemError: TopRank has no setting 'speed'; it has none
        """
        known = {each.name: each for each in fields(cls)}
        for name in named:
            if name not in known:
                raise ProblemError(f"{owner} has no setting {name!r}; it has {', '.join(known) or 'none'}")
        return cls(**{name: checked(known[name], value) for name, value in named.items()})


def checked(each: Field[Any], value: Any) -> Any:
    """The value of a field, converted if the field says how."""
    check: Check | None = each.metadata.get("check")
    return value if check is None or (value is None and each.default is None) else check(each.name, value)


def _setting(default: Any, check: Check) -> Any:
    return field(default=default, metadata={"check": check})


def real(default: float | None, *, low: float = -np.inf, high: float = np.inf) -> Any:
    """A number within [low, high]; None is allowed where it is the default."""
    return _setting(default, lambda name, value: number(name, value, ProblemError, low=low, high=high))


def count(default: int | None, *, low: int = 1) -> Any:
    """A whole number from ``low`` on."""
    return _setting(default, lambda name, value: whole(name, value, ProblemError, low=low))


def flag(default: bool) -> Any:
    """True or False."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise ProblemError(f"{name} must be True or False, got {value!r}")
        return bool(value)

    return _setting(default, check)


def one_of(default: str | None, *allowed: str) -> Any:
    """One of a few words."""

    def check(name: str, value: Any) -> str:
        if value not in allowed:
            raise ProblemError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        return str(value)

    return _setting(default, check)


def made_by(kind: type[Any]) -> Any:
    """None, or a value of this class, which may also be given as what the class makes it of."""
    return _setting(None, lambda _, value: value if isinstance(value, kind) else kind(value))


def reals(default: tuple[Any, ...] | None, *, ndim: int = 1) -> Any:
    """An array of finite numbers, kept as a tuple (of tuples)."""

    def check(name: str, value: Any) -> tuple[Any, ...]:
        array = finite(name, list(value) if ndim == 1 and isinstance(value, Iterable) else value, ndim, ProblemError)
        return _tuples(array)

    return _setting(default, check)


def wholes(default: tuple[int, ...] | None) -> Any:
    """Whole numbers from 0 on, kept as a tuple."""

    def check(name: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, Iterable):
            raise ProblemError(f"{name} must be a sequence of whole numbers, got {value!r}")
        return tuple(whole(f"each of {name}", one, ProblemError, low=0) for one in value)

    return _setting(default, check)


def _tuples(array: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(array.tolist()) if array.ndim == 1 else tuple(_tuples(row) for row in array)


def signature_of(settings: type[PolicySettings]) -> inspect.Signature:
    """``(catalog, *, ...)`` of policies with these settings, so that help() tells which there are."""
    kind = inspect.Parameter.KEYWORD_ONLY
    first = inspect.Parameter("catalog", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [inspect.Parameter(f.name, kind, default=f.default, annotation=f.type) for f in fields(settings)]
    return inspect.Signature([first, *named])
