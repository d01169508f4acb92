"""Compiled loops: arrays in, arrays out. They trust their callers and import nothing of ours.

The plain NumPy form of each kernel is its specification and lives in the tests.
"""

from contextlib import suppress
from pathlib import Path


def _drop_stale_cache() -> None:
    """Remove compiled code that is older than any kernel source.

    The on-disk cache watches only the file a function stands in; ours call each other across files.
    """
    folder = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for index in (folder / "__pycache__").glob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


with suppress(OSError):  # a folder we may not write to is not one where sources change
    _drop_stale_cache()
