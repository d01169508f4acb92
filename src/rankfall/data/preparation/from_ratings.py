"""The preparation of section 4.1, from ratings to features of items and preferences of users."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankfall.arrays import BoolArray
from rankfall.data.preparation import equations
from rankfall.data.preparation.prepared import Prepared, topics_in_use
from rankfall.data.preparation.settings import PreparationSettings
from rankfall.data.ratings import Counts, Ratings
from rankfall.errors import CatalogError, ProblemError


def prepare(
    ratings: Ratings,
    *,
    users: int = 1000,
    items: int = 1000,
    threshold: float = 5.0,
    topics: int | None = None,
    rank: int = 10,
    unit_preferences: bool = False,
    seed: int = 0,
    one_topic: bool = False,
) -> Prepared:
    """Prepare a data set as section 4.1 does.

    Parameters
    ----------
    ratings : from :func:`rankfall.data.find` or :func:`rankfall.data.tables`.
    users, items : how many of the most active users and most rated items to keep, at most; between equals, the
        smaller id. All ratings count, whatever their value.
    threshold : a rating of at least this is positive; the paper's is 5.
    topics : how many topics, those with the most chosen items first, by name between equals; None for all that have
        an item.
    rank : how many relevance features, the paper's m.
    unit_preferences : divide each beta by its length, as the text of the paper has it.
    seed : decides which half of the users is for training. Of an odd number, training has one more.
    one_topic : leave each item only its rarest topic among the chosen items, by name between equals.

    >>> from rankfall.data import find
    >>> prepare(find("movielens-small"), items=200, topics=10)
    Prepared('movielens-small', 200 items, 10 topics, 10 features, 300 test users)
    """
    settings = PreparationSettings(users, items, threshold, topics, rank, unit_preferences, seed, one_topic)
    counts = ratings.counts()
    user_ids = counts.users["user"].head(users).sort()
    item_ids = counts.items["item"].head(items).sort()
    if len(user_ids) < 2:
        raise ProblemError(f"{ratings.name} has one user; at least 2 are needed, one for training and one for test")
    chosen = _chosen(ratings, item_ids)
    names, membership = _topics(ratings, chosen, one_topic)
    n_topics = topics_in_use(membership, topics)
    n_train = len(user_ids) - len(user_ids) // 2
    most = min(n_train, len(item_ids))
    if rank > most:
        raise ProblemError(
            f"rank is {rank}, and {ratings.name} has {n_train} users for training and {len(item_ids)} items: no more "
            f"than {most} relevance features; ask for fewer, with rank, or bring more ratings"
        )
    F = _positives(ratings, user_ids, item_ids, threshold)
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(len(user_ids))
    train_rows, test_rows = np.sort(order[:n_train]), np.sort(order[n_train:])
    kept = test_rows[F[test_rows].any(axis=1)]
    train, test = F[train_rows], F[kept]
    for name, half in (("training", train), ("test", test)):
        if not half.any():
            raise ProblemError(
                f"no {name} user of {ratings.name} rated any of the {len(item_ids)} items {threshold:g} or more; "
                "lower the threshold"
            )
    relevance = equations.relevance_features(train, rank)
    return Prepared(
        dataset=ratings.name,
        settings=settings,
        found=_found(counts),
        item_ids=tuple(item_ids),
        titles=tuple(chosen["title"]),
        all_topics=names,
        membership=membership,
        train=train,
        test=test,
        user_ids=tuple(user_ids.gather(kept)),
        left_out=len(test_rows) - len(kept),
        relevance=relevance,
        beta=equations.relevance_preferences(test, relevance, unit_preferences),
        n_topics=n_topics,
    )


def _found(counts: Counts) -> dict[str, int]:
    return {"users": counts.users.height, "items": counts.items.height, "ratings": counts.ratings}


def _chosen(ratings: Ratings, item_ids: pl.Series) -> pl.DataFrame:
    """Rows of the items table for these ids, in their order."""
    chosen = item_ids.alias("item").to_frame().join(ratings.items, on="item", how="left", maintain_order="left")
    missing = chosen.filter(pl.col("topics").is_null())["item"]
    if len(missing):
        raise CatalogError(
            f"item {missing[0]!r} of {ratings.name} is rated and not in its items table of {ratings.items.height}; "
            "every item that is used needs its topics"
        )
    return chosen


def _topics(ratings: Ratings, chosen: pl.DataFrame, one_topic: bool) -> tuple[tuple[str, ...], BoolArray]:
    """All topics, those with the most chosen items first, and which item is of which."""
    pairs = chosen.select(pl.int_range(pl.len()).alias("row"), "topics").explode("topics").drop_nulls("topics")
    if one_topic:
        pairs = pairs.sort(pl.len().over("topics"), "topics").unique("row", keep="first", maintain_order=True)
    counts = dict(pairs["topics"].value_counts().iter_rows())
    names = tuple(sorted(ratings.topics, key=lambda name: (-counts.get(name, 0), name)))
    column = {name: j for j, name in enumerate(names)}
    membership = np.zeros((chosen.height, len(names)), dtype=bool)
    membership[pairs["row"].to_numpy(), [column[name] for name in pairs["topics"]]] = True
    return names, membership


def _positives(ratings: Ratings, user_ids: pl.Series, item_ids: pl.Series, threshold: float) -> BoolArray:
    """F, with a row for each user and a column for each item."""
    pairs = ratings.pairs(user_ids, item_ids, threshold)
    users = user_ids.alias("user").to_frame().with_row_index("row")
    items = item_ids.alias("item").to_frame().with_row_index("column")
    found = pairs.join(users, on="user").join(items, on="item")
    F = np.zeros((len(user_ids), len(item_ids)), dtype=bool)
    F[found["row"].to_numpy(), found["column"].to_numpy()] = True
    return F
