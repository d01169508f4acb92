"""How large and how slow a request may be, and how much it may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from rankfall.errors import RankfallError
from rankfall.service.list_maker import scores_of
from rankfall.service.model import Model
from rankfall.wire import RankRequest

LONG_LIST = 100
"""Items from which on a list is judged by what it costs to make; shorter ones are always made."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body: int = 1 << 20  # bytes
    bulk: int = 256 << 20  # bytes, for catalogs
    body_seconds: float = 10.0
    bulk_seconds: float = 300.0
    unpacked: int = 512 << 20  # bytes, of a catalog in a Parquet body
    k: int = 1000
    scores: int = 5_000_000  # k times the items to choose from, of lists longer than LONG_LIST
    candidates: int = 10_000
    batch: int = 1000
    batch_items: int = 20_000  # the items of all lists of a batch

    def check_request(self, request: RankRequest, model: Model, items: int) -> None:
        """Raise if a request to a model of a catalog of so many items asks for too much."""
        k = request.k or model.settings.k
        if k > self.k:
            raise RankfallError(f"k is {k}; at most {self.k} items are ranked")
        scores = scores_of(request, k, items)
        if k > LONG_LIST and scores > self.scores:
            pool = scores // k
            raise RankfallError(f"k is {k} of {pool} items; of so many, at most {self.scores // pool} are ranked")
        for name in ("candidates", "exclude", "baseline"):
            given = getattr(request, name)
            if given is not None and len(given) > self.candidates:
                raise RankfallError(f"{name} has {len(given)} ids; at most {self.candidates} are taken")

    def check_batch(self, size: int) -> None:
        """Raise if a batch is too large."""
        if size > self.batch:
            raise RankfallError(f"a batch of {size}; at most {self.batch} are taken at once")

    def check_batch_items(self, items: int) -> None:
        """Raise if the lists of a batch are to have too many items in all."""
        if items > self.batch_items:
            raise RankfallError(f"lists of {items} items in all; at most {self.batch_items} are ranked in one batch")
