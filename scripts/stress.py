#!/usr/bin/env python3
"""Run tests again and again, if wanted while every core is kept busy, and report which runs failed.

scripts/stress.py                                    the tests marked "stress", 20 times
scripts/stress.py --times 5 --busy 2 -- -m "not soak"    all tests 5 times, the last 2 times with busy cores
scripts/stress.py --times 50 -- -k database tests/service/test_crash.py

What follows ``--`` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKED = ["-m", "stress and not soak"]
PARALLEL = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]  # as make test does
SPIN = """
import os, sys, time
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and os.getppid() == int(sys.argv[1]):
    sum(i * i for i in range(100_000))
"""


def main() -> int:
    """Run, report, and return how many runs failed."""
    options, tests = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for n in range(1, options.times + 1):
        busy = n > options.times - options.busy
        began = time.monotonic()
        with busy_cores(60 * options.limit) if busy else nullcontext():
            code, output = run(tests, 60 * options.limit)
        log = options.out / f"run-{n}.txt"
        log.write_text(output)
        failed += code != 0
        minutes = (time.monotonic() - began) / 60
        words = f"failed, see {log}" if code else "passed"
        say(f"run {n} of {options.times}: {words} in {minutes:.1f} minutes{' with busy cores' if busy else ''}")
        for line in re.findall(r"^(?:FAILED|ERROR) .*$", output, flags=re.MULTILINE) or [output[-500:]] * (code != 0):
            say(f"  {line}")
    say(f"{options.times - failed} of {options.times} runs passed: pytest {' '.join(tests)}")
    return failed


def arguments() -> tuple[argparse.Namespace, list[str]]:
    """Return our own options, and what goes to pytest."""
    given = sys.argv[1:]
    split = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="runs (20)")
    parser.add_argument("--busy", type=int, default=0, help="of the runs, how many with every core kept busy (0)")
    parser.add_argument("--limit", type=float, default=60, help="minutes after which a run counts as failed (60)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "stress", help="folder for the output of pytest")
    return parser.parse_args(given[:split]), given[split + 1 :] or MARKED


def run(tests: list[str], seconds: float) -> tuple[int, str]:
    """Run pytest once, and return its exit code and its output."""
    command = [sys.executable, "-m", "pytest", *PARALLEL, *tests]
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        output, _ = process.communicate()
        return 1, f"{output}\nnot done after {seconds / 60:g} minutes"
    return process.returncode, output


@contextmanager
def busy_cores(seconds: float) -> Iterator[None]:
    """Keep every core busy while the block runs, but no longer than this and than we live."""
    command = [sys.executable, "-c", SPIN, str(os.getpid()), str(seconds)]
    spinning = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(min(main(), 1))
