"""How kernels are compiled, in one place.

All of them are compiled on first call and kept on disk, run without the interpreter's lock, and divide as NumPy does.
None but the bounding ones may reorder sums, so that equal inputs give equal bits wherever a kernel is called from.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


class _Announcer(event.Listener):
    """Says that kernels are being compiled, the first time it happens."""

    said = False

    def on_start(self, event: Any) -> None:
        ours = str(getattr(event.data["dispatcher"], "__module__", "")).startswith("rankfall.")
        if ours and not self.said:
            self.said = True
            logging.getLogger("rankfall").warning("compiling kernels; this happens once and takes about a minute")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


def _compile(function: F, **options: Any) -> F:
    result: F = njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    return result


def compiled(function: F) -> F:
    """A kernel that may allocate."""
    return _compile(function, _nrt=True)


def inner(function: F) -> F:
    """A kernel that allocates nothing, and so needs no reference counts: they would cost more than its loops."""
    return _compile(function, _nrt=False)


def leaf(function: F) -> F:
    """An inner kernel called many times a step: always inlined, as handing over its arrays would cost too much."""
    return _compile(function, _nrt=False, forceinline=True)


def bounding(function: F) -> F:
    """An inner kernel for bounds, whose last bits do not matter: sums may be reordered to run on vectors."""
    return _compile(function, _nrt=False, fastmath=True)


def bounding_leaf(function: F) -> F:
    """A bounding kernel that is always inlined."""
    return _compile(function, _nrt=False, fastmath=True, forceinline=True)
