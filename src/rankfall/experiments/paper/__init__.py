"""What belongs to the paper alone: its policies, sweeps, figure, claims and theorem."""

from rankfall.experiments.paper.grid import PAPER, SCALES, SWEEPS, Scale, paper_study

__all__ = ["PAPER", "SCALES", "SWEEPS", "Scale", "paper_study"]
