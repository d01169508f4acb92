"""Results of simulations: single runs, and tables of many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankfall.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Run:
    """One policy, one user, one repeat.

    Attributes
    ----------
    steps : (n,) the checkpoints, in lists shown.
    regret : (n,) expected regret so far: reward of the best list less reward of the list shown, summed over steps.
    clicks : (n,) how many lists were clicked so far.
    touched : (n,) topics that lists touch, summed over steps; NaN if the user has no topics.
    covered : (n,) the same, each topic weighted by how well the list covers it.
    best : expected reward of the best list; for users who change, the mean over steps.
    """

    steps: IntArray
    regret: FloatArray
    clicks: IntArray
    touched: FloatArray
    covered: FloatArray
    best: float

    def frame(self, **labels: object) -> pl.DataFrame:
        """One row for each checkpoint, with these labels as further columns."""
        import polars as pl

        names = ("regret", "clicks", "touched", "covered")
        columns = {"step": self.steps, **{name: getattr(self, name) for name in names}}
        return pl.DataFrame(columns).select(
            *[pl.lit(value).alias(name) for name, value in labels.items()],
            pl.all(),
            pl.lit(self.best).alias("best"),
        )


def summary(frame: pl.DataFrame, by: Iterable[str] = ("policy", "step")) -> pl.DataFrame:
    """Mean regret and click rate over runs, with standard errors; in the order policies first appear.

    Standard errors are missing where there is a single run.
    """
    import polars as pl

    rate = pl.col("clicks") / pl.col("step")
    return frame.group_by(list(by), maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col("regret").mean(),
        (pl.col("regret").std() / pl.len().sqrt()).alias("regret_error"),
        rate.mean().alias("click_rate"),
        (rate.std() / pl.len().sqrt()).alias("click_rate_error"),
    )
