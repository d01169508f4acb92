"""Kernels are compiled in as few forms as possible, and it is said when that happens."""

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numba import typeof
from numba.core.caching import NullCache

from rankfall import POLICIES, CascadeHybrid, Catalog, LinearPolicy
from rankfall.kernels import in_background, jit
from rankfall.kernels.jit import bounding_leaf, count_compiled, entry, inlined_entry, inner
from rankfall.policies.trial_use import a_few_items


@inner
def _scaled(values: np.ndarray, by: int, twice: bool) -> float:
    total = 0.0
    for value in values:
        total += value * by
    return 2.0 * total if twice else total


@entry
def _with_constants(values: np.ndarray, by: int) -> float:
    return _scaled(values, 2, True) + _scaled(values, 3, False) + _scaled(values, by, by > 0)


@entry
def _exact(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@bounding_leaf
def _roughly(values: np.ndarray) -> float:
    return _exact(values) + 1.0


@inlined_entry
def _outermost(values: np.ndarray) -> float:
    return _roughly(values)


def test_a_kernel_takes_nothing_from_the_one_that_is_compiled_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else its bits and its speed would depend on what is compiled first."""
    monkeypatch.setattr(_outermost, "_cache", NullCache())
    monkeypatch.setattr(_roughly, "_cache", NullCache())
    monkeypatch.setattr(_exact, "_cache", NullCache())
    assert _outermost(np.array([1.0, 2.0])) == 4.0
    (code,) = _exact.inspect_llvm().values()  # type: ignore[attr-defined]
    assert "fadd double" in code
    assert "fadd fast" not in code
    assert "alwaysinline" not in code


def test_constants_make_no_form_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    if in_background._thread is not None:  # of a server in an earlier test: it compiles too
        in_background._thread.join()
    monkeypatch.setattr(_with_constants, "_cache", NullCache())  # or else another run may have kept it
    before = count_compiled()
    assert _with_constants(np.array([1.0, 2.0]), 5) == 2 * 3 * 2 + 3 * 3 + 2 * 5 * 3
    assert len(_scaled.overloads) == 1  # type: ignore[attr-defined]
    assert count_compiled() == before  # only those of the package are counted


def test_a_kernel_that_python_calls_is_compiled_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def with_room(work: Callable[..., object], *args: object) -> object:
        compiled.append(args)
        return jit_with_room(work, *args)

    jit_with_room = jit._with_room
    monkeypatch.setattr(jit, "_with_room", with_room)
    assert entry(_with_constants.py_func)(np.array([1.0]), 1) == 9.0  # type: ignore[attr-defined]
    assert len(compiled) == 1  # and the kernels it calls find room there
    assert jit_with_room(divmod, 7, 2) == (3, 1)


def test_compiling_is_announced_once_and_only_then(tmp_path: Path) -> None:
    script = (
        "import numpy as np\n"
        "from rankfall.kernels import ridge\n"  # a small one, which is soon compiled
        "ridge.invert(np.eye(2), np.empty((2, 2)))\n"
        "ridge.invert(np.eye(2)[::-1], np.empty((2, 2)))\n"  # another form
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    said = [
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stderr
        for _ in range(2)
    ]
    assert said[0].startswith(f"compiling kernels that were not used here before; kept in {tmp_path}")
    assert (said[0].count("\n"), said[1]) == (1, "")
    assert logging.getLogger("rankfall").level == logging.NOTSET


@pytest.mark.parametrize(("lists", "forms"), [(1, 0), (5, 1)])
def test_the_first_lists_of_a_model_need_no_shortlists(lists: int, forms: int) -> None:
    script = (
        "from rankfall import CascadeHybrid\n"
        "from rankfall.kernels import shortlists\n"
        "from rankfall.policies.trial_use import a_few_items\n"
        "policy = CascadeHybrid(a_few_items())\n"
        f"for _ in range({lists}): policy.rank(2)\n"
        "print(len(shortlists.rank.overloads))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{forms}\n"


COVERAGES = ([[0.5, 0.0], [0.2, 0.1], [0.0, 0.0]], [[0.0], [0.0], [0.0]], [[0.5], [0.0], [0.0]], [[1.0], [1.0], [1.0]])
LINEAR = [name for name, policy in POLICIES.items() if issubclass(policy, LinearPolicy)]


@pytest.mark.parametrize("coverage", COVERAGES)
@pytest.mark.parametrize("name", LINEAR)
def test_kernels_see_the_same_types_whatever_the_items(name: str, coverage: list[list[float]]) -> None:
    """Any other type would have them compiled once more, in the middle of something else."""
    usual = CascadeHybrid(a_few_items()).compiled(2)
    relevance = np.asfortranarray([[1.0, 0.0], [0.5, 0.2], [0.1, 0.3]])
    relevance.flags.writeable = False
    policy = POLICIES[name](Catalog(coverage=coverage, relevance=relevance), gamma=1)
    assert isinstance(policy, LinearPolicy)
    assert typeof(policy.compiled(1)) == typeof(usual)
    again = policy.with_state(policy.state())
    assert isinstance(again, LinearPolicy)
    assert typeof(again.compiled(1)) == typeof(usual)
