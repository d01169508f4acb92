"""What all fits by EM share: longer steps, shares of what was seen, and checks of what they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankfall.arrays import FloatArray, number, whole
from rankfall.errors import ProblemError

_SLACK = 1e-3
"""Share of the log-likelihood by which a long step may be worse."""


def squarem(
    step: Callable[[FloatArray], tuple[FloatArray, float]],
    start: FloatArray,
    iterations: int,
    tolerance: float,
    *,
    held: bool,
) -> tuple[FloatArray, int, bool]:
    """Where EM converges, the number of steps, and whether it did.

    Two steps of EM give a direction r and its change v; parameters go ``|r| / |v|`` steps at once, or, where that
    is less likely, the two steps of EM. ``held`` says that steps are held by a prior: then the likelihood may fall on
    the way, so that long steps are judged by whether they come closer to where EM stands still.
    """
    here, taken, before = start, 0, -np.inf
    while taken < iterations:
        one, _ = step(here)
        two, now = step(one)
        r, v = one - here, (two - one) - (one - here)
        curve = float(np.linalg.norm(v))
        far = max(1.0, float(np.linalg.norm(r)) / curve) if curve > 0 else 1.0
        leap = np.clip(here + 2 * far * r + far * far * v, 1e-9, 1.0 - 1e-9)
        sure = (two == 0.0) | (two == 1.0)
        leap[sure] = two[sure]
        here = two
        after_leap, at_leap = step(leap)
        good = at_leap >= now
        if held:
            closer = np.linalg.norm(after_leap - leap) <= np.linalg.norm(two - one)
            good = bool(closer) and at_leap >= now - _SLACK * abs(now)
        if good:
            here, now = after_leap, at_leap
        taken += 3
        if abs(now - before) <= tolerance * abs(now):
            return here, taken, True
        before = now
    return here, taken, False


def share(clicked: FloatArray, views: FloatArray, prior: float) -> FloatArray:
    """Clicks by views of each item; items that were never viewed get the average."""
    mean = clicked.sum() / views.sum() if views.sum() else 0.0
    seen = views + prior
    found: FloatArray = np.divide(clicked + prior * mean, seen, out=np.full(len(views), float(mean)), where=seen > 0)
    return found


def binomial(yes: FloatArray, no: FloatArray, p: FloatArray) -> float:
    """Log-likelihood of these numbers of yes and no; a probability of 0 matters only for what happened."""
    with np.errstate(divide="ignore"):
        return float(np.log(p[yes > 0]) @ yes[yes > 0] + np.log1p(-p[no > 0]) @ no[no > 0])


def checked_prior(prior: float) -> float:
    """How many views are added to each item."""
    return number("prior", prior, ProblemError, low=0.0)


def checked_iterations(iterations: int) -> int:
    """Most steps of EM."""
    return whole("iterations", iterations, ProblemError, low=1)
