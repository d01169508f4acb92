"""Click models fitted to click logs, and simulated users that click like the people of the log."""

from rankfall.users.fitting.click_logs import draw_log, read_log
from rankfall.users.fitting.fitted import Fitted, Perplexity
from rankfall.users.fitting.likelihood import FITS, fit_cascade, fit_dependent_click, fit_position_based

__all__ = [
    "FITS",
    "Fitted",
    "Perplexity",
    "draw_log",
    "fit_cascade",
    "fit_dependent_click",
    "fit_position_based",
    "read_log",
]
