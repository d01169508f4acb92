"""Frames of polars and pandas: what they have in common, one as the other, and values as tables of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from rankfall.errors import RankfallError

if TYPE_CHECKING:
    import polars as pl


class Column(Protocol):
    """One column of a frame."""

    def to_list(self) -> list[Any]:
        """Give the values as plain Python objects."""
        ...


class Frame(Protocol):
    """What polars and pandas frames have in common, as far as it is needed here."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Any: ...


def to_pandas(frame: pl.DataFrame) -> Any:
    """The same table as a pandas frame; needs pandas, and nothing else.

    >>> import polars as pl
    >>> to_pandas(pl.DataFrame({"policy": ["a", "b"], "regret": [1.5, None]}))["policy"].tolist()
    ['a', 'b']
    """
    try:
        import pandas as pd
    except ImportError:
        raise RankfallError("this needs pandas: pip install pandas") from None
    plain = {
        column.name: column.to_numpy() if column.dtype.is_numeric() and not column.null_count() else column.to_list()
        for column in frame
    }
    return pd.DataFrame(plain, columns=list(plain))


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of HTML, with everything in it escaped.

    >>> html_table("a < b", ["x"], [[1]])
    '<table><caption>a &lt; b</caption><thead><tr><th>x</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<caption>{escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
