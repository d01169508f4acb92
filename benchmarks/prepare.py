"""How long it takes to prepare a large data set, and how much memory, with generated files of its layout.

    python benchmarks/prepare.py movielens --ratings 20000000
    python benchmarks/prepare.py yahoo --ratings 70000000

Files are generated in a temporary folder and removed. Preparing runs in a process of its own, whose peak memory and
time (imports included) are printed.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
import polars as pl

_WORK = """
import json, resource, sys, time
start = time.perf_counter()
from rankfall import prepare
from rankfall.data import find
text = prepare(find(sys.argv[1])).describe()
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_SELF)
figures = {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 2**20, "text": text}
print(json.dumps(figures))
"""


def movielens(folder: Path, ratings: int, rng: np.random.Generator) -> None:
    """Write the layout of MovieLens 20M: 138,493 users, 26,744 movies, half stars."""
    users, movies = 138_493, 26_744
    genres = np.array([f"Genre {g}" for g in range(19)])
    named = [f"{m},Movie {m},{'|'.join(rng.choice(genres, 2, replace=False))}" for m in range(1, movies + 1)]
    (folder / "movies.csv").write_text("\n".join(["movieId,title,genres", *named]))
    frame = pl.DataFrame(
        {
            "userId": 1 + _popular(rng, users, ratings, sort=True),
            "movieId": 1 + _popular(rng, movies, ratings),
            "rating": rng.integers(1, 11, ratings) / 2,
            "timestamp": rng.integers(789_652_009, 1_427_784_002, ratings),
        }
    )
    frame.write_csv(folder / "ratings.csv")


def yahoo(folder: Path, ratings: int, rng: np.random.Generator) -> None:
    """Write the layout of Yahoo! Music R2: ten files of 182,318 users each, 136,736 songs."""
    songs = 136_736
    levels = ["0\t0\t1\tUnknown", *[f"{g}\t{g}\t1\tGenre {g}" for g in range(1, 20)]]
    levels += [f"{g}\t{g % 19 + 1}\t2\tKind {g}" for g in range(20, 200)]
    (folder / "genre-hierarchy.txt").write_text("\n".join(levels))
    attributes = {"song": np.arange(songs), "album": rng.integers(0, 20_000, songs)}
    attributes |= {"artist": rng.integers(0, 9_000, songs), "genre": rng.integers(0, 200, songs)}
    options = {"separator": "\t", "include_header": False}
    pl.DataFrame(attributes).write_csv(folder / "song-attributes.txt", **options)
    for part in range(10):
        users = 182_318 * part + _popular(rng, 182_318, ratings // 10, sort=True)
        values = {"song": _popular(rng, songs, ratings // 10), "rating": rng.integers(1, 6, ratings // 10)}
        pl.DataFrame({"user": users, **values}).write_csv(folder / f"train_{part}.txt", **options)


def _popular(rng: np.random.Generator, count: int, size: int, sort: bool = False) -> np.ndarray:
    """Ids from 0 on, of which few occur often and many seldom."""
    drawn = (count * rng.random(size, dtype=np.float32) ** 3).astype(np.int32) % count
    ids = rng.permutation(count).astype(np.int32)[drawn]
    return np.sort(ids) if sort else ids


LAYOUTS = {"movielens": movielens, "yahoo": yahoo}


@click.command(help=__doc__)
@click.argument("layout", type=click.Choice(list(LAYOUTS)))
@click.option("--ratings", type=click.IntRange(1000), default=20_000_000, show_default=True, help="Number of ratings.")
def main(layout: str, ratings: int) -> None:
    """Generate the files, prepare them, and print time and memory."""
    folder = Path(tempfile.mkdtemp(prefix="rankfall-benchmark-"))
    try:
        LAYOUTS[layout](folder, ratings, np.random.default_rng(0))
        size = sum(path.stat().st_size for path in folder.iterdir())
        click.echo(f"{layout}: {ratings:,} ratings, {size / 2**20:,.0f} MiB of text")
        done = subprocess.run([sys.executable, "-c", _WORK, str(folder)], stdout=subprocess.PIPE, text=True, check=True)
    finally:
        shutil.rmtree(folder)
    figures = json.loads(done.stdout)
    click.echo(figures["text"])
    rate = ratings / figures["seconds"]
    click.echo(f"{figures['seconds']:.1f} s ({figures['cpu']:.1f} s of processor time), {rate:,.0f} ratings/s")
    click.echo(f"{figures['peak']:.2f} GiB of memory at its peak")
    click.echo(f"at this rate, 700 million ratings take {700e6 / rate / 60:.1f} minutes")


if __name__ == "__main__":
    main()
