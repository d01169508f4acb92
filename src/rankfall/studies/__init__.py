"""Experiments: a study is data, its results a folder that can be left and taken up again at any moment."""

from rankfall.studies.folder import Folder
from rankfall.studies.grid import SCALES, STUDIES, Scale, paper_study
from rankfall.studies.layout import Cell, Plan, plan
from rankfall.studies.pace import Forecast, forecast
from rankfall.studies.runner import Status, carry_out
from rankfall.studies.study import Preparation, Setting, Study

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
