"""Files appear whole or not at all."""

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfall.array_container import pack, unpack
from rankfall.errors import FileError, RankfallError

T = TypeVar("T")


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
    check_folder_of(target)
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
    except (OSError, _polars_error()) as problem:  # polars says by an error of its own that a disk is full
        raise FileError(f"cannot write {target}: {problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)


def check_folder_of(path: Path) -> None:
    """Refuse a file whose folder is not there, which is best said before the work and not after it."""
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: the folder {path.parent} does not exist")


def make_folder(path: Path) -> None:
    """Make a folder, and those it is in, unless it is there.

    >>> make_folder(Path("/dev/null/out"))
    Traceback (most recent call last):
    rankfall.errors.FileError: cannot make the folder /dev/null/out: Not a directory
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"cannot make the folder {path}: {problem.strerror}") from problem


@contextmanager
def reading_parquet(path: str | Path, hint: str = "") -> Iterator[None]:
    """What goes wrong while polars reads a Parquet file, as a :class:`FileError`; ``hint`` is for a file not there.

    >>> import polars as pl
    >>> with reading_parquet("nowhere.parquet", "; make it first"):
    ...     pl.read_parquet("nowhere.parquet")
    Traceback (most recent call last):
    rankfall.errors.FileError: nowhere.parquet does not exist; make it first
    """
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"{path} does not exist{hint}") from None
    except (OSError, _polars_error()) as problem:
        raise FileError(f"{path} is not a readable Parquet file: {problem}") from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # what polars raises on some damaged files; it is no Exception
            raise
        raise FileError(f"{path} is not a readable Parquet file: {problem}") from problem


def _polars_error() -> type[Exception]:
    """The root of the errors of polars, which is imported only where something went wrong."""
    from polars.exceptions import PolarsError

    return PolarsError


def save_blocks(path: str | Path, header: Mapping[str, Any], blocks: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays and a header, whole or not at all; see :mod:`rankfall.array_container`."""
    with replacing(path) as temporary:
        temporary.write_bytes(pack(header, blocks))


def load_blocks(
    path: str | Path,
    what: str,
    form: str | tuple[str, ...],
    restore: Callable[[dict[str, Any], dict[str, NDArray[Any]]], T],
) -> T:
    """What ``restore`` makes of the header and the arrays in a file of :func:`save_blocks`.

    The header must say ``form``, or one of several, under "format". Whatever is wrong is a :class:`FileError` that
    says ``what`` was expected.
    """
    try:
        data = Path(path).read_bytes()
        header, blocks = _unzipped(data) if data.startswith(b"PK") else unpack(data)
        known = (form,) if isinstance(form, str) else form
        if header["format"] not in known:
            raise ValueError(f"format {header['format']!r}, expected {' or '.join(map(repr, known))}")
        return restore(header, blocks)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        EOFError,
        zipfile.BadZipFile,
        RankfallError,
    ) as problem:
        raise FileError(f"{path} is not {what} saved by rankfall, or it is damaged: {problem}") from problem


def _unzipped(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that version 0.1.0 wrote: a zip of plain arrays, as NumPy writes it."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        blocks = {name: archive[name] for name in archive.files}
    return json.loads(blocks.pop("header").tobytes()), blocks
