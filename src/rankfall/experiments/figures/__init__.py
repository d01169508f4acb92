"""Figures: lines are told apart by colour, dashes and markers, in every figure; readable in grey."""

from rankfall.experiments.figures.cases import cases_figure
from rankfall.experiments.figures.catalog import catalog_figure
from rankfall.experiments.figures.look import Look, markers, styles
from rankfall.experiments.figures.regret import regret
from rankfall.experiments.figures.saving import save
from rankfall.experiments.figures.sweeps import Panels, sweeps_figure

__all__ = ["Look", "Panels", "cases_figure", "catalog_figure", "markers", "regret", "save", "styles", "sweeps_figure"]
