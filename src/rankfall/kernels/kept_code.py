"""Where compiled kernels are kept between processes.

The first of these places that can be written to: the folder that NUMBA_CACHE_DIR names; beside the kernels, in
``__pycache__``; the user's cache folder; a folder of the user's own among temporary files. Code in the named folder, or
else beside the kernels, is used also where it cannot be written to, as in an image that another user has built. If
there is no place at all, every process compiles for itself.

Code is kept under the digest of all kernel sources: they call each other across files. It does not matter how old files
are, so copying and installing them again changes nothing.
"""

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

_SOURCES = Path(__file__).parent
_log = logging.getLogger("rankfall")


@cache
def digest() -> str:
    """Of the text of all kernels."""
    text = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        text.update(source.name.encode() + b"\0" + source.read_bytes())
    return text.hexdigest()[:16]


def _private(folder: Path) -> bool:
    """Whether only we can write to it: what is kept there is run."""
    status = folder.stat()
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _writable(folder: Path) -> bool:
    """Whether files can be written there; makes the folder if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _named() -> Path | None:
    """The place that the user has named."""
    folder = getattr(config, "CACHE_DIR", "")
    return Path(folder) / "rankfall" if folder else None


def _places() -> Iterator[Path]:
    """Places that last, in order."""
    named, own = _named(), platformdirs.user_cache_path("rankfall")
    if named is not None:
        yield named
    yield _SOURCES / "__pycache__"
    if own.is_absolute():  # or else there is no home
        yield own


@cache
def written_to() -> Path | None:
    """The folder that compiled code is written to; None if there is none."""
    for place in _places():
        if _writable(place):
            return place / f"kernels-{digest()}"
    with suppress(OSError):
        owner = os.getuid() if hasattr(os, "getuid") else "own"
        place = Path(tempfile.gettempdir()) / f"rankfall-{owner}"
        place.mkdir(mode=0o700, exist_ok=True)
        if _writable(place) and _private(place):
            _log.warning(
                "compiled kernels are kept in %s, which may not last; NUMBA_CACHE_DIR names another place", place
            )
            return place / f"kernels-{digest()}"
    _log.warning("there is no place to keep compiled kernels: every process compiles; NUMBA_CACHE_DIR can name one")
    return None


@cache
def read_from() -> tuple[Path, ...]:
    """The folders in which compiled code is looked for, in this order."""
    given = (_named() or _SOURCES / "__pycache__") / f"kernels-{digest()}"
    own = written_to()
    return (given,) if own in (None, given) else (own, given)


def only_one_compiles() -> Any:
    """A context that one process is in at a time; those that come later find what it has kept."""
    folder = written_to()
    if folder is None:
        return nullcontext()
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / "compiling.lock")


class _Locator(UserProvidedCacheLocator):
    """Of the files of one kernel: in the folder that is being asked for."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> type["_Locator"]:
        return type(cls.__name__, (cls,), {"folder": folder})

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = str(self.folder)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator":
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return digest()


@cache
def _kept_in(folder: Path) -> type[FunctionCache]:
    implementation = type("_Kept", (CompileResultCacheImpl,), {"_locator_classes": [_Locator.at(folder)]})
    return type("_KeptIn", (FunctionCache,), {"_impl_class": implementation})


class KeptCode:
    """What numba takes for the cache of a kernel."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._places: list[Any] = [_kept_in(folder)(function) for folder in read_from()]
        self._own: Any = self._places[0] if written_to() is not None else None

    @property
    def cache_path(self) -> str | None:
        """Where it is written to."""
        return None if self._own is None else str(self._own.cache_path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for this signature, if it is kept anywhere."""
        for place in self._places:
            with suppress(OSError):
                found = place.load_overload(signature, target)
                if found is not None:
                    return found
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the code. Two processes must not number their files alike, so that one waits for the other."""
        if self._own is None:
            return
        try:
            self._own._impl.locator.ensure_cache_path()
            with FileLock(Path(self._own.cache_path) / "writing.lock"):
                self._own.save_overload(signature, code)
        except OSError as problem:
            _log.warning("a compiled kernel was not kept: %s", problem)

    def enable(self) -> None:
        """Nothing to do: numba asks all caches."""

    def disable(self) -> None:
        """Nothing to do: numba asks all caches."""

    def flush(self) -> None:
        """Forget the code of this kernel."""
        if self._own is not None:
            self._own.flush()
