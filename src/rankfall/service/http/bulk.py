"""Many items in one body: lines of JSON, or a Parquet file."""

from __future__ import annotations

import tempfile
from typing import Any

import msgspec
import polars as pl

from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, InvalidError, RankfallError, ServiceError, short
from rankfall.files import reading_parquet
from rankfall.item_names import Id
from rankfall.journal.catalogs import CatalogState
from rankfall.service.http.parquet_footer import read_footer
from rankfall.service.items import catalog_of, fitting, resolved
from rankfall.wire import BulkItem, ItemBody, decode


class _Peek(msgspec.Struct):
    delete: Any = False


class _Deletion(msgspec.Struct):
    id: int | str


def read_lines(body: bytes, catalog: CatalogState) -> tuple[Catalog, list[Id]]:
    """The items to put, as a catalog that fits this one, and the ids of those to withdraw."""
    put: dict[Id, ItemBody] = {}
    gone: list[Id] = []
    for number, line in enumerate(body.splitlines(), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            if b'"delete"' in line and decode(_Peek, line, where).delete is True:
                deleted = decode(_Deletion, line, where).id
                if deleted in catalog:  # gone already is as good: a retry must not fail
                    gone.append(deleted)
                continue
            item = decode(BulkItem, line, where)
        except InvalidError as problem:
            raise CatalogError(problem.message) from None
        if item.id in put:
            raise CatalogError(f"{where}: id {short(item.id)} is there twice")
        put[item.id] = resolved(catalog, item.id, item)
    return catalog_of(put.items(), catalog.shape), gone


def read_parquet(body: bytes, catalog: CatalogState, most: int) -> Catalog:
    """The items to put, as a catalog that fits this one; raises if they would unpack to more than ``most`` bytes."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        try:
            _check_size(read_footer(body).in_memory, most)
            file.write(body)
            file.flush()
            _check_size(_text_size(file.name), most)
            return fitting(Catalog.read_parquet(file.name), catalog.shape)
        except ServiceError:
            raise
        except RankfallError as problem:
            raise CatalogError(str(problem).replace(file.name, "the body")) from None


def _text_size(path: str) -> int:
    """Bytes of all text in a file: text that repeats is stored once, and would be copied."""
    with reading_parquet(path):
        sizes = pl.scan_parquet(path).select(pl.col(pl.String).str.len_bytes().sum()).collect()
    return sum(int(size or 0) for size in sizes.row(0)) if sizes.height else 0


def _check_size(size: int, most: int) -> None:
    if size > most:
        message = f"the body would unpack to at least {size} bytes; at most {most} are taken"
        raise InvalidError(message, code="too_large", status=413)
