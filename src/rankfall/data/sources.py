"""The files that ratings are read from: text of any size, or Parquet. They are streamed, never held in memory whole."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

import polars as pl

from rankfall.data import lines
from rankfall.errors import FileError
from rankfall.files import reading_parquet

IdType: TypeAlias = type[pl.Int64] | type[pl.String]

COLUMNS = ("user", "item", "rating")
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")


class Source(Protocol):
    """Ratings that can be read again and again."""

    def scan(self) -> pl.LazyFrame:
        """Columns ``user``, ``item``, ``rating`` and ``valid``: whether the line is as it should be."""
        ...

    def parts(self) -> Sequence[Source]:
        """The same ratings, a file at a time."""
        ...

    def raise_first_error(self, problem: Exception | None) -> NoReturn:
        """Raise :class:`FileError` about the first line that is not valid; ``problem`` is what reading it raised."""
        ...


@dataclass(frozen=True, eq=False)
class Text:
    """Ratings in text files, one on each line.

    Attributes
    ----------
    files : read one after the other.
    fields : what a line holds, in order; ``user``, ``item`` and ``rating`` among them.
    separator : what is between fields, one character or one doubled (``::``).
    titled : whether the first line of each file names the fields.
    quoted : whether fields may be in double quotes.
    strict : whether a line must have exactly these fields; otherwise the three that are used suffice.
    low, high : the range of ratings.
    user, item : whether ids are whole numbers or any text.
    """

    files: tuple[Path, ...]
    fields: tuple[str, ...]
    separator: str
    titled: bool = False
    quoted: bool = False
    strict: bool = True
    low: float = -math.inf
    high: float = math.inf
    user: IdType = pl.Int64
    item: IdType = pl.Int64

    def scan(self) -> pl.LazyFrame:
        """Columns ``user``, ``item``, ``rating`` and ``valid``."""
        kinds: dict[str, Any] = {"user": self.user, "item": self.item, "rating": pl.Float64}
        columns = list(self.fields)
        if len(self.separator) == 2:  # polars splits at each of the two; between them is an empty column
            columns = [name for i, field in enumerate(self.fields) for name in (field, f"gap {i}")][:-1]
        frame = pl.scan_csv(
            list(self.files),
            has_header=False,
            skip_lines=int(self.titled),
            schema={name: kinds.get(name, pl.String) for name in columns},
            separator=self.separator[0],
            quote_char='"' if self.quoted else None,
            glob=False,
        )
        valid = _valid(self.low, self.high)
        if self.strict:
            rest = [pl.col(name).is_not_null() for name in self.fields if name not in COLUMNS]
            gaps = [pl.col(name).is_null() for name in columns if name not in self.fields]
            valid = pl.all_horizontal(valid, *rest, *gaps)
        return frame.select(*COLUMNS, valid.alias("valid"))

    def parts(self) -> list[Text]:
        """The same ratings, a file at a time."""
        return [replace(self, files=(path,)) for path in self.files]

    def raise_first_error(self, problem: Exception | None) -> NoReturn:
        """Raise :class:`FileError` with the number and the text of the first line that is not as it should be."""
        for path in self.files:
            for number, fields in lines.rows(path, self.separator, quoted=self.quoted):
                if not (self.titled and number == 1) and not self._is_valid(fields):
                    raise lines.bad_line(path, number, self.separator.join(fields), self._expected()) from None
        names = ", ".join(str(path) for path in self.files)
        raise FileError(f"cannot read {names}: {problem or 'some lines do not parse'}") from problem

    def _is_valid(self, fields: list[str]) -> bool:
        if len(fields) != len(self.fields) if self.strict else len(fields) < len(self.fields):
            return False
        if self.strict and not all(fields):
            return False
        found = dict(zip(self.fields, fields, strict=False))
        for name, kind in (("user", self.user), ("item", self.item)):
            if not (_WHOLE.fullmatch(found[name]) if kind is pl.Int64 else found[name]):
                return False
        try:
            return self.low <= float(found["rating"]) <= self.high and math.isfinite(float(found["rating"]))
        except ValueError:
            return False

    def _expected(self) -> str:
        kinds = [f"{name} a whole number" for name in ("user", "item") if getattr(self, name) is pl.Int64]
        span = "a number" if math.isinf(self.low) else f"from {self.low:g} to {self.high:g}"
        line = self.separator.join(self.fields).replace("\t", "<TAB>")
        return f"{line}, with {', '.join([*kinds, f'rating {span}'])}"


@dataclass(frozen=True, eq=False)
class Parquet:
    """Ratings in a Parquet file; which columns hold user, item and rating."""

    path: Path
    user: str = "user"
    item: str = "item"
    rating: str = "rating"

    def scan(self) -> pl.LazyFrame:
        """Columns ``user``, ``item``, ``rating`` and ``valid``."""
        with reading_parquet(self.path):
            frame = pl.scan_parquet(self.path, glob=False)
            schema = frame.collect_schema()
        named = {"user": self.user, "item": self.item, "rating": self.rating}
        check_columns(self.path, list(schema), list(named.values()))
        if not schema[self.rating].is_numeric():
            raise FileError(f"{self.path}: column {self.rating!r} is {schema[self.rating]}; expected numbers")
        kinds = {name: id_type(self.path, named[name], schema[named[name]]) for name in ("user", "item")}
        return frame.select(
            *[pl.col(named[name]).cast(kind).alias(name) for name, kind in kinds.items()],
            pl.col(self.rating).cast(pl.Float64).alias("rating"),
        ).with_columns(_valid(-math.inf, math.inf).alias("valid"))

    def parts(self) -> list[Parquet]:
        """Itself: it is one file."""
        return [self]

    def raise_first_error(self, problem: Exception | None) -> NoReturn:
        """Raise :class:`FileError` with the number and the content of the first row that is not as it should be."""
        try:
            bad = self.scan().with_row_index("row", offset=1).filter(~pl.col("valid")).head(1).collect()
        except pl.exceptions.PolarsError as again:
            raise FileError(f"cannot read {self.path}: {again}") from problem
        if not bad.height:
            raise FileError(f"cannot read {self.path}: {problem}") from problem
        row = bad.row(0, named=True)
        raise FileError(
            f"{self.path}, row {row['row']}: user {row['user']!r}, item {row['item']!r}, rating {row['rating']!r}; "
            "expected all three, and a finite rating"
        )


def id_type(path: Path, column: str, dtype: pl.DataType) -> IdType:
    """Whole numbers or text, for a column of ids."""
    if dtype.is_integer():
        return pl.Int64
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return pl.String
    raise FileError(f"{path}: column {column!r} is {dtype}; ids are whole numbers or strings")


def check_columns(path: Path, there: list[str], wanted: list[str]) -> None:
    """Raise :class:`FileError` unless all wanted columns are there."""
    missing = [name for name in wanted if name not in there]
    if missing:
        raise FileError(f"{path} has no column {missing[0]!r}; it has {there}")


def _valid(low: float, high: float) -> pl.Expr:
    rating = pl.col("rating")
    right = pl.all_horizontal(
        pl.col("user").is_not_null(), pl.col("item").is_not_null(), rating.is_finite(), rating.is_between(low, high)
    )
    return right.fill_null(False)
