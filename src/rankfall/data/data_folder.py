"""The folder that downloaded data sets are kept in."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """The folder for downloads: ``RANKFALL_DATA`` if it is set, or else the user's cache folder on this system."""
    chosen = os.environ.get("RANKFALL_DATA")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("rankfall", appauthor=False)


def data_folders() -> tuple[Path, ...]:
    """The folders to look for data sets in: the one for downloads and, by default, the one that 0.1.0 used."""
    folders = [data_folder()]
    if not os.environ.get("RANKFALL_DATA"):
        folders.append(Path.home() / ".cache" / "rankfall")
    return tuple(dict.fromkeys(folders))
