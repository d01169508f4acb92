"""CascadeTS: Thompson sampling of each item's attraction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.arrays import FloatArray, IntArray
from rankfall.errors import ProblemError
from rankfall.kernels import item_bounds, tabular
from rankfall.policies.settings import PolicySettings, reals
from rankfall.policies.tabular.policy import Rng, Table, TabularPolicy


@dataclass(frozen=True)
class CascadeTSSettings(PolicySettings):
    """Settings of :class:`CascadeTS`."""

    prior: tuple[float, float] = reals((1.0, 1.0))

    def check(self) -> None:
        """Both shapes of a Beta distribution are above 0."""
        if len(self.prior) != 2 or not all(shape > 0 for shape in self.prior):
            raise ProblemError(f"prior must be two numbers above 0, alpha and beta, got {self.prior!r}")


class CascadeTS(TabularPolicy):
    """Orders items by a sample of each one's Beta posterior.

    Thompson sampling with Beta-Bernoulli updates: Zhong, Cheung, Tan: Thompson Sampling Algorithms for Cascading
    Bandits, JMLR 2021, where it is analysed under the name CTS (after Hüyük, Tekin, AISTATS 2019). It is not TS-Cascade
    of Cheung, Tan, Zhong (AISTATS 2019), which draws one Gaussian number for all items::

        alpha(e) = beta(e) = 1 for all items e
        for all t = 1, ..., T:
            for all items e:  theta_t(e) ~ Beta(alpha(e), beta(e)), independently
            A_t = the K items with the largest theta_t(e), in decreasing order
            show A_t, observe the click C_t in {1, ..., K, none}
            for k = 1, ..., min(C_t, K):   e = the k-th item of A_t
                alpha(e) += 1{C_t = k},   beta(e) += 1{C_t != k}

    Where ours differs: nowhere. A Beta sample is made of two Gamma samples, ``g / (g + h)``, which takes a third of the
    time; all items are sampled, also where few are eligible, so that the same ``rng`` gives the same samples.

    Parameters
    ----------
    catalog : the items, or how many there are.
    prior : alpha and beta of every item before anything was seen.

    >>> policy = CascadeTS(4)
    >>> policy.rank(2, rng=np.random.default_rng(1))
    Ranking(2, 0)
    """

    Settings = CascadeTSSettings
    summary = "attraction by item, Thompson sampling"
    paper = "Zhong, Cheung, Tan: Thompson Sampling Algorithms for Cascading Bandits, JMLR 2021 (CTS)"
    randomised = True

    settings: CascadeTSSettings

    def place(self, table: Table, rows: IntArray, items: IntArray, scores: FloatArray, rng: Rng) -> None:
        """The highest samples of the posteriors."""
        item_bounds.share_list(rows, self._samples(table, rng), items, scores)

    def judge(self, table: Table, rng: Rng) -> FloatArray:
        """A sample of every item."""
        samples = np.empty(self.n_items)
        item_bounds.shares(self._samples(table, rng), samples)
        return samples

    def _samples(self, table: Table, rng: Rng) -> FloatArray:
        """The Gamma samples (2, n_items) that make the Beta samples of all items."""
        shapes = np.empty((2, self.n_items))
        item_bounds.posterior(*table, *self.settings.prior, shapes)
        return rng.standard_gamma(shapes)

    def steps(self, counts: tabular.Counts, rng: Rng) -> tabular.SampleSteps:
        """Samples of the posteriors, drawn as :meth:`place` draws them."""
        return tabular.SampleSteps(counts, *self.settings.prior, np.empty((2, self.n_items)), rng)
