"""Make the embedded ``movielens-small`` from MovieLens latest-small as GroupLens published it.

    python scripts/embed_movielens_small.py FOLDER

FOLDER holds ratings.csv, movies.csv and README.txt. Timestamps, tags and links are left out. The README, whose terms
must travel with the data, is carried as it is.
"""

import sys
from pathlib import Path

import polars as pl

from rankfall.data import movielens
from rankfall.data.datasets import EMBEDDED


def main(folder: Path) -> None:
    """Write ratings and items as Parquet, and the README, into the package."""
    ratings = movielens.read_commas(folder, "movielens-small")
    ratings.counts()
    EMBEDDED.mkdir(exist_ok=True)
    small = {"user": pl.Int16, "item": pl.Int32, "rating": pl.Float32}
    frame = ratings.scan().cast(small).sort("user", "item").collect()
    for name, table in (("ratings", frame), ("items", ratings.items)):
        table.write_parquet(EMBEDDED / f"{name}.parquet", compression="zstd", compression_level=22, statistics=False)
    (EMBEDDED / "README.txt").write_bytes((folder / "README.txt").read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
