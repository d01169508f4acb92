"""A prior for every user, learned from what all users have shown: empirical Bayes.

The model: the weights of a user are ``w_u ~ N(mu, Sigma)``, and what an item earned is ``phi . w_u`` plus noise of
variance s^2. Of each user nothing is needed but sums: ``G_u = sum phi phi'``, ``h_u = sum r phi``, how many items were
seen, and ``sum r^2``. The prior is the one that makes all of it most likely, found by EM: given the prior, the ridge
model of every user; given those models, the prior again. Three things hold it where data is scarce, each in terms of
``r0``, the mean of r^2:

- As many users more are imagined as there are columns. Their weights have nothing to do with each other, and variances
  T. So correlations are believed as users come to show them.
- mu is like the weights of one of them, N(0, diag T): what everybody likes is of the size of what some like.
- The logarithms of T are normal around their centre, with standard deviation 1: of columns that users have shown
  little of, the others say something. The centre is held to log r0, with standard deviation 4 for each column: with one
  or two users it stays near the prior of ridge regression, and with many it is what users show.

All of it is part of what is maximised, so that never falls from round to round. What remains unknown of mu is added to
Sigma in the end: with few users a prior is wide, and without any it is the identity. Where users have nothing in
common, mu is about 0 and Sigma is as wide as they differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Self

import numpy as np

from rankfall.arrays import FloatArray, IntArray, number, whole
from rankfall.errors import ProblemError
from rankfall.kernels.empirical_bayes import expect
from rankfall.kernels.own_statistics import SEEN, SQUARES, Own
from rankfall.policies.linear.prior import Prior

SAMPLE = 2_000
"""Of more than twice as many users, so many are looked at first."""

_AFTER_SAMPLE = 4
_APART, _SPREAD = 1.0, 4.0
"""Standard deviations of the logarithms of T around their centre, and of the centre."""

_EFFORT, _LEAST_ROUNDS, _MOST_ROUNDS = 20_000, 20, 100
"""Of a prior that is learned again: users times rounds of EM, and the fewest and most rounds."""

_ENOUGH = 1e-4
"""A round that adds less than this to the log likelihood, for each user, is the last."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """What users have shown, as sums; nothing else of them is needed to learn a prior.

    Attributes
    ----------
    gram : (users, columns, columns) sum of phi phi' over the items seen, with features as shown.
    moment : (users, columns) sum of r phi, where r is what an item earned.
    seen, squares : (users,) items seen, and sum of r^2.
    """

    gram: FloatArray
    moment: FloatArray
    seen: FloatArray
    squares: FloatArray

    def __post_init__(self) -> None:
        users, columns = self.moment.shape
        shapes = {
            "gram": (users, columns, columns),
            "moment": (users, columns),
            "seen": (users,),
            "squares": (users,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ProblemError(f"{name} has shape {getattr(self, name).shape}; expected {shape}")

    @classmethod
    def of(cls, users: Iterable[Own], columns: int) -> Self:
        """Those of users with these sums."""
        every = list(users)
        made = cls(
            np.empty((len(every), columns, columns)),
            np.empty((len(every), columns)),
            np.empty(len(every)),
            np.empty(len(every)),
        )
        for u, own in enumerate(every):
            made.gram[u], made.moment[u] = own.gram, own.moment
            made.seen[u], made.squares[u] = own.sums[SEEN], own.sums[SQUARES]
        return made

    def some(self, users: IntArray) -> Statistics:
        """Those of the users with these numbers."""
        if len(users) == len(self.seen):
            return self
        return Statistics(self.gram[users], self.moment[users], self.seen[users], self.squares[users])


class Guess(NamedTuple):
    """A prior on the way, over n columns."""

    mean: FloatArray  # (n) mu
    precision: FloatArray  # (n, n) K = s^2 Sigma^-1
    noise: float  # s^2


class Round(NamedTuple):
    """One round: what the guess makes of the users, and how likely that is."""

    guess: Guess
    variances: FloatArray  # (n) T
    models: FloatArray  # (n, n) sum of O_u^-1
    likelihood: float  # log likelihood of all that users have shown
    objective: float  # the same and the terms that hold the prior: what is maximised


def learn_prior(
    statistics: Statistics, *, start: Prior | None = None, rounds: int = 100, imagined: float | None = None
) -> Prior:
    """The prior that explains these users best; the identity if none of them has seen or clicked anything.

    Of very many users a sample is looked at first, until nothing is gained any more, and then all of them from there.

    Parameters
    ----------
    start : where to begin, such as the prior of an hour ago, which needs fewer rounds; by default the identity.
    rounds : of EM, at most; it stops when nothing is gained any more.
    imagined : how many users more are imagined, whose columns have nothing to do with each other; by default one for
        each column.

    >>> rng = np.random.default_rng(1)
    >>> shown = rng.normal(size=(50, 30, 2))  # 50 users, 30 items each, 2 columns
    >>> earned = shown @ np.array([0.5, -0.2]) + rng.normal(scale=0.3, size=(50, 30))
    >>> sums = np.einsum("uij,uik->ujk", shown, shown), np.einsum("uij,ui->uj", shown, earned)
    >>> prior = learn_prior(Statistics(*sums, np.full(50, 30.0), (earned**2).sum(axis=1)))
    >>> prior, prior.mean.round(1), round(prior.noise, 2)
    (Prior(2 columns, learned from 50 users), array([ 0.5, -0.2]), 0.09)
    """
    rounds = whole("rounds", rounds, ProblemError, low=1)
    columns = statistics.moment.shape[1]
    used = statistics.some(np.flatnonzero(statistics.seen > 0))
    users, seen, squares = len(used.seen), used.seen.sum(), used.squares.sum()
    if not squares > 0:
        return Prior.identity(columns)
    guess = Guess(np.zeros(columns), np.eye(columns), float(squares / seen))
    if start is not None and start.users:
        guess = Guess(start.mean, start.precision, start.noise)
    imagined = float(columns) if imagined is None else number("imagined", imagined, ProblemError, low=0.0)
    if users > 2 * SAMPLE:
        sample = used.some(np.linspace(0, users - 1, SAMPLE).round().astype(np.int64))
        guess, rounds = _last(em(sample, imagined, guess), SAMPLE, rounds).guess, min(rounds, _AFTER_SAMPLE)
    found = _last(em(used, imagined, guess), users, rounds)
    K = found.guess.precision
    hold = np.diag(found.guess.noise / found.variances)
    unknown = np.linalg.inv(users * K - K @ found.models @ K + hold)  # of mu
    covariance = np.linalg.inv(K) + unknown
    return Prior(found.guess.mean, (covariance + covariance.T) / 2, found.guess.noise, users)


def rounds_again(users: int) -> int:
    """How many rounds a prior is worth that is learned again and again: with many users it changes little."""
    return max(_LEAST_ROUNDS, min(_MOST_ROUNDS, _EFFORT // max(1, users)))


def _last(turns: Iterator[Round], users: int, rounds: int) -> Round:
    """The round after which nothing is gained any more, or the last of so many."""
    found = next(turns)
    for now in islice(turns, rounds):
        gained, found = now.objective - found.objective, now
        if gained < _ENOUGH * users:
            break
    return found


def em(statistics: Statistics, imagined: float, guess: Guess) -> Iterator[Round]:
    """Round after round from a guess on, each at least as likely as the one before."""
    users, columns = statistics.moment.shape
    seen, squares = statistics.seen.sum(), statistics.squares.sum()
    usual = squares / seen  # r0
    means, models = np.empty((users, columns)), np.empty((columns, columns))
    while True:
        mean, K, noise = guess
        pull = K @ mean
        logarithm, fit = expect(statistics.gram, statistics.moment, K, pull, means, models)
        determinant = np.linalg.slogdet(K)[1]
        likelihood = -0.5 * (
            seen * np.log(2 * np.pi * noise)
            + logarithm
            - users * determinant
            + (squares + users * mean @ pull - fit) / noise
        )
        t, held = _imagined_variances(K.diagonal() / noise, mean, imagined, np.log(usual))
        T = np.exp(t)
        held += 0.5 * imagined * (determinant - columns * np.log(noise))
        yield Round(guess, T, (models + models.T) / 2, float(likelihood), float(likelihood + held))
        residual = squares - fit + 2 * means.sum(axis=0) @ pull - np.vdot(means @ K, means)
        residual += noise * (users * columns - np.vdot(K, models))
        mean = np.linalg.solve(users * K + np.diag(noise / T), K @ means.sum(axis=0))
        apart = means - mean
        Sigma = noise * models + apart.T @ apart + np.diag(imagined * T)
        Sigma = (Sigma + Sigma.T) / (2 * (users + imagined))
        noise = max(float(residual / seen), 1e-9 * usual)  # where features explain everything, next to nothing is left
        K = noise * np.linalg.inv(Sigma)
        guess = Guess(mean, (K + K.T) / 2, noise)


def _imagined_variances(
    precision: FloatArray, mean: FloatArray, imagined: float, usual: float
) -> tuple[FloatArray, float]:
    """The log T for which mu and imagined users are most likely, and how likely, given the diagonal of Sigma^-1.

    That is largest for one T and one centre only, which Newton's method finds; ``usual`` is log r0.
    """
    t = -np.log(precision)
    centre = float(t.mean())
    columns, near, far = len(t), 1.0 / _APART**2, 1.0 / _SPREAD**2
    for _ in range(100):
        up, down = 0.5 * imagined * np.exp(t) * precision, 0.5 * mean**2 * np.exp(-t)
        slope = 0.5 * (imagined - 1.0) - up + down - near * (t - centre)
        curve = up + down + near
        pulled = near * (t - centre).sum() - columns * far * (centre - usual)
        moved = (pulled + near * (slope / curve).sum()) / (columns * (near + far) - near**2 * (1.0 / curve).sum())
        step = np.clip((slope + near * moved) / curve, -1.0, 1.0)
        t, centre = t + step, centre + float(np.clip(moved, -1.0, 1.0))
        if max(np.abs(step).max(), abs(moved)) < 1e-10:
            break
    held = 0.5 * ((imagined - 1.0) * t - imagined * np.exp(t) * precision - mean**2 * np.exp(-t)).sum()
    held -= 0.5 * near * ((t - centre) ** 2).sum() + 0.5 * columns * far * (centre - usual) ** 2
    return t, float(held)
