"""Experiments: a study is data, its results a folder that can be left and taken up again at any moment."""

from rankfall.experiments.folder import Folder
from rankfall.experiments.forecast import Forecast, forecast
from rankfall.experiments.paper.grid import SCALES, STUDIES, Scale, paper_study
from rankfall.experiments.plan import Cell, Plan, plan
from rankfall.experiments.runner import Status, carry_out
from rankfall.experiments.study import Preparation, Setting, Study

__all__ = [
    "SCALES",
    "STUDIES",
    "Cell",
    "Folder",
    "Forecast",
    "Plan",
    "Preparation",
    "Scale",
    "Setting",
    "Status",
    "Study",
    "carry_out",
    "forecast",
    "paper_study",
    "plan",
]
