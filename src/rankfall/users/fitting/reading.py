"""Fitted users of every kind, read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankfall.files import reading_parquet
from rankfall.users.fitting.fitted import Fitted
from rankfall.users.fitting.fitted_hybrid import FittedHybrid
from rankfall.users.fitting.hybrid_table import HYBRID_KEY

FittedUser: TypeAlias = Fitted | FittedHybrid


def read_fitted(path: str | Path) -> FittedUser:
    """What ``rankfall fit --out`` wrote: a model with an attraction for each item, or one with features."""
    with reading_parquet(path):
        hybrid = HYBRID_KEY in pl.read_parquet_metadata(path)
    return FittedHybrid.read_parquet(path) if hybrid else Fitted.read_parquet(path)
