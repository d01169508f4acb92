"""Many items in one body: lines of JSON, or a Parquet file."""

from __future__ import annotations

import tempfile
from typing import Any

import msgspec

from rankfall.catalog import Catalog, Id
from rankfall.errors import CatalogError, InvalidError, RankfallError
from rankfall.journal.catalogs import CatalogState
from rankfall.service.items import catalog_of, fitting
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
            raise CatalogError(f"{where}: id {item.id!r} is there twice")
        put[item.id] = item
    return catalog_of(put.items(), catalog.shape), gone


def read_parquet(body: bytes, catalog: CatalogState) -> Catalog:
    """The items to put, as a catalog that fits this one."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(body)
        file.flush()
        try:
            return fitting(Catalog.read_parquet(file.name), catalog.shape)
        except RankfallError as problem:
            raise CatalogError(str(problem).replace(file.name, "the body")) from None
