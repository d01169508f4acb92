"""The data sets that have a name here: their size, terms and citation, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rankfall.data import movielens, yahoo
from rankfall.data.data_folder import data_folder, data_folders
from rankfall.errors import ProblemError

EMBEDDED = Path(__file__).parent / "movielens_small"


@dataclass(frozen=True)
class DataSet:
    """A data set that has a name here.

    Attributes
    ----------
    stem : what its publisher calls its zip or folder.
    size : users, items and ratings, as its publisher counts them.
    origin : whether it can be downloaded, or must be requested from its publisher.
    """

    name: str
    stem: str
    size: str
    origin: Literal["download", "request"] = "download"
    terms: str = movielens.TERMS
    citation: str = movielens.CITATION

    def path(self) -> Path | None:
        """Its folder or zip on this machine, or None if it is not there."""
        if self.embedded:
            return EMBEDDED
        places = (folder / name for folder in data_folders() for name in (f"{self.stem}.zip", self.stem))
        return next((path for path in places if path.exists()), None)

    @property
    def embedded(self) -> bool:
        """Whether it came along with this rankfall: with its sources it does, with a wheel it does not."""
        return self.name == "movielens-small" and EMBEDDED.exists()

    def how_to_request(self) -> str:
        """Where to ask for a data set that its publisher gives on request only."""
        return (
            "Its publisher gives it on request only: ask for R2 at Yahoo! Webscope "
            f"(https://webscope.sandbox.yahoo.com), and unpack it to {data_folder() / self.stem}"
        )


_NOT_TO_BE_PASSED_ON = f"{movielens.TERMS} It may not be passed on without permission."

_ALL = (
    DataSet("movielens-small", "ml-latest-small", "671 users, 9,066 rated movies, 100,004 ratings (edition of 2016)"),
    DataSet("movielens-100k", "ml-100k", "943 users, 1,682 movies, 100,000 ratings", terms=_NOT_TO_BE_PASSED_ON),
    DataSet("movielens-1m", "ml-1m", "6,040 users, 3,706 movies, 1,000,209 ratings", terms=_NOT_TO_BE_PASSED_ON),
    DataSet("movielens-10m", "ml-10m", "69,878 users, 10,677 movies, 10,000,054 ratings", terms=_NOT_TO_BE_PASSED_ON),
    DataSet("movielens-20m", "ml-20m", "138,493 users, 26,744 movies, 20,000,263 ratings"),
    DataSet("movielens-25m", "ml-25m", "162,541 users, 59,047 movies, 25,000,095 ratings"),
    DataSet("movielens-32m", "ml-32m", "200,948 users, 84,432 movies, 32,000,204 ratings"),
    DataSet("movielens-latest-small", "ml-latest-small", "about 100,000 ratings; changes over time"),
    DataSet("movielens-latest", "ml-latest", "about 33 million ratings; changes over time"),
    DataSet(
        "yahoo-r2",
        "yahoo-r2",
        "1.8 million users, 136 thousand songs, 717 million ratings",
        "request",
        yahoo.TERMS,
        yahoo.CITATION,
    ),
)

DATASETS = {dataset.name: dataset for dataset in _ALL}
"""All data sets that have a name here, by that name."""


def dataset_called(name: str) -> DataSet:
    """The data set of this name.

    >>> dataset_called("movielens-2m")
    Traceback (most recent call last):
    rankfall.errors.ProblemError: no data set is called 'movielens-2m'; choose from movielens-small, ...
    """
    if name not in DATASETS:
        raise ProblemError(f"no data set is called {name!r}; choose from {', '.join(DATASETS)}")
    return DATASETS[name]
