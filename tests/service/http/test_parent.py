"""Workers end with the server that started them, however it ends."""

import os
import signal
from pathlib import Path

import pytest
from served import RANK, Served
from waiting import wait_until

pytestmark = pytest.mark.stress


def parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if fields[0] != "Z":
            found[int(status.parent.name)] = int(fields[1])
    return found


def test_workers_end_when_their_server_is_killed(tmp_path: Path, small_catalog: Path) -> None:
    with Served(log=tmp_path / "log", data=tmp_path / "data", catalog=small_catalog, workers=2) as served:
        assert served.process is not None
        assert served.client.post(RANK, json={}).status_code == 200
        children = {process for process, parent in parents().items() if parent == served.process.pid}
        assert len(children) >= 2
        os.kill(served.process.pid, signal.SIGKILL)
        served.process.wait()
        served.client.close()
        wait_until(lambda: not children & set(parents()))
        assert "the server that started this worker is gone" in served.said()
