"""Click models fitted from logs: a user to simulate with, made from the clicks of real ones."""

from rankfall.clicks.fitted import Fitted, Perplexity
from rankfall.clicks.fitting import FITS, fit_cascade, fit_dependent_click, fit_position_based
from rankfall.clicks.log import ClickLog, draw_log, read_log

__all__ = [
    "FITS",
    "ClickLog",
    "Fitted",
    "Perplexity",
    "draw_log",
    "fit_cascade",
    "fit_dependent_click",
    "fit_position_based",
    "read_log",
]
