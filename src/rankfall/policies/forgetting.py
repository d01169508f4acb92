"""How old observations fade: a discount or a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rankfall.arrays import number, whole
from rankfall.errors import ProblemError


@dataclass(frozen=True)
class Discount:
    """Forgetting by fading: with every list learned from, all earlier ones count ``rho`` times what they did.

    So about ``1 / (1 - rho)`` lists count. The prior does not fade: O <- I + rho (O - I), b <- rho b, then the list is
    added. D-LinUCB (Russac et al., 2019) keeps a second matrix, faded by rho^2, to narrow its widths; we keep one, so
    our widths are never narrower than theirs.

    >>> Discount(1.5)
    Traceback (most recent call last):
    rankfall.errors.ProblemError: rho must be a number between 0 and 1, and neither of them, got 1.5
    """

    rho: float

    def __post_init__(self) -> None:
        if not 0.0 < number("rho", self.rho, ProblemError) < 1.0:
            raise ProblemError(f"rho must be a number between 0 and 1, and neither of them, got {self.rho!r}")


@dataclass(frozen=True)
class Window:
    """Forgetting by leaving: only the last ``lists`` lists learned from count, all alike.

    >>> Window(0)
    Traceback (most recent call last):
    rankfall.errors.ProblemError: lists must be a whole number from 1 on, got 0
    """

    lists: int

    def __post_init__(self) -> None:
        whole("lists", self.lists, ProblemError, low=1)


Forgetting: TypeAlias = Discount | Window


def forgetting_to_json(forgetting: Forgetting | None) -> dict[str, dict[str, float | int]] | None:
    """As plain JSON.

    >>> forgetting_to_json(Window(1000))
    {'Window': {'lists': 1000}}
    """
    if isinstance(forgetting, Discount):
        return {"Discount": {"rho": float(forgetting.rho)}}
    return None if forgetting is None else {"Window": {"lists": int(forgetting.lists)}}


def forgetting_from_json(said: Mapping[str, Mapping[str, Any]] | None) -> Forgetting | None:
    """What :func:`forgetting_to_json` wrote; raises ValueError or another error where it did not.

    >>> forgetting_from_json({"Window": {"lists": 1000}})
    Window(lists=1000)
    """
    if said is None:
        return None
    ((kind, settings),) = said.items()
    if kind not in ("Discount", "Window"):
        raise ValueError(f"no forgetting by {kind!r}; it is Discount or Window")
    return Discount(**settings) if kind == "Discount" else Window(**settings)
