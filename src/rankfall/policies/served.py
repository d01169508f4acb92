"""What a service asks of a policy, which policies can give it, and how they are read back from files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import IntArray
from rankfall.catalog import Catalog
from rankfall.files import load_blocks
from rankfall.model import Forgetting
from rankfall.policies import byitem, linear
from rankfall.policies.explaining import Explanation, Weight
from rankfall.policies.ranking import Click, Ranking
from rankfall.policies.saving import FORMAT, catalog_of, forgetting_of
from rankfall.policies.table import LINEAR


class State(Protocol):
    """All that a policy has learned. Hold the lock while reading it."""

    lock: threading.Lock

    @property
    def n_updates(self) -> int:
        """Lists learned from."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all there is to know, by name."""
        ...


class Served(Protocol):
    """A policy whose state and whose lists can be put away and taken up again.

    Its catalog never changes; over a newer one another is made, and takes over the state by ``with_model``.
    """

    catalog: Catalog
    gamma: float

    @property
    def randomised(self) -> bool:
        """Whether it may rank differently each time it is asked."""
        ...

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        ...

    @property
    def model(self) -> State:
        """All it has learned."""
        ...

    def fresh(self) -> State:
        """A state that has learned nothing."""
        ...

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The state with these arrays; raises ValueError where they cannot be one."""
        ...

    def with_model(self, model: Any) -> Self:
        """The same policy on another state."""
        ...

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> Ranking:
        """The ``k`` best rows, with those in ``fixed`` at their 0-based positions."""
        ...

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from the answer to ``ranking``."""
        ...

    def kept(self, ranking: Ranking) -> bytes:
        """What must be kept of a list so that its answer can be learned later."""
        ...

    def kept_of(self, lists: IntArray) -> list[bytes]:
        """What :meth:`kept` gives for each of these lists (n, k) of rows."""
        ...

    def learn_kept(self, kept: bytes, click: Click) -> None:
        """Learn from the answer to a list of which this was kept, whatever became of the catalog since."""
        ...

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from."""
        ...

    def summary(self) -> list[Weight]:
        """What was learned, for people."""
        ...

    def save(self, path: str | Path) -> None:
        """Write policy and catalog to one file; :func:`load` restores them."""
        ...


class Servable(Protocol):
    """A row of the table of policies that can be served."""

    @property
    def name(self) -> str:
        """What to call it."""
        ...

    def learns(self, feedback: str | None = None) -> str:
        """What its state means, with this feedback; policies that say the same can take over from each other."""
        ...

    def serve(
        self,
        catalog: Catalog,
        *,
        gamma: float = 1.0,
        forgetting: Forgetting | None = None,
        feedback: linear.Feedback | None = None,
        shared: bool = True,
    ) -> Served:
        """A policy that has learned nothing yet; raises ProblemError for what it does not have.

        ``shared`` says whether one state serves many callers, or there is one for each of them.
        """
        ...


SERVED: Mapping[str, Servable] = MappingProxyType({**LINEAR, **byitem.ITEMS})
"""Every policy that a service can learn with."""


def load(path: str | Path) -> linear.LinearPolicy | byitem.ByItem:
    """The policy in a file written by its ``save``."""
    return load_blocks(path, "a policy", FORMAT, _restore)


def _restore(header: dict[str, Any], blocks: dict[str, NDArray[Any]]) -> linear.LinearPolicy | byitem.ByItem:
    if "by_item" not in header:
        return linear.restored(header, blocks)
    policy = byitem.ByItem(catalog_of(header, blocks), byitem.ITEMS[header["by_item"]], forgetting_of(header))
    arrays = {name: array for name, array in blocks.items() if name not in ("coverage", "relevance")}
    return policy.with_model(policy.restored(arrays))
