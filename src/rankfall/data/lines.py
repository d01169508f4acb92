"""Text read line by line, so that an error can name the line: for small files, and to find the error in large ones."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from rankfall.errors import FileError

_LONGEST_SHOWN = 120


def rows(path: Path, separator: str, *, quoted: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Number, from 1, and fields of each line.

    Text is UTF-8, or else Latin-1, which older data sets use. With ``quoted``, fields may be in double quotes.
    """
    try:
        with path.open(encoding=_encoding(path), newline="" if quoted else None) as file:
            if quoted:
                reader = csv.reader(file, delimiter=separator)
                for fields in reader:
                    yield reader.line_num, fields
            else:
                for number, line in enumerate(file, 1):
                    yield number, line.rstrip("\n").split(separator)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (OSError, csv.Error) as problem:
        raise FileError(f"cannot read {path}: {problem}") from problem


def bad_line(path: Path, number: int, text: str, expected: str) -> FileError:
    """The error for a line that does not parse.

    >>> bad_line(Path("ratings.csv"), 7, "1,2,x", "a rating")
    FileError("ratings.csv, line 7: '1,2,x'; expected a rating")
    """
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return FileError(f"{path}, line {number}: {shown!r}; expected {expected}")


def header(path: Path, separator: str) -> list[str]:
    """Fields of the first line of a table."""
    first = next(rows(path, separator, quoted=True), None)
    if first is None:
        raise FileError(f"{path} is empty; expected a line with the names of its columns first")
    return [name.removeprefix("\ufeff") for name in first[1]]


def _encoding(path: Path) -> str:
    """UTF-8 if the whole file is, Latin-1 otherwise; read in pieces, so that size does not matter."""
    try:
        with path.open(encoding="utf-8") as file:
            while file.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"
