"""What tests need of the machine. Where it is missing they skip and say why; with RANKFALL_NOTHING_SKIPS they fail."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip this test, or fail it where nothing may skip."""
    if os.environ.get("RANKFALL_NOTHING_SKIPS"):
        pytest.fail(f"{what}, and RANKFALL_NOTHING_SKIPS is set", pytrace=False)
    pytest.skip(what)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of this size at a new folder."""
    if os.geteuid() != 0:
        missing("a small disk can be mounted by root only")
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        missing(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write a file until the disk takes no further byte."""
    with path.open("wb", buffering=0) as file:
        for size in (2**22, 2**16, 2**12, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
