"""Compiled code outlives its process, wherever it can be kept."""

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankfall.kernels import kept_code

INVERT = (
    "import numpy as np\n"
    "from rankfall.kernels import jit, ridge\n"
    "ridge.invert(np.eye(2), np.empty((2, 2)))\n"
    "print(jit.count_compiled())\n"
)
NOWHERE = "from rankfall.kernels import kept_code\nkept_code._writable = lambda folder: False\n"
MAIN_JOBS = (
    "from rankfall import CascadeHybrid, CascadeUser, simulate\n"
    "from rankfall.kernels import jit\n"
    "from rankfall.policies.trial_use import a_few_items, try_out\n"
    "catalog = a_few_items()\n"
    "try_out(CascadeHybrid.serve(catalog))\n"
    "user = CascadeUser(catalog.coverage, catalog.relevance, [0.5, 0.3, 0.1], [0.1, 0.1], 0.5)\n"
    "simulate(CascadeHybrid(catalog), user, 20, 2)\n"
    "print(jit.count_compiled())\n"
)


def run(script: str, **environment: str) -> tuple[int, str]:
    """How many kernels a script compiled, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout), done.stderr


@pytest.fixture(autouse=True)
def looked_for_afresh() -> Iterator[None]:
    """Places are looked for once in a process."""
    yield
    kept_code.written_to.cache_clear()
    kept_code.read_from.cache_clear()


def test_a_second_process_compiles_nothing_for_the_main_jobs() -> None:
    run(MAIN_JOBS)
    assert run(MAIN_JOBS) == (0, "")


def test_it_does_not_matter_how_old_the_sources_are(tmp_path: Path) -> None:
    package = tmp_path / "rankfall"
    shutil.copytree(
        Path(kept_code.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__", "service", "data")
    )
    found = []
    for moment in (1e9, 4e9):  # in 2001 and in 2096
        for source in (package / "kernels").glob("*.py"):
            os.utime(source, (moment, moment))
        found.append(run(INVERT, PYTHONPATH=str(tmp_path))[0])
    assert found == [1, 0]
    (package / "kernels" / "greedy.py").write_text("# another text\n")  # ridge does not use it: that is not known here
    assert run(INVERT, PYTHONPATH=str(tmp_path))[0] == 1


def test_code_is_found_where_it_cannot_be_written(tmp_path: Path) -> None:
    assert run(INVERT, NUMBA_CACHE_DIR=str(tmp_path))[0] == 1
    before = sorted(tmp_path.rglob("*"))
    assert run(NOWHERE + INVERT, NUMBA_CACHE_DIR=str(tmp_path))[0] == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_without_any_place_every_process_compiles(tmp_path: Path) -> None:
    elsewhere = f"kept_code._SOURCES = type(kept_code._SOURCES)({str(tmp_path)!r})\n"
    for _ in range(2):
        count, said = run(NOWHERE + elsewhere + INVERT, NUMBA_CACHE_DIR=str(tmp_path / "none"))
        assert count == 1
        assert said.count("there is no place to keep compiled kernels") == 1


@pytest.mark.parametrize(
    ("refused", "chosen"),
    [((), "given"), (("given",), "__pycache__"), (("given", "__pycache__"), "cache"), (("cache",), "given")],
)
def test_places_are_tried_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...], chosen: str
) -> None:
    monkeypatch.setattr(kept_code.config, "CACHE_DIR", str(tmp_path / "given"))
    monkeypatch.setattr(kept_code, "_SOURCES", tmp_path / "kernels")
    monkeypatch.setattr(kept_code.platformdirs, "user_cache_path", lambda _name: tmp_path / "cache")
    monkeypatch.setattr(kept_code, "_writable", lambda folder: not set(refused) & set(folder.parts))
    kept_code.written_to.cache_clear()
    found = kept_code.written_to()
    assert found is not None
    assert chosen in found.parts


def test_without_a_home_it_is_a_folder_nobody_else_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kept_code.config, "CACHE_DIR", "")
    monkeypatch.setattr(kept_code, "_SOURCES", Path("/proc/none"))
    monkeypatch.setattr(kept_code.platformdirs, "user_cache_path", lambda name: Path("~") / ".cache" / name)
    monkeypatch.setattr(kept_code.tempfile, "gettempdir", lambda: str(tmp_path))
    kept_code.written_to.cache_clear()
    with caplog.at_level(logging.WARNING, "rankfall"):
        found = kept_code.written_to()
    assert found is not None
    assert found.parent.parent == tmp_path
    assert found.parent.stat().st_mode & 0o077 == 0
    assert [record.message for record in caplog.records if "may not last" in record.message]
    found.parent.chmod(0o777)
    kept_code.written_to.cache_clear()
    assert kept_code.written_to() is None
