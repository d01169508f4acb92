"""What the models must have learned, by the book: from the files of an export, in plain NumPy.

Of ours there is only how a prior is written.
"""

import base64
import bisect
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankfall.journal.priors import decode_prior

Stretch = tuple[int, int | None]
"""A stretch of the journal: after one entry, up to and with another; None for the end."""


@dataclass
class Ridge:
    """Ridge regression: what was observed, and how many lists it came from."""

    columns: int
    mean: np.ndarray | None = None
    precision: np.ndarray | None = None
    units: np.ndarray | float = 1.0  # what columns were multiplied by
    lists: int = 0
    gram: np.ndarray = field(init=False)
    moment: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.gram, self.moment = np.eye(self.columns), np.zeros(self.columns)
        if self.mean is not None and self.precision is not None:
            self.gram, self.moment = self.precision.copy(), self.precision @ self.mean

    def learn(self, shown: np.ndarray, click: int | None, rewards: "Rewards", outcomes: list[int]) -> None:
        """Items above the first click were passed by, the click was wanted, below it nothing is known."""
        seen = shown if click is None else shown[: click + 1]
        self.gram += seen.T @ seen
        self.moment += 0.0 if click is None else rewards.click * seen[-1]
        for place in outcomes:
            if place < len(seen):
                self.moment += rewards.purchase * seen[place]
        self.lists += 1

    def weights(self) -> np.ndarray:
        """The weights after all that."""
        return np.linalg.solve(self.gram, self.moment) * self.units


@dataclass(frozen=True)
class Rewards:
    """What a click and a purchase count, the best of them 1."""

    click: float = 1.0
    purchase: float = 0.0


@dataclass(frozen=True)
class Lesson:
    """A list that was learned from, and where something was bought."""

    place: int
    shown: np.ndarray
    context: np.ndarray | None
    click: int | None
    outcomes: list[int]


class Export:
    """An export, read with nothing but polars."""

    def __init__(self, folder: Path) -> None:
        self.lists = pl.read_parquet(folder / "events.parquet")
        self.decisions = pl.read_parquet(folder / "decisions.parquet")
        self.outcomes = pl.read_parquet(folder / "outcomes.parquet")
        bought: dict[str, list[int]] = {}
        for name, place in self.outcomes.select("event_id", "position").iter_rows():
            bought.setdefault(name, []).append(place)
        self._lessons: dict[tuple[str, str], list[Lesson]] = {}
        taught = self.lists.filter(pl.col("result").is_not_null() & pl.col("learn")).sort("seq")
        for row in taught.iter_rows(named=True):
            shown = np.array(row["features"]).reshape(-1, row["columns"])
            context = None if row["context_numbers"] is None else np.array(row["context_numbers"])
            click, outcomes = min(row["clicked"], default=None), bought.get(row["event_id"], [])
            lesson = Lesson(row["seq"], shown, context, click, outcomes)
            self._lessons.setdefault((row["model"], row["owner"]), []).append(lesson)

        self._items: dict[int, list[tuple[int, str | None]]] = {}  # of each item, what was known of it since when
        catalog = pl.read_parquet(folder / "catalog.parquet")
        self._features = sum(name.startswith("relevance:") for name in catalog.columns)
        for item, version, attributes in catalog.select("id", "version", "attributes").iter_rows():
            self._items.setdefault(item, []).append((version, attributes))

    def attributes(self, item: int, version: int) -> dict[str, Any]:
        """What was known of an item in a version of the catalog, beside its features."""
        known = self._items[item]
        text = known[bisect.bisect_right(known, version, key=lambda one: one[0]) - 1][1]
        return {} if text is None else dict(json.loads(text))

    def state(
        self,
        model: str,
        owner: str = "",
        rewards: dict[str, float] | None = None,
        scales: np.ndarray | None = None,
    ) -> Ridge:
        """What a model has learned for an owner; ``scales`` are the standard deviations of what a context moves."""
        worth = (
            Rewards()
            if rewards is None
            else Rewards(*(rewards[k] / max(rewards.values()) for k in ("click", "purchase")))
        )
        lessons = self._lessons.get((model, owner), [])
        if not lessons:
            return Ridge(0)
        stretches, columns = self._stretches(model), len(lessons[0].shown[0])
        units = np.ones(columns) if scales is None else np.repeat(scales, columns)
        state = Ridge(len(units), *self._prior(model, stretches, columns), units=units)
        for lesson in _counted(lessons, stretches):
            shown = lesson.shown
            if lesson.context is not None:
                shown = np.array([np.kron(lesson.context, features) for features in shown])
            state.learn(shown * units, lesson.click, worth, lesson.outcomes)
        return state

    def _prior(self, model: str, stretches: list[Stretch], columns: int) -> tuple[np.ndarray, np.ndarray] | tuple[()]:
        """Mean and precision of the last prior that counts, if there is one; nothing is known of later topics."""
        told = self.decisions.filter(pl.col("model") == model, pl.col("kind") == "prior").sort("seq")
        counted = [
            body
            for after, upto in stretches
            for place, body in told.select("seq", "body").iter_rows()
            if place > after and (upto is None or place <= upto)
        ]
        if not counted:
            return ()
        prior = decode_prior(base64.b64decode(json.loads(counted[-1])["prior"]))
        old = np.r_[0 : len(prior.mean) - self._features, columns - self._features : columns]
        mean, covariance = np.zeros(columns), np.eye(columns)
        mean[old], covariance[np.ix_(old, old)] = prior.mean, prior.covariance
        return mean, np.linalg.inv(covariance)

    def _stretches(self, model: str) -> list[Stretch]:
        """The stretches of the journal that a model has learned from."""
        versions: list[tuple[int, list[Stretch]]] = [(0, [(0, None)])]  # since which entry they counted
        decided = self.decisions.filter(pl.col("model") == model, pl.col("kind").is_in(["reset", "restore"]))
        for place, kind, body in decided.sort("seq").select("seq", "kind", "body").iter_rows():
            before = [] if kind == "reset" else _at(versions, json.loads(body)["source"])
            versions.append((place, [*before, (place, None)]))
        return versions[-1][1]


def _at(versions: list[tuple[int, list[Stretch]]], place: int) -> list[Stretch]:
    """The stretches that counted after the entry at a place."""
    *closed, (after, _) = [stretches for since, stretches in versions if since <= place][-1]
    return [*closed, (after, place)]


def _counted(lessons: list[Lesson], stretches: list[Stretch]) -> Iterator[Lesson]:
    for after, upto in stretches:
        yield from (one for one in lessons if one.place > after and (upto is None or one.place <= upto))
