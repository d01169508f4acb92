"""Small problems with the user of the paper."""

import numpy as np
import specification
from hypothesis import strategies as st

from rankfall import CascadeUser

SOUND = {
    "coverage": [[0.1, 0.2], [0.3, 0.4]],
    "relevance": [[1.0], [2.0]],
    "theta": [0.5, 0.5],
    "beta": [0.1],
    "tradeoff": 0.5,
}
"""A user that makes sense."""


class Problem:
    """Items and a user with preferences that are nonnegative and attractions that lie in [0, 1]."""

    def __init__(self, rng, n=6, d=3, m=2, tradeoff=0.5, appeal=1.0, broad=False):
        self.x = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
        if broad:  # one item with something of every topic, the others with all of one: what misleads the greedy
            self.x = np.eye(d)[rng.integers(d, size=n)]
            self.x[0] = rng.uniform(0.3, 0.9, d)
        self.z = rng.random((n, m))
        self.theta = rng.dirichlet(np.ones(d)) * appeal  # sums to at most 1, so x' theta <= 1
        self.beta = rng.dirichlet(np.ones(m)) * appeal
        self.tradeoff = tradeoff
        self.user = CascadeUser(self.x, self.z, self.theta, self.beta, tradeoff)

    def alpha(self, R):
        return specification.attraction(self.x, self.z, self.theta, self.beta, self.tradeoff, list(R))

    def w_star(self):
        return np.concatenate([(1 - self.tradeoff) * self.theta, self.tradeoff * self.beta])

    def alpha_max(self):
        return max(self.alpha([a])[0] for a in range(len(self.x)))


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, m = draw(st.integers(1, 7)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return Problem(rng, n, d, m, tradeoff=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])))


def lists(data, problem):
    R = data.draw(st.permutations(range(len(problem.x))))
    return R[: data.draw(st.integers(1, len(R)))]
