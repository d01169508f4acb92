"""Results of simulations: single runs, and tables of many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.frames import html_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return f"Run({self.steps[-1]:,} steps, regret {self.regret[-1]:.4g}, {self.clicks[-1]:,} clicks)"

    def _repr_html_(self) -> str:
        """Some checkpoints, for notebooks."""
        places = np.unique(np.linspace(0, len(self.steps) - 1, min(5, len(self.steps))).round().astype(int)).tolist()
        rows = [(int(self.steps[i]), float(self.regret[i]), int(self.clicks[i])) for i in places]
        return html_table(repr(self), ("steps", "regret", "clicks"), rows)

    def plot(self, **others: Run) -> Figure:
        """Regret over steps as a figure, beside that of other runs, each under its name.

        >>> from rankfall import CascadeUCB1, CascadeUser, generate, simulate
        >>> world = generate(items=20, seed=1)
        >>> user = CascadeUser(world.catalog.coverage, world.catalog.relevance, world.theta[0], world.beta[0], 0.5)
        >>> run = simulate(CascadeUCB1(20), user, steps=100, k=3)
        >>> run
        Run(100 steps, regret ..., ... clicks)
        >>> run.plot(again=run).axes[0].get_ylabel()
        'cumulative regret'
        """
        from rankfall.experiments.figures.regret import run_figure

        return run_figure({"this run": self, **others})

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
