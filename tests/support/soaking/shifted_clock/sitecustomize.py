"""Loaded by every Python that has this folder in its path: the machine's clock is wrong by what a file says."""

import mmap
import os
import struct
import time

_path = os.environ.get("SHIFTED_CLOCK")
if _path:
    with open(_path, "rb") as _file:  # noqa: PTH123 - pathlib would be imported by every process, before all else
        _shared = mmap.mmap(_file.fileno(), 8, prot=mmap.PROT_READ)
    _real = time.time

    def _shifted() -> float:
        return _real() + struct.unpack("d", _shared)[0]

    time.time = _shifted
