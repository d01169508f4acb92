"""What saved policies of every kind have in common: the catalog, and how they forget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from rankfall.catalog import Catalog
from rankfall.model import Discount, Forgetting, Window

FORMAT = "rankfall policy 1"


def about(catalog: Catalog, forgetting: Forgetting | None) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays from which :func:`catalog_of` and :func:`forgetting_of` make these again."""
    header = {
        "format": FORMAT,
        "forgetting": forgetting and {type(forgetting).__name__: vars(forgetting)},
        "lineage": catalog.lineage,
        "ids": catalog.ids,
        "titles": catalog.titles,
        "topics": catalog.topics,
    }
    return header, {"coverage": catalog.coverage, "relevance": catalog.relevance}


def catalog_of(header: Mapping[str, Any], blocks: Mapping[str, NDArray[Any]]) -> Catalog:
    """The catalog of a saved policy."""
    return Catalog(
        blocks["coverage"],
        blocks["relevance"],
        ids=header["ids"],
        titles=header["titles"],
        topics=header["topics"],
        _lineage=header["lineage"],
    )


def forgetting_of(header: Mapping[str, Any]) -> Forgetting | None:
    """How a saved policy forgets, such as ``{"Window": {"lists": 1000}}``; files of 0.1.0 do not say."""
    said: dict[str, dict[str, Any]] | None = header.get("forgetting")
    if said is None:
        return None
    kinds: dict[str, Callable[..., Forgetting]] = {kind.__name__: kind for kind in (Discount, Window)}
    ((kind, settings),) = said.items()
    return kinds[kind](**settings)
