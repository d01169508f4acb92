"""A chunk, from the data to the bytes of its file: a pure function, wherever it runs."""

from __future__ import annotations

import copy
import hashlib
import io
from collections.abc import Iterator

import numpy as np
import polars as pl

from rankfall.catalog import Catalog
from rankfall.errors import FileError, ProblemError, RankfallError
from rankfall.experiments.many_users.simulation import simulate_users
from rankfall.experiments.many_users.stream import recorded
from rankfall.experiments.plan import Chunk
from rankfall.experiments.populations import Data
from rankfall.experiments.simulation import Progress, default_checkpoints, run_seed, simulate
from rankfall.policies import PolicyLike

SCHEMA = pl.Schema(
    {
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
"""Columns of a chunk's table; results put those that name the case before them."""

STREAM_SCHEMA = pl.Schema(
    {name: kind for column, kind in SCHEMA.items() for name in ((column, "lists") if column == "step" else (column,))}
)
"""Where users come in a stream: with the lists that the user has seen by that step."""


def simulate_chunk(chunk: Chunk, data: Data, progress: Progress | None = None) -> bytes:
    """The Parquet file of a chunk. The same chunk gives the same bytes.

    Run (user, repeat) depends on the setup's seed and these two numbers: not on the chunk it is in, nor on the policy.
    """
    simulated = _streams if chunk.setup.sharing else _single_users
    table = pl.concat(simulated(chunk, data, progress)).cast(_schema(chunk)).select(_schema(chunk).names())
    return parquet(table, **{"rankfall.chunk": chunk.key, "rankfall.digest": _digest(table)})


def _single_users(chunk: Chunk, data: Data, progress: Progress | None) -> Iterator[pl.DataFrame]:
    setup, marks = chunk.setup, _marks(chunk)
    fresh: tuple[Catalog, PolicyLike] | None = None
    for run in range(chunk.first, chunk.last):
        user, repeat = divmod(run, setup.repeats)
        world = setup.world(user, repeat, data)
        if fresh is None or fresh[0] is not world[0]:
            fresh = world[0], setup.make(world)
        seed = run_seed(setup.seed, user, repeat)
        try:
            result = simulate(copy.deepcopy(fresh[1]), world[1], setup.steps, setup.k, seed, marks, progress)
        except RankfallError as problem:
            raise ProblemError(f"{setup.policy}: {problem}") from problem
        yield result.frame(user=user, repeat=repeat)


def _streams(chunk: Chunk, data: Data, progress: Progress | None) -> Iterator[pl.DataFrame]:
    setup = chunk.setup
    for repeat in range(chunk.first, chunk.last):
        policy, people = setup.crowd(repeat, data)
        arrivals, seed = setup.arrivals(repeat, setup.steps), run_seed(setup.seed, 0, repeat)
        try:
            run = simulate_users(policy, people, arrivals, setup.k, seed, progress, workers=1)
        except RankfallError as problem:
            raise ProblemError(f"{setup.name}: {problem}") from problem
        yield recorded(run, _marks(chunk), repeat)


def _schema(chunk: Chunk) -> pl.Schema:
    return STREAM_SCHEMA if chunk.setup.sharing else SCHEMA


def _marks(chunk: Chunk) -> list[int]:
    return checkpoints(chunk.setup.steps, chunk.setup.checkpoints, chunk.setup.log_checkpoints)


def checkpoints(steps: int, even: int, logarithmic: int) -> list[int]:
    """Evenly spaced steps, and others evenly spaced in logarithms; the last step included.

    >>> checkpoints(1000, 4, 4)
    [1, 10, 100, 250, 500, 750, 1000]
    """
    early = np.unique(np.geomspace(1, steps, logarithmic).astype(int)).tolist() if logarithmic else []
    return sorted({*early, *default_checkpoints(steps, even).tolist()})


def read_chunk(chunk: Chunk, content: bytes) -> pl.DataFrame:
    """The table in the file of this chunk; a :class:`FileError` if it is damaged or of another chunk."""
    try:
        said = pl.read_parquet_metadata(io.BytesIO(content))
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError) as problem:
        raise FileError(f"the file of chunk {chunk.key} is damaged: {problem}") from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # what polars raises on some damaged files; it is no Exception
            raise
        raise FileError(f"the file of chunk {chunk.key} is damaged: {problem}") from problem
    if said.get("rankfall.chunk") != chunk.key or table.schema != _schema(chunk):
        raise FileError(f"the file of chunk {chunk.key} holds another one")
    if said.get("rankfall.digest") != _digest(table):
        raise FileError(f"the file of chunk {chunk.key} is damaged: its numbers are not those that were written")
    return table


def parquet(table: pl.DataFrame, **metadata: str) -> bytes:
    """A table as a Parquet file: equal tables give equal bytes."""
    file = io.BytesIO()
    table.rechunk().write_parquet(
        file, compression="zstd", compression_level=3, row_group_size=1 << 17, metadata=metadata
    )
    return file.getvalue()


def _digest(table: pl.DataFrame) -> str:
    """Of the numbers, so that a damaged file that still reads is found out."""
    digest = hashlib.blake2b(digest_size=12)
    for column in table:
        digest.update(column.to_numpy().tobytes())
    return digest.hexdigest()
