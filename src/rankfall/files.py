"""Files appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankfall.errors import FileError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well.

    A crash, a full disk or an error inside the block leaves what was there before.

    >>> with replacing("/no/such/folder/file") as temporary:
    ...     pass
    Traceback (most recent call last):
    rankfall.errors.FileError: cannot write /no/such/folder/file: the folder /no/such/folder does not exist
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as problem:
        raise FileError(f"cannot write {target}: {problem}") from problem
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as problem:
        raise FileError(f"cannot write {target}: {problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)
