"""The table of a click log before anything in it is checked, and where its rows stand in the file."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankfall.errors import FileError
from rankfall.files import reading_parquet

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class Table:
    """Rows of a click log as the file has them.

    Attributes
    ----------
    name : what messages call it.
    frame : the rows, not read yet.
    text : whether every value is text, as in a CSV file.
    place : where row n (from 0) stands, such as ``clicks.csv, line 7``.
    """

    name: str
    frame: pl.LazyFrame
    text: bool
    place: Callable[[int], str]

    def wrong(self, row: int, what: str) -> FileError:
        """The error for one row."""
        return FileError(f"{self.place(row)}: {what}")

    def collect(self, columns: list[str]) -> pl.DataFrame:
        """Read some columns."""
        if not self.text:
            with reading_parquet(self.name):
                return self.frame.select(columns).collect()
        last = self.frame.collect_schema().names()[-1]
        with _reading_csv(Path(self.name)):
            frame = self.frame.select(list(dict.fromkeys([*columns, last]))).collect()
        if frame[last].null_count():  # polars fills up lines that are too short; here they are errors
            _check_fields(Path(self.name))
        return frame.select(columns)

    def parts(self, columns: list[str], rows: int) -> Iterator[tuple[int, pl.DataFrame]]:
        """Read some columns, so many rows at a time: the number of the first row, from 0, and the rows.

        Text is copied to a temporary Parquet file first, which can be read in parts; memory does not grow with it.
        """
        if not self.text:
            with reading_parquet(self.name):
                yield from _slices(self.frame.select(columns), rows)
            return
        last = self.frame.collect_schema().names()[-1]
        with tempfile.TemporaryDirectory(prefix="rankfall-") as folder:
            copy = Path(folder) / "rows.parquet"
            with _reading_csv(Path(self.name)):
                self.frame.select(list(dict.fromkeys([*columns, last]))).sink_parquet(copy)
            for first, frame in _slices(pl.scan_parquet(copy), rows):
                if frame[last].null_count():
                    _check_fields(Path(self.name))
                yield first, frame.select(columns)


def _slices(frame: pl.LazyFrame, rows: int) -> Iterator[tuple[int, pl.DataFrame]]:
    first = 0
    while (part := frame.slice(first, rows).collect()).height:
        yield first, part
        first += part.height


def table_of(source: pl.DataFrame | Path) -> Table:
    """The table in a frame, a CSV or TSV file, a Parquet file or a folder of Parquet files."""
    if isinstance(source, pl.DataFrame):
        return Table("the log", source.lazy(), text=False, place=lambda row: f"the log, row {row + 1}")
    if source.suffix.lower() in _SEPARATORS:
        with _reading_csv(source):
            frame = pl.scan_csv(source, separator=_separator(source), infer_schema=False, glob=False)
            frame.collect_schema()
        return Table(str(source), frame, text=True, place=lambda row: f"{source}, line {_line(source, row)}")
    files = _parquet_files(source)
    with reading_parquet(source):
        frame = pl.scan_parquet(files, glob=False)
        frame.collect_schema()
    return Table(str(source), frame, text=False, place=lambda row: _row(files, row))


def _parquet_files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    files = sorted(source.rglob("*.parquet"))
    if not files:
        raise FileError(f"{source} is a folder without Parquet files; give a .csv, .tsv or .parquet file or a folder")
    return files


def _row(files: list[Path], row: int) -> str:
    """The file in which a row stands, and its number there, from 1."""
    for path in files[:-1]:
        height = int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
        if row < height:
            return f"{path}, row {row + 1}"
        row -= height
    return f"{files[-1]}, row {row + 1}"


@contextmanager
def _reading_csv(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except pl.exceptions.NoDataError:
        raise FileError(f"{path} is empty; expected a line with the names of the columns first") from None
    except (OSError, pl.exceptions.PolarsError) as problem:
        if path.is_file():
            _check_fields(path)
        raise FileError(f"{path} is not a readable CSV file: {problem}") from None


def _separator(path: Path) -> str:
    return _SEPARATORS[path.suffix.lower()]


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The line at which each record begins, from 1, and its fields; a quoted field may span lines."""
    line = 0
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter=_separator(path), strict=True)
            for fields in reader:
                yield line + 1, fields
                line = reader.line_num
    except (csv.Error, UnicodeDecodeError) as problem:
        raise FileError(f"{path}, line {line + 1} or below: {problem}; expected CSV in UTF-8") from None


def _check_fields(path: Path) -> None:
    """Raise for the first line that has more or fewer fields than there are columns."""
    records = _records(path)
    _, columns = next(records)
    for line, fields in records:
        if len(fields) != len(columns):
            raise FileError(f"{path}, line {line}: {len(fields)} fields; expected {len(columns)}: {', '.join(columns)}")


def _line(path: Path, row: int) -> int:
    """The line at which row n (from 0) begins."""
    return next(line for i, (line, _) in enumerate(_records(path)) if i == row + 1)
