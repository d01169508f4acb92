"""Downloads of data sets from their publishers: resumed, checked, and in the end whole or not there at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from rankfall.data.data_folder import data_folder
from rankfall.data.datasets import dataset_called
from rankfall.errors import FileError, ProblemError
from rankfall.files import make_folder

PUBLISHER = "https://files.grouplens.org/datasets/movielens"

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes received so far and, if the server says, the bytes in all."""

_BLOCK = 1 << 18
_SECONDS = 30.0
_TRIES = 5


def download(name: str, *, publisher: str = PUBLISHER, progress: Progress | None = None) -> Path:
    """Download the data set of this name into the data folder, unless it is there; gives its path.

    >>> download("yahoo-r2")
    Traceback (most recent call last):
    rankfall.errors.ProblemError: yahoo-r2 cannot be downloaded. Its publisher gives it on request only: ...
    """
    dataset = dataset_called(name)
    if dataset.embedded:
        raise ProblemError(f"{name} is part of rankfall's sources, which are here; there is nothing to download")
    if dataset.origin == "request":
        raise ProblemError(f"{name} cannot be downloaded. {dataset.how_to_request()}")
    there = dataset.path()
    if there is not None:
        return there
    target = data_folder() / f"{dataset.stem}.zip"
    make_folder(target.parent)
    fetch(f"{publisher}/{target.name}", target, progress or (lambda _there, _total: None))
    return target


def fetch(address: str, target: Path, progress: Progress) -> None:
    """Download a zip.

    What has been received so far is in ``target.part``. If the connection is lost, it stays there and the next call
    resumes it. If the whole file is not what the publisher says (the MD5 beside the zip or, where there is none, the
    checksums inside the zip), it is removed. Only a file that passed is renamed to ``target``.
    """
    part = target.with_name(f"{target.name}.part")
    md5 = _published_md5(address, target)
    for _ in range(_TRIES):
        before = _size(part)
        if _receive(address, part, target, progress):
            break
        if _size(part) <= before:  # nothing was received; trying again at once would not help
            raise _lost(address, part)
    else:
        raise _lost(address, part)
    wrong = _wrong(part, md5)
    if wrong:
        part.unlink()
        raise FileError(f"{address} arrived damaged: {wrong}; the download was removed, try again")
    try:
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as problem:
        raise FileError(f"cannot write {target}: {problem}") from problem


def _receive(address: str, part: Path, target: Path, progress: Progress) -> bool:
    """Append to ``part`` what is missing; whether the file is complete now."""
    have = _size(part)
    try:
        response = _open(address, {"Range": f"bytes={have}-"} if have else {}, target)
    except urllib.error.HTTPError as refused:
        refused.close()
        if refused.code == 416:  # nothing follows what we have: it is complete, or part of another file
            if refused.headers.get("Content-Range") == f"bytes */{have}":
                return True
            part.unlink(missing_ok=True)
            return _receive(address, part, target, progress)
        raise FileError(f"{address} responds {refused.code} {refused.reason}; expected the file") from refused
    with response:
        if response.status != 206:  # the server cannot resume, and sends the whole file
            have = 0
        elif not (response.headers.get("Content-Range") or "").startswith(f"bytes {have}-"):
            raise FileError(f"{address} sends {response.headers.get('Content-Range')!r}; expected bytes from {have} on")
        length = response.headers.get("Content-Length")
        total = None if length is None else have + int(length)
        if total is not None and total - have > shutil.disk_usage(part.parent).free:
            raise FileError(f"{part.parent} has no room for {total - have:,} more bytes of {address}")
        try:
            with part.open("ab" if have else "wb") as file:
                have = _copy(response, file, have, total, progress)
        except OSError as problem:
            raise FileError(f"cannot write {part}: {problem.strerror}; what was received is kept") from problem
    return total is None or have >= total


def _copy(response: Any, file: BinaryIO, have: int, total: int | None, progress: Progress) -> int:
    """Copy until the end, or until the connection is lost; gives how many bytes are there then."""
    progress(have, total)
    while True:
        try:
            block = response.read(_BLOCK)
        except (OSError, http.client.HTTPException):
            return have if total is not None else -1
        if not block:
            return have
        file.write(block)
        have += len(block)
        progress(have, total)


def _published_md5(address: str, target: Path) -> str | None:
    """The MD5 in the file beside the zip, or None where the publisher has none."""
    try:
        with _open(f"{address}.md5", {}, target) as response:
            text = response.read(4096).decode("ascii", "replace")
    except urllib.error.HTTPError as refused:
        refused.close()
        if refused.code == 404:
            return None
        raise FileError(f"{address}.md5 responds {refused.code} {refused.reason}; expected a checksum") from refused
    except (OSError, http.client.HTTPException) as problem:
        raise FileError(f"lost the connection to {address}.md5: {problem}") from problem
    found = re.search(r"\b[0-9a-fA-F]{32}\b", text)
    if found is None:
        raise FileError(f"{address}.md5 says {text[:80]!r}; expected an MD5 checksum")
    return found[0].lower()


def _wrong(part: Path, md5: str | None) -> str | None:
    """What is wrong with the file, in words, or None."""
    if md5 is not None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        return None if found == md5 else f"its MD5 is {found}, the publisher says {md5}"
    try:
        with zipfile.ZipFile(part) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as problem:
        return str(problem)
    return None if damaged is None else f"{damaged} inside it does not match its checksum"


def _open(address: str, headers: dict[str, str], target: Path) -> Any:
    request = urllib.request.Request(address, headers={"User-Agent": "rankfall", **headers})
    try:
        return urllib.request.urlopen(request, timeout=_SECONDS)
    except urllib.error.HTTPError:
        raise
    except (OSError, http.client.HTTPException) as problem:
        reason = getattr(problem, "reason", problem)
        raise FileError(
            f"cannot reach {address}: {reason}; is this machine online? A copy put at {target} by hand will do as well"
        ) from problem


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _lost(address: str, part: Path) -> FileError:
    return FileError(
        f"lost the connection to {address} after {_size(part):,} bytes; they are kept, and the next try continues there"
    )
