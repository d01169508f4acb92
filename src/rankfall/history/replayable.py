"""Logs that can be replayed: an export, or any click log together with a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from rankfall.catalog import Catalog
from rankfall.click_logs import ClickLog, read_click_log
from rankfall.click_logs.exports import is_export
from rankfall.click_logs.values import CHANCES
from rankfall.errors import FileError
from rankfall.history.export import OUTCOME
from rankfall.history.exported import Log, LoggedPrior
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.rewards import Rewards
from rankfall.wire import ModelSettings, Scope

_NOTES = (
    "Features come from the catalog given, not from the catalog at the time of each list, so the state need not be the "
    "one that a service would have had.",
    "A click log does not say which items could be shown, so the policy chose from the whole catalog.",
)
_KEPT = ("name", "items", "clicked", "user", "segment", "propensity", "given_above", "at_position")
_NO_TIMES = "The log has no times, so the lists were replayed in the order of the file."


class ReplayableLog(Protocol):
    """What a replay needs to know of a log."""

    model: str
    """Whose log it is."""
    notes: tuple[str, ...]
    """What cannot be said from this log."""

    @property
    def height(self) -> int:
        """How many lists there are."""
        ...

    @property
    def scope(self) -> Scope:
        """What the logged model has states for."""
        ...

    @property
    def rewards(self) -> Rewards | None:
        """What a click and outcomes are worth to the logged model; None where only clicks count."""
        ...

    @property
    def policy(self) -> str:
        """The policy that the logged model was made with; empty if it had none."""
        ...

    @property
    def across_users(self) -> bool:
        """Whether users of the logged model start from what all have shown."""
        ...

    def priors(self) -> list[LoggedPrior]:
        """What users of the logged model started from, in order."""
        ...

    @property
    def declared(self) -> tuple[Context | None, RequestFeatures | None]:
        """The context of the logged model, and the features that candidates had in one request, if there are any."""
        ...

    def events(self) -> pl.DataFrame:
        """The lists in the order in which they were shown, with their feedback."""
        ...

    def outcomes(self) -> pl.DataFrame:
        """What came of items beside their clicks, in order."""
        ...

    def settings(self, at: Any) -> ModelSettings:
        """The settings of the model as they were at a moment."""
        ...

    def catalog(self, version: int) -> Catalog | None:
        """The catalog as it was at a version; None if there was none."""
        ...


class ClickLogToReplay:
    """A click log as if a service had shown its lists, with one catalog, and learned from each at once.

    Parameters
    ----------
    name : what to call it.
    log : the lists; they are replayed in the order of their times, or as they stand.
    catalog : the items, with the features to learn from.
    """

    def __init__(self, name: str, log: ClickLog, catalog: Catalog) -> None:
        self.model = name
        self.notes: tuple[str, ...] = (*_NOTES, _NO_TIMES) if log.context["time"].null_count() else _NOTES
        self._log, self._catalog = log.by_time(), catalog

    @property
    def height(self) -> int:
        """How many lists there are."""
        return self._log.lists

    @property
    def scope(self) -> Scope:
        """One state for all, as nothing else is said."""
        return "global"

    @property
    def rewards(self) -> Rewards | None:
        """None: a click log does not say what is worth how much."""
        return None

    @property
    def policy(self) -> str:
        """None."""
        return ""

    @property
    def across_users(self) -> bool:
        """No: nobody has learned from it."""
        return False

    def priors(self) -> list[LoggedPrior]:
        """None."""
        return []

    @property
    def declared(self) -> tuple[Context | None, RequestFeatures | None]:
        """Neither: nobody said what a context means."""
        return None, None

    def outcomes(self) -> pl.DataFrame:
        """What came of items beside their clicks. Each came with the feedback on its list."""
        told = [
            (n, n, one.name, self.model, "", *outcome) for n, one in enumerate(self._log) for outcome in one.outcomes
        ]
        return pl.DataFrame(told, schema={**OUTCOME, "at": pl.Int64}, orient="row")

    def events(self) -> pl.DataFrame:
        """The lists as an export has them. Their order takes the place of time: each is followed by its feedback."""
        order = range(self._log.lists)
        return pl.DataFrame(
            [tuple(getattr(one, name) for name in _KEPT) for one in self._log],
            schema={
                "event_id": pl.String,
                "items": pl.List(self._log.items.dtype),
                "clicked": pl.List(pl.Int64),
                "user": pl.String,
                "segment": pl.String,
                "propensity": pl.Float64,
                **dict.fromkeys(CHANCES, pl.List(pl.Float64)),
            },
            orient="row",
        ).with_columns(
            *(pl.Series(name, order, pl.Int64) for name in ("created", "feedback_at", "seq")),
            *(pl.lit(None, pl.List(self._log.items.dtype)).alias(name) for name in ("candidates", "exclude")),
            result=pl.lit("feedback"),
            arm=pl.lit("baseline"),
            learn=pl.lit(value=True),
            catalog_version=pl.lit(0),
        )

    def settings(self, at: Any) -> ModelSettings:  # noqa: ARG002
        """No pinned or blocked items are known."""
        return ModelSettings()

    def catalog(self, version: int) -> Catalog | None:  # noqa: ARG002
        """The one catalog there is."""
        return self._catalog


def open_log(
    path: Path, *, model: str | None = None, catalog: Path | None = None, columns: Mapping[str, str]
) -> ReplayableLog:
    """The log at a path.

    Parameters
    ----------
    path : a folder that ``rankfall export`` wrote, or anything else that :func:`~rankfall.click_logs.read_click_log`
        reads.
    model : the model of the export whose lists are replayed; may be left out if there is only one.
    catalog : a file of the items, for a click log that is not an export.
    columns : names that columns have in this file, likewise.
    """
    if not path.exists():
        raise FileError(f"{path} does not exist; give a folder that rankfall export wrote, or a click log")
    if is_export(path):
        if catalog is not None or columns:
            raise FileError(f"{path} is an export, which has its own catalog; leave out --catalog and --column")
        return Log(path if path.is_dir() else path.parent, model)
    if catalog is None:
        raise FileError(
            f"{path} is not a folder that rankfall export wrote, and a click log does not hold the features of the "
            "items; give them with --catalog items.parquet, a file written by Catalog.write_parquet"
        )
    items = Catalog.read_parquet(catalog)
    log = read_click_log(path, columns=columns, model=model, whole_ids=isinstance(items.ids[0], int))
    return ClickLogToReplay(path.name, log, items)
