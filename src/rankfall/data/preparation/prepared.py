"""A data set made ready for simulation: features for policies, preferences of test users."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, FloatArray, frozen, number, whole
from rankfall.catalog import Catalog, Id
from rankfall.data import Counts, Ratings
from rankfall.data.preparation import equations
from rankfall.errors import CatalogError, ProblemError
from rankfall.files import load_blocks, save_blocks

_FORMAT = "rankfall prepared 1"


@dataclass(frozen=True)
class Settings:
    """How a data set is prepared; see :func:`prepare`."""

    users: int = 1000
    items: int = 1000
    threshold: float = 5.0
    topics: int | None = None
    rank: int = 10
    unit_preferences: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        whole("users", self.users, ProblemError, low=2)
        whole("items", self.items, ProblemError, low=1)
        number("threshold", self.threshold, ProblemError)
        if self.topics is not None:
            whole("topics", self.topics, ProblemError, low=1)
        whole("rank", self.rank, ProblemError, low=1)
        whole("seed", self.seed, ProblemError, low=0)
        if not isinstance(self.unit_preferences, bool):
            raise ProblemError(f"unit_preferences must be True or False, got {self.unit_preferences!r}")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Features of items from training users, and preferences of test users. It never changes.

    Attributes
    ----------
    dataset : name of the data set.
    settings : how it was prepared.
    found : how many users, items and ratings the data set has.
    item_ids, titles : of the chosen items, in the order of their ids; rows of all item arrays.
    all_topics : names of all topics of the data set, those with the most chosen items first.
    membership : (items, all topics) bool, the paper's G.
    train, test : (users, items) bool, the paper's F for the training users and for the test users who are kept.
    user_ids : of the test users who are kept, in the order of their ids; rows of ``theta`` and ``beta``.
    left_out : how many test users are not kept, since they rated none of the items high enough.
    relevance : (items, rank) the paper's z.
    beta : (test users, rank) preferences for relevance features.
    n_topics : how many topics are in use: the first of ``all_topics``.
    """

    dataset: str
    settings: Settings
    found: dict[str, int]
    item_ids: tuple[Id, ...]
    titles: tuple[str, ...]
    all_topics: tuple[str, ...]
    membership: BoolArray
    train: BoolArray
    test: BoolArray
    user_ids: tuple[Id, ...]
    left_out: int
    relevance: FloatArray
    beta: FloatArray
    n_topics: int

    def __post_init__(self) -> None:
        for array in (self.membership, self.train, self.test, self.relevance, self.beta):
            frozen(array)
        items, topics, users = len(self.item_ids), len(self.all_topics), len(self.user_ids)
        rank = self.settings.rank
        expected = {
            "titles": (np.shape(self.titles), (items,)),
            "membership": (self.membership.shape, (items, topics)),
            "train": (self.train.shape, (len(self.train), items)),
            "test": (self.test.shape, (users, items)),
            "relevance": (self.relevance.shape, (items, rank)),
            "beta": (self.beta.shape, (users, rank)),
        }
        for name, (shape, wanted) in expected.items():
            if shape != wanted:
                raise ProblemError(f"{name} has shape {shape}; expected {wanted}")
        whole("topics", self.n_topics, ProblemError, low=0, high=topics)

    def __repr__(self) -> str:
        return (
            f"Prepared({self.dataset!r}, {len(self.item_ids)} items, {self.n_topics} topics, "
            f"{self.relevance.shape[1]} features, {len(self.user_ids)} test users)"
        )

    @property
    def topics(self) -> tuple[str, ...]:
        """Names of the topics in use."""
        return self.all_topics[: self.n_topics]

    @cached_property
    def coverage(self) -> FloatArray:
        """Topic coverage as the training users tell it, for policies: (items, topics)."""
        return _frozen(equations.topic_coverage(self.train, self.membership[:, : self.n_topics]))

    @cached_property
    def user_coverage(self) -> FloatArray:
        """Topic coverage as the test users tell it, for the users themselves: (items, topics)."""
        return _frozen(equations.topic_coverage(self.test, self.membership[:, : self.n_topics]))

    @cached_property
    def theta(self) -> FloatArray:
        """Preferences of test users for topics: (test users, topics). A row of zeros: none of these topics."""
        return _frozen(equations.topic_preferences(self.test, self.membership[:, : self.n_topics]))

    @property
    def without_topics(self) -> int:
        """How many test users are attracted by nothing in the topics in use; they are kept, with a theta of zeros."""
        return int((~self.theta.any(axis=1)).sum())

    @property
    def positive_share(self) -> float:
        """Of all pairs of a chosen user and a chosen item, the share rated high enough."""
        pairs = (len(self.train) + len(self.test) + self.left_out) * len(self.item_ids)
        return float(self.train.sum() + self.test.sum()) / pairs

    @cached_property
    def fingerprint(self) -> str:
        """The same for two that were prepared the same way from the same ratings, and for no others."""
        header, blocks = self._parts()
        digest = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=12)
        for name in sorted(blocks):
            digest.update(np.ascontiguousarray(blocks[name]).data)
        return digest.hexdigest()

    def catalog(self, *, perfect_coverage: bool = False) -> Catalog:
        """The items as policies see them; with ``perfect_coverage``, with the coverage the test users have."""
        return Catalog(
            self.user_coverage if perfect_coverage else self.coverage,
            self.relevance,
            ids=self.item_ids,
            titles=self.titles,
            topics=self.topics,
        )

    def with_topics(self, topics: int | None) -> Prepared:
        """The same with the ``topics`` topics that have the most items; None for all that have any.

        Coverage and theta follow; relevance, beta and users stay. An item of none of them covers nothing.
        """
        settings = replace(self.settings, topics=topics)
        return replace(self, settings=settings, n_topics=_n_topics(self.membership, topics))

    def describe(self) -> str:
        """What was prepared, in words and numbers."""
        chosen = len(self.train) + len(self.test) + self.left_out
        unit = ", of length 1" if self.settings.unit_preferences else ""
        return "\n".join(
            [
                f"{self.dataset}: {self.found['ratings']:,} ratings",
                f"users      {chosen:,} most active of {self.found['users']:,} ({self.settings.users:,} asked for)",
                f"items      {len(self.item_ids):,} most rated of {self.found['items']:,} "
                f"({self.settings.items:,} asked for)",
                f"positive   rating {self.settings.threshold:g} or more: {self.positive_share:.1%} of pairs",
                f"split      {len(self.train):,} for training, {len(self.test) + self.left_out:,} for test "
                f"(seed {self.settings.seed}); {self.left_out:,} test users with no positive rating left out",
                f"topics     {self.n_topics} of {len(self.all_topics)}; {self.without_topics:,} test users like none",
                f"features   {self.relevance.shape[1]} from the SVD of the training half; "
                f"beta of {np.linalg.norm(self.beta, axis=1).mean():.2f} length on average{unit}",
                f"fingerprint {self.fingerprint}",
            ]
        )

    def save(self, path: str | Path) -> None:
        """Write it to one file, whole or not at all; :meth:`load` restores it bit for bit. No pickle."""
        header, blocks = self._parts()
        save_blocks(path, {**header, "format": _FORMAT, "fingerprint": self.fingerprint}, blocks)

    @classmethod
    def load(cls, path: str | Path) -> Prepared:
        """What :meth:`save` wrote."""
        return load_blocks(path, "a prepared data set", _FORMAT, _restore)

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "dataset": self.dataset,
            "settings": asdict(self.settings),
            "found": self.found,
            "item_ids": self.item_ids,
            "titles": self.titles,
            "all_topics": self.all_topics,
            "user_ids": self.user_ids,
            "left_out": self.left_out,
            "n_topics": self.n_topics,
        }
        blocks: dict[str, NDArray[Any]] = {
            name: np.packbits(getattr(self, name), axis=1) for name in ("membership", "train", "test")
        }
        return header, {**blocks, "relevance": self.relevance, "beta": self.beta}


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

    >>> from rankfall.data import find
    >>> prepare(find("movielens-small"), items=200, topics=10)
    Prepared('movielens-small', 200 items, 10 topics, 10 features, 300 test users)
    """
    settings = Settings(users, items, threshold, topics, rank, unit_preferences, seed)
    counts = ratings.counts()
    user_ids = counts.users["user"].head(users).sort()
    item_ids = counts.items["item"].head(items).sort()
    if len(user_ids) < 2:
        raise ProblemError(f"{ratings.name} has one user; at least 2 are needed, one for training and one for test")
    chosen = _chosen(ratings, item_ids)
    names, membership = _topics(ratings, chosen)
    n_topics = _n_topics(membership, topics)
    n_train = len(user_ids) - len(user_ids) // 2
    whole("rank", rank, ProblemError, low=1, high=min(n_train, len(item_ids)))
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


def _topics(ratings: Ratings, chosen: pl.DataFrame) -> tuple[tuple[str, ...], BoolArray]:
    """All topics, those with the most chosen items first, and which item is of which."""
    pairs = chosen.select(pl.int_range(pl.len()).alias("row"), "topics").explode("topics").drop_nulls("topics")
    counts = dict(pairs["topics"].value_counts().iter_rows())
    names = tuple(sorted(ratings.topics, key=lambda name: (-counts.get(name, 0), name)))
    column = {name: j for j, name in enumerate(names)}
    membership = np.zeros((chosen.height, len(names)), dtype=bool)
    membership[pairs["row"].to_numpy(), [column[name] for name in pairs["topics"]]] = True
    return names, membership


def _n_topics(membership: BoolArray, topics: int | None) -> int:
    if topics is None:
        return int(membership.any(axis=0).sum())
    return whole("topics", topics, ProblemError, low=1, high=membership.shape[1])


def _positives(ratings: Ratings, user_ids: pl.Series, item_ids: pl.Series, threshold: float) -> BoolArray:
    """F, with a row for each user and a column for each item."""
    pairs = ratings.pairs(user_ids, item_ids, threshold)
    users = user_ids.alias("user").to_frame().with_row_index("row")
    items = item_ids.alias("item").to_frame().with_row_index("column")
    found = pairs.join(users, on="user").join(items, on="item")
    F = np.zeros((len(user_ids), len(item_ids)), dtype=bool)
    F[found["row"].to_numpy(), found["column"].to_numpy()] = True
    return F


def _restore(header: dict[str, Any], blocks: dict[str, NDArray[Any]]) -> Prepared:
    items, topics = len(header["item_ids"]), len(header["all_topics"])
    prepared = Prepared(
        dataset=header["dataset"],
        settings=Settings(**header["settings"]),
        found=header["found"],
        item_ids=tuple(header["item_ids"]),
        titles=tuple(header["titles"]),
        all_topics=tuple(header["all_topics"]),
        membership=_unpacked(blocks["membership"], topics),
        train=_unpacked(blocks["train"], items),
        test=_unpacked(blocks["test"], items),
        user_ids=tuple(header["user_ids"]),
        left_out=header["left_out"],
        relevance=blocks["relevance"],
        beta=blocks["beta"],
        n_topics=header["n_topics"],
    )
    if prepared.fingerprint != header["fingerprint"]:
        raise ValueError(f"its content has fingerprint {prepared.fingerprint}, expected {header['fingerprint']}")
    return prepared


def _unpacked(bits: NDArray[Any], columns: int) -> BoolArray:
    return np.unpackbits(bits, axis=1, count=columns).astype(bool)


def _frozen(array: FloatArray) -> FloatArray:
    frozen(array)
    return array
