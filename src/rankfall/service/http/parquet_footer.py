"""What a Parquet file says about itself at its end: how much there is in it, before anything is unpacked.

The end of a file is its metadata, in Thrift's compact form, then their length (4 bytes) and ``PAR1``.
https://parquet.apache.org/docs/file-format/metadata/
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from rankfall.errors import FileError

_MAGIC = b"PAR1"
_LONGEST, _DEEPEST = 4 << 20, 32  # of the metadata
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_ROWS, _ROW_GROUPS, _SCHEMA = 3, 4, 2  # fields of the metadata
_COLUMNS_OF_GROUP, _COLUMN_METADATA, _UNCOMPRESSED = 1, 3, 6  # of a row group, of its columns, of their metadata


@dataclass(frozen=True)
class Footer:
    """How much a file holds. ``size`` is that of all pages in bytes, unpacked; values that repeat may take none."""

    rows: int
    columns: int
    size: int

    @property
    def in_memory(self) -> int:
        """Bytes that it takes at least, once it is read: eight for each value."""
        return max(self.size, 8 * self.rows * self.columns)


def read_footer(body: bytes) -> Footer:
    """What the file in ``body`` says it holds; raises if it is no Parquet file."""
    try:
        (length,) = struct.unpack("<I", body[-8:-4])
        if body[:4] != _MAGIC or body[-4:] != _MAGIC or length > min(len(body) - 12, _LONGEST):
            raise ValueError
        metadata = _Thrift(body[-8 - length : -8]).struct(0)
        columns = [column for group in metadata[_ROW_GROUPS] for column in group[_COLUMNS_OF_GROUP]]
        sizes = [column[_COLUMN_METADATA][_UNCOMPRESSED] for column in columns]
        if not all(isinstance(number, int) and number >= 0 for number in [metadata[_ROWS], *sizes]):
            raise ValueError
        return Footer(metadata[_ROWS], len(metadata[_SCHEMA]) - 1, sum(sizes))  # the first of the schema is the root
    except (ValueError, LookupError, TypeError, struct.error):
        raise FileError("this is not a Parquet file") from None


class _Thrift:
    """Values in Thrift's compact form, one after the other: structs as dicts by the number of the field."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while byte := self._byte():
            step, kind = byte >> 4, byte & 15
            number = number + step if step else self._signed()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError
        if kind in (_TRUE, _FALSE, _BYTE):  # booleans are a byte within lists only
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in (_LIST, _SET):
            byte = self._byte()
            size = byte >> 4 if byte >> 4 != 15 else self._unsigned()
            return [self._value(byte & 15, depth + 1) for _ in range(size)]
        if kind == _MAP:
            size = self._unsigned()
            kinds = self._byte() if size else 0
            return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth)
        raise ValueError

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise ValueError
        return self._data[self._at - size : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
