"""The columns of one linear policy: what they are called, how lists fill them, and how topics that come add to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, ProblemError
from rankfall.policies.context import Context
from rankfall.policies.explanation import Weight
from rankfall.policies.linear.columns import Block, Layout, features_as_shown, laid_out
from rankfall.policies.linear.crosses import Crosses
from rankfall.policies.linear.explain import named_weights
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge


@dataclass(frozen=True, eq=False)
class PolicyColumns:
    """The columns of a policy: topics, features, a constant, features of requests; crossed with those of a context.

    Attributes
    ----------
    policy : the name of the policy, for errors.
    catalog : whose topics and features they are.
    coverage, relevance : how the policy uses them.
    constant : whether there is a column that is 1 for every item.
    more : the names of features that candidates have in one request.
    context : what requests may say beside who asks, if anything.
    """

    policy: str
    catalog: Catalog
    coverage: Block
    relevance: Block
    constant: bool
    more: tuple[str, ...]
    context: Context | None

    def __post_init__(self) -> None:
        if self.more and self.relevance == "diminishing":
            raise ProblemError(f"{self.policy} has no request_features: all that it knows of items diminishes")
        if self.constant and self.relevance == "diminishing":
            raise ProblemError(f"{self.policy} has a constant, which cannot diminish with its features")
        if not self.count:
            words = {"topics": self.coverage, "relevance features": self.relevance}
            needs = " or ".join(word for word, block in words.items() if block != "absent")
            raise CatalogError(
                f"{self.policy} needs {needs}, and {self.catalog!r} has none; CascadeTS learns from ids alone"
            )

    @cached_property
    def layout(self) -> Layout:
        """The items, as kernels take them."""
        return Layout(laid_out(self.catalog, self.coverage, self.relevance, len(self.more), int(self.constant)))

    @property
    def topics(self) -> int:
        """How many of them are those of topics; they come first."""
        return 0 if self.coverage == "absent" else self.catalog.n_topics

    @cached_property
    def count(self) -> int:
        """How many there are, of one item."""
        return self.topics + int(self.layout.items.dense.shape[1])

    @property
    def blocks(self) -> int:
        """How often the model has each of them: once for each number of a context."""
        return 1 if self.context is None else len(self.context.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What those after the topics are called."""
        own = self.count - self.topics - len(self.more) - self.constant
        return (*self.catalog.features[:own], *(["constant"] if self.constant else []), *self.more)

    def named(self, weights: FloatArray, deviations: FloatArray) -> list[Weight]:
        """Numbers there are for each column of the model, by name."""
        numbers = ("",) if self.context is None else self.context.columns
        return named_weights(weights, deviations, self.catalog.topics[: self.topics], self.feature_names, numbers)

    def space(self, lineage: str) -> str:
        """What features of rankings mean, over a line of catalogs."""
        within = "" if self.context is None else f", context {', '.join(self.context.names)}"
        return f"{self.coverage} coverage, {self.relevance} relevance, catalog {lineage}{within}"

    def like(self, other: PolicyColumns) -> bool:
        """Whether a model of the one can be that of the other."""
        return (self.count, self.context) == (other.count, other.context)

    # Lists

    def features_of(self, lists: IntArray) -> FloatArray:
        """(n, k, columns) the features as shown of lists (n, k) of rows, without features of requests."""
        features = features_as_shown(self.catalog, self.coverage, self.relevance, lists)
        if self.constant:
            features = np.pad(features, ((0, 0), (0, 0), (0, 1)), constant_values=1.0)
        return np.pad(features, ((0, 0), (0, 0), (0, len(self.more)))) if self.more else features

    def recorded(self, record: bytes, topics: int | None) -> tuple[FloatArray, FloatArray]:
        """The features that were kept of a list, and the numbers of its context.

        ``topics`` is how many there were then; those that came since were not covered.
        """
        missing = 0 if topics is None else max(0, self.topics - topics)
        numbers = np.frombuffer(record)
        shown = len(numbers) - (0 if self.context is None else self.blocks)
        features = numbers[:shown].reshape(-1, self.count - missing).copy()  # kernels want to write
        if missing:
            features = np.insert(features, [self.topics - missing] * missing, 0.0, axis=1)
        return features, numbers[shown:]

    # Topics that came; ``topics`` are the numbers of them that there may have been

    def widened(self, arrays: Mapping[str, NDArray[Any]], topics: Collection[int]) -> Mapping[str, NDArray[Any]]:
        """A state with columns for topics that it does not have, which none of its lists covered."""
        missing = self._missing(int(arrays["moment"].size), topics)
        if not missing:
            return arrays
        at = self.topics - missing
        if self.context is not None:
            return Crosses.widened(arrays, self.blocks, at, missing)
        return Ridge.widened(arrays, at, missing)

    def widened_prior(self, prior: Prior, topics: Collection[int]) -> Prior:
        """A prior with columns for topics that it does not have."""
        before = len(prior.mean) // self.blocks
        missing = self._missing(len(prior.mean), topics)
        if missing:
            for block in reversed(range(self.blocks)):
                prior = prior.widened(block * before + self.topics - missing, missing)
        return prior

    def _missing(self, columns: int, topics: Collection[int]) -> int:
        """How many topics a model of so many columns does not have."""
        missing = self.count - columns // self.blocks
        return missing if missing > 0 and self.topics - missing in topics else 0
