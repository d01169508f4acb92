"""Experiments: a study is data, its results a folder that can be left and taken up again at any moment."""

from rankfall.experiments.folder import Folder
from rankfall.experiments.forecast import Forecast, forecast
from rankfall.experiments.paper.grid import SCALES, SWEEPS, Scale, paper_study
from rankfall.experiments.plan import Chunk, Plan, Setup, plan
from rankfall.experiments.runner import Status, run_study
from rankfall.experiments.study import Case, Published, Study, Sweep

__all__ = [
    "SCALES",
    "SWEEPS",
    "Case",
    "Chunk",
    "Folder",
    "Forecast",
    "Plan",
    "Published",
    "Scale",
    "Setup",
    "Status",
    "Study",
    "Sweep",
    "forecast",
    "paper_study",
    "plan",
    "run_study",
]
