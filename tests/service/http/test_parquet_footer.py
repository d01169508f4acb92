"""What a Parquet file says about itself is what polars wrote into it."""

import io
from contextlib import suppress
from typing import Any

import polars as pl
import pytest

from rankfall.errors import FileError, InvalidError
from rankfall.journal.catalogs import CatalogState
from rankfall.service.http.bulk import read_parquet
from rankfall.service.http.parquet_footer import read_footer


def written(frame: pl.DataFrame, **options: Any) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, **options)
    return file.getvalue()


@pytest.mark.parametrize("compression", ["uncompressed", "zstd", "snappy"])
@pytest.mark.parametrize("row_group_size", [None, 7])
def test_a_footer(compression: str, row_group_size: int | None) -> None:
    frame = pl.DataFrame(
        {"id": range(100), "title": [f"title {n}" for n in range(100)], "x": [0.5 * n for n in range(100)]}
    )
    footer = read_footer(written(frame, compression=compression, row_group_size=row_group_size))
    assert (footer.rows, footer.columns) == (100, 3)
    assert footer.size >= 8 * 200 + sum(len(text) for text in frame["title"])


def test_what_packs_well_counts_unpacked() -> None:
    zeros = written(pl.DataFrame({"id": range(100_000), "text": ["x" * 50] * 100_000}), compression="zstd")
    assert len(zeros) < 1 << 20
    assert read_footer(zeros).in_memory >= 8 * 200_000
    nothing = read_footer(written(pl.DataFrame({"id": []})))
    assert (nothing.rows, nothing.columns) == (0, 1)


def test_text_that_repeats_counts_each_time() -> None:
    body = written(pl.DataFrame({"id": range(1000), "title": ["x" * 10_000] * 1000}))
    assert read_footer(body).in_memory < 1 << 20
    with pytest.raises(InvalidError, match="would unpack to at least 10000000 bytes; at most 1048576"):
        read_parquet(body, CatalogState(), 1 << 20)


def test_damaged_files_are_refused() -> None:
    body = written(pl.DataFrame({"id": range(10)}))
    for damaged in (b"", b"PAR1", b"PAR1" * 3, body[:-1], b"x" + body[1:]):
        with pytest.raises(FileError):
            read_footer(damaged)
    for at in range(len(body) - 9, len(body) - 200, -1):  # whatever it says, it ends
        for value in (0, 127, 255):
            with suppress(FileError):
                assert read_footer(body[:at] + bytes([value]) + body[at + 1 :]).in_memory >= 0
