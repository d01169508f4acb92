"""Click models fitted from logs: a user to simulate with, made from the clicks of real ones."""

from rankfall.users.fitting.fitted import Fitted, Perplexity
from rankfall.users.fitting.likelihood import FITS, fit_cascade, fit_dependent_click, fit_position_based
from rankfall.users.fitting.log import ClickLog, draw_log, read_log

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
