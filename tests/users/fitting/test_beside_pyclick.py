"""Our fits beside those of PyClick, on the same lists.

PyClick's values are facts: of github.com/markovi/PyClick at commit 98e7e46, run with Python 3.11 on the logs of
``log_of_ten``, 1,000 lists to fit (seed 0) and 1,000 others to judge by (seed 1). Each list was a SearchSession of one
query; ``train`` made 50 steps of EM. Perplexity is the mean over positions of that of ``get_full_click_probs``, the
log-likelihood the sum of logarithms of ``get_conditional_click_probs`` over the lists that were fitted.
"""

import numpy as np
import pytest
from simulated_logs import log_of_ten

from rankfall.users.fitting import FITS

PERPLEXITY_AND_LIKELIHOOD = {
    "user_browsing": (1.656696, -4794.264),
    "simplified_bayesian": (1.538563, -3774.352),
    "dynamic_bayesian": (1.392440, -3033.473),
    "click_chain": (1.528719, -3884.105),
}


@pytest.mark.parametrize("name", PERPLEXITY_AND_LIKELIHOOD)
def test_fits_are_more_likely_than_those_of_pyclick_and_predict_as_well(name):
    perplexity, likelihood = PERPLEXITY_AND_LIKELIHOOD[name]
    fitted = FITS[name](log_of_ten(name, 1000, 0))
    assert fitted.log_likelihood > likelihood
    assert fitted.perplexity(log_of_ten(name, 1000, 1)).overall < perplexity + 0.001


def test_click_rates_at_the_top_are_those_of_pyclick_where_nobody_leaves():
    """Attraction times examination of the first position, which PyClick holds to 1/2 by two views of its own."""
    attraction = [0.0589, 0.1582, 0.2035, 0.3058, 0.367, 0.4636, 0.4921, 0.56, 0.6317, 0.6598, 0.7906, 0.8797]
    fitted = FITS["user_browsing"](log_of_ten("user_browsing", 1000, 0))
    ours = fitted.attraction * fitted.examination[0, 0]
    np.testing.assert_allclose(ours, 0.6977 * np.array(attraction), atol=0.005)


def test_continuation_is_recovered_where_pyclick_puts_it_near_one():
    """PyClick: 0.9996 for the dynamic Bayesian network, and 0.9994 after no click in the click chain model."""
    bayesian = FITS["dynamic_bayesian"](log_of_ten("dynamic_bayesian", 1000, 0))
    assert bayesian.continuation[0] == pytest.approx(0.85, abs=0.03)
    chain = FITS["click_chain"](log_of_ten("click_chain", 1000, 0))
    assert chain.continuation[0] == pytest.approx(0.95, abs=0.02)
