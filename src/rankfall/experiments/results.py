"""Results of simulations: single runs, and tables of many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import ProblemError

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


SETTING = ("study", "value")
"""Columns that name a setting of a study."""

_COLUMNS = (*SETTING, "policy", "user", "repeat", "step", "regret", "clicks", "touched", "covered", "best")


def checked(runs: pl.DataFrame) -> pl.DataFrame:
    """These runs of studies in one order, whatever order they came in; an error if they are none."""
    missing = [name for name in _COLUMNS if name not in runs.columns]
    if missing:
        raise ProblemError(f"runs have no column {', '.join(missing)}; they need {', '.join(_COLUMNS)}")
    if runs.is_empty():
        raise ProblemError("runs have no rows; at least one checkpoint of one run is needed")
    return runs.sort(*SETTING, "policy", "user", "repeat", "step")


def final(runs: pl.DataFrame) -> pl.DataFrame:
    """The rows at the last step of each setting; a run that did not get that far has none."""
    import polars as pl

    return runs.filter(pl.col("step") == pl.col("step").max().over(SETTING))


def averages(runs: pl.DataFrame) -> pl.DataFrame:
    """Means over users for each setting, policy and step, with standard errors; sorted by setting and step.

    Repeats of one user are averaged first, since they are no further users: the standard error is one over users,
    and missing where there is a single one. Click rate, topics touched and topics covered are per list shown so far.
    """
    import polars as pl

    rates = {"clicks": "click_rate", "touched": "touched", "covered": "covered"}
    each = runs.group_by(*SETTING, "policy", "user", "step", maintain_order=True).agg(
        pl.col("regret").mean(), *[(pl.col(old) / pl.col("step")).mean().alias(new) for old, new in rates.items()]
    )
    measures = ("regret", *rates.values())
    means = each.group_by(*SETTING, "policy", "step", maintain_order=True).agg(
        pl.len().alias("users"),
        *[pl.col(name).mean() for name in measures],
        *[(pl.col(name).std() / pl.len().sqrt()).alias(f"{name}_error") for name in measures],
    )
    ordered = [column for name in measures for column in (name, f"{name}_error")]
    return means.select(*SETTING, "policy", "step", "users", *ordered).sort(*SETTING, "step", maintain_order=True)
