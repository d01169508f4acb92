"""Policies that are not linear, by name: what each is, where it comes from, and how it is made for an experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rankfall.catalog import Catalog
from rankfall.policies.ranking import Policy

Need: TypeAlias = Literal["coverage", "relevance", "k", "steps", "gamma"]


@dataclass(frozen=True)
class Kind:
    """A row of the table of policies that are not linear.

    Attributes
    ----------
    name, summary, paper : what to call it, what it is in a line, where it comes from.
    build : makes one from a catalog, and by keyword from what it needs.
    needs : ``coverage`` and ``relevance`` of the catalog; ``k`` (list length), ``steps`` (horizon) and ``gamma``
        of the experiment. Of these three only what is needed is passed to ``build``.
    """

    name: str
    summary: str
    paper: str
    build: Callable[..., Policy]
    needs: frozenset[Need] = frozenset()

    def make(self, catalog: Catalog, *, gamma: float = 1.0, k: int = 10, steps: int = 10_000) -> Policy:
        """A policy for an experiment with lists of ``k``, so many steps, and this exploration."""
        known: dict[str, Any] = {"gamma": gamma, "k": k, "steps": steps}
        return self.build(catalog, **{name: value for name, value in known.items() if name in self.needs})

    def __call__(self, catalog: Catalog, **settings: Any) -> Policy:
        """A policy of this kind with settings of its own."""
        return self.build(catalog, **settings)
