"""A cell, from the prepared data to the bytes of its file: a pure function, wherever it runs."""

from __future__ import annotations

import hashlib
import io

import polars as pl

from rankfall.catalog import Catalog
from rankfall.data.preparation import Prepared
from rankfall.errors import FileError
from rankfall.experiments.plan import Cell
from rankfall.experiments.results import Run
from rankfall.experiments.simulation import Progress, default_checkpoints, simulate_many
from rankfall.policies import POLICIES, PolicyLike, make_policy, settings_of
from rankfall.users import CascadeUser

SCHEMA = pl.Schema(
    {
        "tradeoff": pl.Float64(),
        "topics": pl.Int32(),
        "k": pl.Int32(),
        "policy": pl.String(),
        "user": pl.Int32(),
        "repeat": pl.Int32(),
        "step": pl.Int64(),
        "regret": pl.Float64(),
        "clicks": pl.Int64(),
        "touched": pl.Float64(),
        "covered": pl.Float64(),
        "best": pl.Float64(),
    }
)
"""Columns of a cell's table; results put ``study`` and ``value`` before them."""


def simulate_cell(
    cell: Cell, prepared: Prepared, *, workers: int | None = None, progress: Progress | None = None
) -> bytes:
    """The Parquet file of a cell. The same cell gives the same bytes, with any number of workers."""
    data = prepared.with_topics(cell.topics)
    policy = policy_of(cell, data.catalog(perfect_coverage=cell.perfect_coverage))
    runs = simulate_many(
        policy,
        users_of(cell, data),
        cell.steps,
        cell.k,
        repeats=cell.repeats,
        seed=cell.seed,
        checkpoints=default_checkpoints(cell.steps, cell.checkpoints),
        workers=workers,
        progress=progress,
    )
    return _packed(cell, _table(cell, runs))


def policy_of(cell: Cell, catalog: Catalog) -> PolicyLike:
    """The policy of a cell; gamma is for those that have one."""
    gamma = {"gamma": cell.gamma} if "gamma" in settings_of(POLICIES[cell.policy]) else {}
    return make_policy(cell.policy, catalog, k=cell.k, steps=cell.steps, **gamma)


def users_of(cell: Cell, data: Prepared) -> list[CascadeUser]:
    """The test users of a cell, with the topics that ``data`` has in use."""
    return [
        CascadeUser(data.user_coverage, data.relevance, data.theta[u], data.beta[u], cell.tradeoff)
        for u in range(cell.users)
    ]


def read_cell(cell: Cell, content: bytes) -> pl.DataFrame:
    """The table in the file of this cell; a :class:`FileError` if it is damaged or of another cell."""
    try:
        said = pl.read_parquet_metadata(io.BytesIO(content))
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError) as problem:
        raise FileError(f"the file of cell {cell.key} is damaged: {problem}") from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # what polars raises on some damaged files; it is no Exception
            raise
        raise FileError(f"the file of cell {cell.key} is damaged: {problem}") from problem
    if said.get("rankfall.cell") != cell.identity or table.schema != SCHEMA:
        raise FileError(f"the file of cell {cell.key} holds another one")
    if said.get("rankfall.digest") != _digest(table):
        raise FileError(f"the file of cell {cell.key} is damaged: its numbers are not those that were written")
    return table


def parquet(table: pl.DataFrame, **metadata: str) -> bytes:
    """A table as a Parquet file: equal tables give equal bytes."""
    file = io.BytesIO()
    table.rechunk().write_parquet(
        file, compression="zstd", compression_level=3, row_group_size=1 << 17, metadata=metadata
    )
    return file.getvalue()


def _packed(cell: Cell, table: pl.DataFrame) -> bytes:
    return parquet(table, **{"rankfall.cell": cell.identity, "rankfall.digest": _digest(table)})


def _table(cell: Cell, runs: list[Run]) -> pl.DataFrame:
    """Rows in order: user by user, repeat by repeat, step by step."""
    frames = [
        run.frame(
            tradeoff=cell.tradeoff,
            topics=cell.topics,
            k=cell.k,
            policy=cell.policy,
            user=index // cell.repeats,
            repeat=index % cell.repeats,
        )
        for index, run in enumerate(runs)
    ]
    return pl.concat(frames).cast(SCHEMA).select(SCHEMA.names())


def _digest(table: pl.DataFrame) -> str:
    """Of the numbers, so that a damaged file that still reads is found out."""
    digest = hashlib.blake2b(digest_size=12)
    for column in table:
        if column.dtype == pl.String:
            digest.update("\n".join(column.to_list()).encode())
        else:
            digest.update(column.to_numpy().tobytes())
    return digest.hexdigest()
