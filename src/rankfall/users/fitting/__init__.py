"""Click models fitted to click logs, and simulated users that click like the people of the log."""

from rankfall.users.fitting.click_logs import draw_log, read_log
from rankfall.users.fitting.fits import FITS
from rankfall.users.fitting.fitted import Fitted
from rankfall.users.fitting.fitted_hybrid import FittedHybrid
from rankfall.users.fitting.hybrid import fit_hybrid
from rankfall.users.fitting.likelihood import (
    fit_cascade,
    fit_dependent_click,
    fit_examined_cascade,
    fit_position_based,
    fit_user_browsing,
)
from rankfall.users.fitting.prediction import Perplexity
from rankfall.users.fitting.reading import FittedUser, read_fitted
from rankfall.users.fitting.satisfaction import fit_click_chain, fit_dynamic_bayesian, fit_simplified_bayesian

__all__ = [
    "FITS",
    "Fitted",
    "FittedHybrid",
    "FittedUser",
    "Perplexity",
    "draw_log",
    "fit_cascade",
    "fit_click_chain",
    "fit_dependent_click",
    "fit_dynamic_bayesian",
    "fit_examined_cascade",
    "fit_hybrid",
    "fit_position_based",
    "fit_simplified_bayesian",
    "fit_user_browsing",
    "read_fitted",
    "read_log",
]
