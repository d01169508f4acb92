"""Parquet files that are larger than memory: written in parts, there as a whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from rankfall.click_logs.exports import MARK
from rankfall.errors import FileError
from rankfall.files import reading_parquet, replacing


class Table:
    """Rows on their way into a file; at most ``part`` of them are in memory."""

    def __init__(self, folder: Path, schema: Mapping[str, Any], part: int) -> None:
        self.schema = dict(schema)
        self._folder, self._part = folder, part
        self._rows: list[Sequence[Any]] = []
        self._parts = 0
        self.height = 0

    def add(self, row: Sequence[Any]) -> None:
        """One row, with its values in the order of the schema."""
        self._rows.append(row)
        self.height += 1
        if len(self._rows) >= self._part:
            self.flush()

    def flush(self) -> None:
        """Bring what is in memory to disk."""
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self.schema)
        series = [
            pl.Series(name, values, kind) for (name, kind), values in zip(self.schema.items(), columns, strict=True)
        ]
        pl.DataFrame(series).write_parquet(self._folder / f"{self._parts:08}.parquet")
        self._rows.clear()
        self._parts += 1


@contextmanager
def table(path: Path, schema: Mapping[str, Any], said: Mapping[str, str], part: int = 10_000) -> Iterator[Table]:
    """A table to add rows to; its file, with ``said`` as metadata, appears when the block has ended well."""
    with replacing(path) as whole, tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        rows = Table(Path(folder), schema, part)
        yield rows
        rows.flush()
        pl.scan_parquet(f"{folder}/*.parquet").sink_parquet(whole, row_group_size=part, metadata=dict(said))


def read_mark(path: Path) -> str:
    """Which export a file is of."""
    with reading_parquet(path, "; give a folder that rankfall export wrote"):
        mark = pl.read_parquet_metadata(path).get(MARK)
    if mark is None:
        raise FileError(f"{path} was not written by rankfall export")
    return mark
