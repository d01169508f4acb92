"""How kernels are compiled, in one place.

All of them are compiled on first call and kept on disk (:mod:`rankfall.kernels.kept_code`), run without the
interpreter's lock, and divide as NumPy does. None but the bounding ones may reorder sums, so that equal inputs give
equal bits wherever a kernel is called from.

Compiling takes seconds, so each kernel is compiled in as few forms as possible. Only those that Python calls get an
entry from Python, which unpacks every array of every tuple; and a constant argument makes no form of its own.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types
from numba.core import event
from numba.core.registry import CPUDispatcher

from rankfall.kernels.kept_code import KeptCode, written_to

F = TypeVar("F", bound=Callable[..., Any])


class _Announcer(event.Listener):
    """Says that kernels are being compiled, the first time it happens, and counts them."""

    count = 0

    def on_start(self, event: Any) -> None:
        ours = str(getattr(event.data["dispatcher"], "__module__", "")).startswith("rankfall.")
        self.count += ours
        if ours and self.count == 1:
            kept = "they cannot be kept" if written_to() is None else f"kept in {written_to()}"
            logging.getLogger("rankfall").warning("compiling kernels that were not used here before; %s", kept)

    def on_end(self, event: Any) -> None:
        pass


_announcer = _Announcer()
event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


def count_compiled() -> int:
    """How many forms of kernels this process has compiled, not counting those it found on disk."""
    return _announcer.count


def _with_room(work: Callable[..., Any], *args: Any) -> Any:
    """Call a function on a large piece of Python's stack.

    CPython takes memory for frames in pieces of 16 KB, and gives one back when its first frame returns. A loop deep
    inside a compiler that calls from the end of one piece into the next has the system map memory at every call, which
    took a quarter of the time of compiling. This frame asks for half a megabyte, and so gets a whole one: those of all
    that is called from here find room behind it.
    """
    return work(*args)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=1 << 16)  # of 8 bytes each


class _ForPython(CPUDispatcher):
    """A kernel that Python calls."""

    def compile(self, signature: Any) -> Any:
        return _with_room(super().compile, signature)


class _ForKernels(CPUDispatcher):
    """A kernel without an entry from Python, where a call would end the process."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"only kernels call {self.py_func.__name__}; mark it with @entry, or call its py_func")


def _compile(function: F, **options: Any) -> F:
    usual = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "fastmath": False, "forceinline": False}
    options = {**usual, **options}  # what is not said is taken from whichever kernel is being compiled around this one
    kernel: Any = njit(**options)(function)
    kernel.__class__ = _ForKernels if "no_cpython_wrapper" in options else _ForPython
    kernel._cache = KeptCode(function)
    of_types = kernel.get_call_template

    def of_any_value(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        unliteral: Any = types.unliteral
        return of_types(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

    kernel.get_call_template = of_any_value
    result: F = kernel
    return result


def compiled(function: F) -> F:
    """A kernel that may allocate."""
    return _compile(function, _nrt=True)


def entry(function: F) -> F:
    """A kernel that Python calls and that allocates nothing, and so needs no reference counts: they would cost more."""
    return _compile(function, _nrt=False)


def inlined_entry(function: F) -> F:
    """An entry that kernels call many times a step: always inlined there, as handing over its arrays costs too much."""
    return _compile(function, _nrt=False, forceinline=True)


def inner(function: F) -> F:
    """A kernel that only kernels call, and that allocates nothing. Python can call its ``py_func``."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True)


def leaf(function: F) -> F:
    """An inner kernel called many times a step: always inlined, as handing over its arrays would cost too much."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, forceinline=True)


def part(function: F) -> F:
    """A piece of the kernels that call it, which is compiled with them and not by itself."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, inline="always")


def bounding(function: F) -> F:
    """An inner kernel for bounds, whose last bits do not matter: sums may be reordered to run on vectors."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, fastmath=True)


def bounding_leaf(function: F) -> F:
    """A bounding kernel that is always inlined."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, fastmath=True, forceinline=True)
