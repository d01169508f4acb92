"""Who was shown which item, and who clicked it: what a click log of any size says about items and topics.

The log is read in parts, and its rows are laid aside in temporary files by person, some people in each. Then one file
at a time is in memory. What stays are sums by item, and one number for each pair of a person and an item clicked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from rankfall.arrays import BoolArray, IntArray
from rankfall.errors import FileError
from rankfall.item_names import Id

FILES = 32
"""How many files the people of a log are laid aside in."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """What a click log says.

    Attributes
    ----------
    rows, unknown : how many rows the log has; how many of them show an item that is not in the catalog.
    people : how many people were shown any item of the catalog.
    shown : (items,) people who were shown each item.
    clicked : (people who clicked, items) 1 where a person clicked an item.
    audience : (topics,) people who clicked anything in each topic.
    exposed : (items, topics) people who clicked anything in the topic and were shown the item.
    """

    rows: int
    unknown: int
    people: int
    shown: IntArray
    clicked: csr_array
    audience: IntArray
    exposed: IntArray

    @property
    def clickers(self) -> IntArray:
        """(items,) people who clicked each item."""
        counts: IntArray = np.asarray(self.clicked.sum(axis=0)).astype(np.int64)
        return counts


def interactions(parts: Iterable[pl.DataFrame], ids: tuple[Id, ...], membership: BoolArray) -> Interactions:
    """Count what a log says of these items.

    Parameters
    ----------
    parts : as :func:`rankfall.click_logs.streaming.shown_in_parts` gives them.
    ids : of the items.
    membership : (items, topics) which item is of which topic.
    """
    with tempfile.TemporaryDirectory(prefix="rankfall-") as name:
        folder = Path(name)
        rows, unknown = _lay_aside(parts, ids, folder)
        topics = csr_array(membership.astype(np.int32))
        people, shown = 0, np.zeros(len(ids), dtype=np.int64)
        audience, exposed = np.zeros(topics.shape[1], dtype=np.int64), np.zeros(topics.shape, dtype=np.int64)
        blocks = [csr_array((0, len(ids)), dtype=np.float32)]
        for number in range(FILES):
            files = sorted((folder / str(number)).glob("*.parquet"))
            if not files:
                continue
            seen, clicked = _pairs(pl.read_parquet(files), len(ids))
            wanted = ((clicked @ topics) > 0).astype(np.int32)  # person by topic: clicked anything in it
            people += seen.shape[0]
            shown += np.asarray(seen.sum(axis=0))
            audience += np.asarray(wanted.sum(axis=0))
            exposed += (seen.T @ wanted).toarray()
            some = np.diff(clicked.indptr) > 0
            blocks.append(clicked[some].astype(np.float32))
    return Interactions(rows, unknown, people, shown, csr_array(vstack(blocks, format="csr")), audience, exposed)


def _lay_aside(parts: Iterable[pl.DataFrame], ids: tuple[Id, ...], folder: Path) -> tuple[int, int]:
    """Write rows of known items to files by person; how many rows there were, and how many of unknown items."""
    known = pl.DataFrame({"item": list(ids), "row": np.arange(len(ids), dtype=np.int32)})
    rows = unknown = 0
    for number, part in enumerate(parts):
        found = part.join(known.cast({"item": part.schema["item"]}), on="item", maintain_order="left")
        rows, unknown = rows + part.height, unknown + part.height - found.height
        slim = found.select(pl.col("who").hash(), "row", "click").with_columns(file=pl.col("who") % FILES)
        for (file,), some in slim.partition_by("file", as_dict=True, include_key=False).items():
            place = folder / str(file)
            place.mkdir(exist_ok=True)
            some.write_parquet(place / f"{number:06d}.parquet", compression="lz4")
    if not rows:
        raise FileError("the click log has no rows")
    return rows, unknown


def _pairs(frame: pl.DataFrame, items: int) -> tuple[csr_array, csr_array]:
    """Person by item, of all people in the frame: shown, and clicked."""
    pairs = frame.group_by("who", "row").agg(pl.col("click").any())
    person = pairs["who"].rank("dense").to_numpy().astype(np.int64) - 1
    row, click = pairs["row"].to_numpy(), pairs["click"].to_numpy()
    shape = (int(person.max()) + 1, items)
    seen = csr_array((np.ones(len(row), dtype=np.int32), (person, row)), shape=shape)
    clicked = csr_array((np.ones(int(click.sum()), dtype=np.int32), (person[click], row[click])), shape=shape)
    return seen, clicked
