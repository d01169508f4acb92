"""What a benchmark has measured so far, in a file that is whole at any moment."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfall.files import replacing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Record:
    """Rows by table, written as they come."""

    def __init__(self, path: Path, **about: Any) -> None:
        self.path = path
        self.found: dict[str, Any] = dict(about)
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, table: str, row: DataclassInstance) -> None:
        """Add a row, with its ratio if it has one."""
        ratio = {"ratio": row.ratio} if hasattr(row, "ratio") else {}
        self.found.setdefault(table, []).append(asdict(row) | ratio)
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(self.found, indent=1))
