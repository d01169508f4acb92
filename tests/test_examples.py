"""The programs in `examples/` run, and print what they promise."""

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from ports import ReservedPort
from waiting import START_PATIENCE

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_PATIENCE, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_serve_and_click() -> None:
    with closing(ReservedPort()) as port:
        said = run("serve_and_click.py", str(port.number))
    assert re.search(r"^policy: \d+ of 400 lists clicked$", said, flags=re.MULTILINE), said
    learned = dict(re.findall(r"^(\w+): ([+-][\d.]+) ± [\d.]+$", said, flags=re.MULTILINE))
    assert learned.keys() == {"comedy", "horror", "romance", "space", "war"}
    assert float(learned["space"]) > 0.2  # 0.6 in truth, with a standard deviation of 0.06


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"serve_and_click.py"}
