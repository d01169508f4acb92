"""Run ``rankfall`` and write down, fifty times a second, what its threads do.

    python benchmarks/sampled_server.py samples.jsonl serve --catalog items.parquet

Each line has the time by the monotonic clock, which all processes of a machine share; for each thread of ours the
functions it is in; and how long the threads that serve and write have waited for a core since they began, in seconds. A
gap between two lines means that the interpreter itself was held.
"""

import json
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from rankfall.cli import main

EVERY = 0.02
OURS = ("rankfall/service", "rankfall/stores", "rankfall/journal", "rankfall/policies", "rankfall/wire")
IDLE = ("writer.Writer._run", "writer.Writer._next")


def where(frame: FrameType | None) -> str:
    """The functions of ours that a thread is in, the outermost first."""
    found: list[str] = []
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in OURS):
            found.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return " > ".join(name for name in reversed(found) if name not in IDLE)


def waited(thread: threading.Thread) -> float:
    """Seconds that a thread was ready to run and another program had the core."""
    try:
        return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def sample(path: Path) -> None:
    """Write a line now and then, as long as the process lives."""
    with path.open("w", buffering=1) as file:
        while True:
            threads = threading.enumerate()
            names = {thread.ident: thread.name for thread in threads}
            doing = {names.get(ident, "?"): where(frame) for ident, frame in sys._current_frames().items()}
            waits = [waited(thread) for thread in threads if thread.name in ("MainThread", "writer")]
            line = [time.monotonic(), {name: did for name, did in doing.items() if did}, sum(waits)]
            file.write(json.dumps(line) + "\n")
            time.sleep(EVERY)


if __name__ == "__main__":
    threading.Thread(target=sample, args=(Path(sys.argv.pop(1)),), name="sampler", daemon=True).start()
    main()
