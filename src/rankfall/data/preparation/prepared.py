"""A prepared data set: features of items for policies, and preferences of test users."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import BoolArray, FloatArray, frozen, whole
from rankfall.catalog import Catalog
from rankfall.data.preparation import equations
from rankfall.data.preparation.settings import PreparationSettings
from rankfall.errors import ProblemError
from rankfall.files import load_blocks, save_blocks
from rankfall.item_names import Id

_FORMAT = "rankfall prepared 1"


@dataclass(frozen=True, eq=False)
class Prepared:
    """Features of items from training users, and preferences of test users; immutable.

    Attributes
    ----------
    dataset : name of the data set.
    settings : how it was prepared.
    found : how many users, items and ratings the data set has.
    item_ids, titles : of the chosen items, in the order of their ids; all arrays by item have their rows in it.
    all_topics : names of all topics of the data set, those with the most chosen items first.
    membership : (items, all topics) bool, the paper's G.
    train, test : (users, items) bool, the paper's F for the training users and for the test users who are kept.
    user_ids : of the test users who are kept, in the order of their ids; ``theta`` and ``beta`` have their rows in it.
    left_out : how many test users are left out, since they rated none of the items high enough.
    relevance : (items, rank) the paper's z.
    beta : (test users, rank) preferences for relevance features.
    n_topics : how many topics are in use: the first of ``all_topics``.
    """

    dataset: str
    settings: PreparationSettings
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
        """(items, topics) topic coverage by the ratings of training users, for policies."""
        return frozen(equations.topic_coverage(self.train, self.membership[:, : self.n_topics]))

    @cached_property
    def user_coverage(self) -> FloatArray:
        """(items, topics) topic coverage by the ratings of test users, for the users themselves."""
        return frozen(equations.topic_coverage(self.test, self.membership[:, : self.n_topics]))

    @cached_property
    def theta(self) -> FloatArray:
        """(test users, topics) preferences of test users; a row of zeros for a user who likes none of these topics."""
        return frozen(equations.topic_preferences(self.test, self.membership[:, : self.n_topics]))

    @property
    def without_topics(self) -> int:
        """How many test users like nothing in the topics in use; they are kept, with a theta of zeros."""
        return int((~self.theta.any(axis=1)).sum())

    @property
    def positive_share(self) -> float:
        """Share of positive ratings among all pairs of a chosen user and a chosen item."""
        pairs = (len(self.train) + len(self.test) + self.left_out) * len(self.item_ids)
        return float(self.train.sum() + self.test.sum()) / pairs

    @cached_property
    def fingerprint(self) -> str:
        """Equal for two that were prepared the same way from the same ratings, and for no others."""
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

        Coverage and theta change with them; relevance, beta and users stay. An item of none of them covers nothing.
        """
        settings = replace(self.settings, topics=topics)
        return replace(self, settings=settings, n_topics=topics_in_use(self.membership, topics))

    def describe(self) -> str:
        """A summary for people, in a few lines."""
        chosen = len(self.train) + len(self.test) + self.left_out
        one = ", one for each item" if self.settings.one_topic else ""
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
                f"topics     {self.n_topics} of {len(self.all_topics)}{one}; "
                f"{self.without_topics:,} test users like none",
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
            "settings": _as_words(self.settings),
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


def topics_in_use(membership: BoolArray, topics: int | None) -> int:
    """How many topics are used when ``topics`` of them are asked for; None asks for all that have an item."""
    if topics is None:
        return int(membership.any(axis=0).sum())
    return whole("topics", topics, ProblemError, low=1, high=membership.shape[1])


def _as_words(settings: PreparationSettings) -> dict[str, Any]:
    """As JSON. One that came after 0.1.0 is named only where it is set, so that older files keep their fingerprint."""
    words = asdict(settings)
    if not settings.one_topic:
        del words["one_topic"]
    return words


def _restore(header: dict[str, Any], blocks: dict[str, NDArray[Any]]) -> Prepared:
    items, topics = len(header["item_ids"]), len(header["all_topics"])
    prepared = Prepared(
        dataset=header["dataset"],
        settings=PreparationSettings(**header["settings"]),
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
