"""Section 4.1, written out as loops over the paper's sums; and ratings to try it on."""

from pathlib import Path

import numpy as np
import polars as pl

from rankfall.data import Ratings, tables

Rated = list[tuple[int, int, float]]
"""User, item and rating."""

Made = tuple[Ratings, Rated, dict[int, str]]
"""A data set, and the ratings and topics of items that it was made from."""


def made(folder: Path, rated: Rated, topics: dict[int, str]) -> Ratings:
    users, items, values = zip(*rated, strict=True)
    pl.DataFrame({"user": users, "item": items, "rating": values}).write_parquet(folder / "ratings.parquet")
    things = {"item": list(topics), "title": [f"T{i}" for i in topics], "topics": list(topics.values())}
    pl.DataFrame(things).write_parquet(folder / "items.parquet")
    return tables(folder / "ratings.parquet", folder / "items.parquet", name="made")


def random_ratings(folder: Path) -> Made:
    rng = np.random.default_rng(3)
    rated = [
        (int(u), int(i), float(rng.integers(1, 6))) for u in range(1, 61) for i in range(30) if rng.random() < 0.02 * u
    ]
    topics = {i: "|".join(t for t in "abcdef" if rng.random() < 0.3) for i in range(40)}
    return made(folder, rated, topics), rated, topics


def x_by_the_book(F: list[list[int]], G: list[list[int]]) -> list[list[float]]:
    users, items, topics = range(len(F)), range(len(G)), range(len(G[0]))
    result = []
    for a in items:
        row = []
        for j in topics:
            above = sum(F[u][a] * G[a][j] for u in users)
            below = sum(1 for u in users if any(F[u][b] * G[b][j] > 0 for b in items))
            row.append(above / below if below else 0.0)
        result.append(row)
    return result


def theta_by_the_book(F: list[list[int]], G: list[list[int]]) -> list[list[float]]:
    items, topics = range(len(G)), range(len(G[0]))
    result = []
    for row in F:
        below = sum(row[a] * G[a][j] for j in topics for a in items)
        result.append([sum(row[a] * G[a][j] for a in items) / below if below else 0.0 for j in topics])
    return result
