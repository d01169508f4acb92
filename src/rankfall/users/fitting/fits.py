"""Fits of click models with an attraction for each item, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rankfall.users.fitting.fitted import Fitted
from rankfall.users.fitting.fitted_table import Model
from rankfall.users.fitting.likelihood import (
    fit_cascade,
    fit_dependent_click,
    fit_examined_cascade,
    fit_position_based,
    fit_user_browsing,
)
from rankfall.users.fitting.satisfaction import fit_click_chain, fit_dynamic_bayesian, fit_simplified_bayesian

FITS: Mapping[Model, Callable[..., Fitted]] = MappingProxyType(
    {
        "cascade": fit_cascade,
        "examined_cascade": fit_examined_cascade,
        "dependent_click": fit_dependent_click,
        "position_based": fit_position_based,
        "user_browsing": fit_user_browsing,
        "dynamic_bayesian": fit_dynamic_bayesian,
        "simplified_bayesian": fit_simplified_bayesian,
        "click_chain": fit_click_chain,
    }
)
