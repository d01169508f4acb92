"""The folder of metrics of several workers: one for each server that lives, none for others."""

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from waiting import PATIENCE

from rankfall.service.http.metrics_folder import metrics_folder

HOLDS = """
import sys, tempfile, threading
from rankfall.service.http.metrics_folder import metrics_folder
tempfile.tempdir = sys.argv[1]
with metrics_folder() as folder:
    (folder / "counter_1.db").write_bytes(b"1")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holding(root: Path) -> "subprocess.Popen[str]":
    """Another server."""
    command = [sys.executable, "-c", HOLDS, str(root)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_it_is_gone_at_the_end(root: Path) -> None:
    with suppress(KeyboardInterrupt), metrics_folder() as folder:
        assert folder.is_dir()
        raise KeyboardInterrupt
    assert list(root.iterdir()) == []


@pytest.mark.stress
def test_those_of_killed_servers_go_and_others_stay(root: Path) -> None:
    with holding(root) as killed, holding(root) as alive:
        assert killed.stdout is not None
        assert alive.stdout is not None
        stale, used = (Path(one.stdout.readline().strip()) for one in (killed, alive) if one.stdout)
        killed.kill()
        killed.wait(PATIENCE)
        assert stale.is_dir()
        with metrics_folder() as own:
            assert not stale.exists()
            assert {one.name for one in root.iterdir() if one.is_dir()} == {own.name, used.name}
            assert (used / "counter_1.db").read_bytes() == b"1"
        alive.communicate(timeout=PATIENCE)
    assert list(root.iterdir()) == []
