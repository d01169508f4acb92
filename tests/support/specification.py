"""The paper in plain NumPy: what the compiled kernels have to do, written to be read next to the paper.

Nothing here imports rankfall. Symbols and the order of lines are those of "Cascading Hybrid Bandits":
``x`` (L, d) topic coverage, ``z`` (L, m) relevance features, ``S`` the items placed so far, ``K`` positions.
Clicks are the paper's ``c_t``: positions from 1 to K, and K + 1 for no click.
Loops over all items ``a`` are written as one array operation whose rows are the items; nothing else is rearranged.
"""

import numpy as np


def covered(x, A):
    """g_j(A) of eq. topic coverage, for every topic j: 1 - prod over a in A of (1 - x_a(j)).

    Members of A are row numbers of ``x``, or arrays of coverage (an array of many rows stands for many sets).
    """
    missed = np.ones(x.shape[1])
    for a in A:
        missed = missed * (1 - (x[a] if np.ndim(a) == 0 else a))
    return 1 - missed


def gain(x, S):
    """Delta(a | S) of eq. topic gain, a row for every item a: g_j(S + a) - g_j(S)."""
    return covered(x, [*S, x]) - covered(x, S)


def argmax_outside(S, mu):
    """The item in D without S with the highest mu; the lowest row of equals (the paper is silent on ties)."""
    open_to_choice = np.array(mu)
    open_to_choice[S] = -np.inf
    return int(np.argmax(open_to_choice))


class Algorithm1:
    """CascadeHybrid, line by line from the listing of Algorithm 1."""

    def __init__(self, x, z, gamma):
        self.x, self.z, self.gamma = x, z, gamma
        d, m = x.shape[1], z.shape[1]
        # Initialization
        self.H, self.u = np.eye(d), np.zeros(d)
        self.M, self.y = np.eye(m), np.zeros(m)
        self.B = np.zeros((d, m))

    def estimate(self):
        """Line "Estimate parameters": theta_hat and beta_hat."""
        inv_H, inv_M = np.linalg.inv(self.H), np.linalg.inv(self.M)
        theta_hat = inv_H @ self.u
        beta_hat = inv_M @ (self.y - self.B.T @ inv_H @ self.u)
        return theta_hat, beta_hat

    def rank(self, K):
        """Lines "Build ranked list": the items R_t, with omega_a and s_a of each as it was placed."""
        x, z, B = self.x, self.z, self.B
        inv_H, inv_M = np.linalg.inv(self.H), np.linalg.inv(self.M)
        theta_hat, beta_hat = self.estimate()
        S, omegas, variances = [], [], []  # S_0 is empty
        for _k in range(K):
            # for a in D without S: recalculate the topic coverage gain
            omega = gain(x, S)
            # s_a by eq. cb, term by term; rows(P, Q, R) is p_a' Q r_a for every a
            s = (
                rows(omega, inv_H, omega)
                - 2 * rows(omega, inv_H @ B @ inv_M, z)
                + rows(z, inv_M, z)
                + rows(z, inv_M @ B.T @ inv_H @ B @ inv_M, z)
            )
            # mu_a by eq. ucb; rounding may leave a vanishing s_a a hair below zero
            mu = omega @ theta_hat + z @ beta_hat + self.gamma * np.sqrt(np.maximum(s, 0))
            # a_k^t <- argmax, S_k <- S_{k-1} + a_k^t
            a = argmax_outside(S, mu)
            S.append(a)
            omegas.append(omega[a])
            variances.append(s[a])
        return S, np.array(omegas), np.array(variances)

    def update(self, R, omegas, c):
        """Lines "Update statistics": R is the list shown, omegas the gains it was shown with, c the click."""
        K = len(R)
        k = min(K, c)
        # add back what H and u are kept without
        self.H = self.H + self.B @ np.linalg.inv(self.M) @ self.B.T
        self.u = self.u + self.B @ np.linalg.inv(self.M) @ self.y
        for a, omega in zip(R[:k], omegas[:k], strict=True):
            self.M = self.M + np.outer(self.z[a], self.z[a])
            self.B = self.B + np.outer(omega, self.z[a])
            self.H = self.H + np.outer(omega, omega)
        if c <= K:
            self.y = self.y + self.z[R[c - 1]]
            self.u = self.u + omegas[c - 1]
        # and subtract it again, as it is now
        self.H = self.H - self.B @ np.linalg.inv(self.M) @ self.B.T
        self.u = self.u - self.B @ np.linalg.inv(self.M) @ self.y


def rows(P, Q, R):
    """p_a' Q r_a for every row a."""
    return ((P @ Q) * R).sum(axis=1)


class RidgeUCB:
    """The UCB rankers of sections 4.1 and 5.2: ridge regression on phi_a, a function of the list so far.

    O = I + sum phi phi' over the observed items, w = O^-1 b, score = phi' w + gamma sqrt(phi' O^-1 phi).
    """

    def __init__(self, features, gamma):
        self.features, self.gamma = features, gamma  # features(S): phi_a, a row for every item a
        columns = features([]).shape[1]
        self.O, self.b = np.eye(columns), np.zeros(columns)

    def estimate(self):
        return np.linalg.solve(self.O, self.b)

    def rank(self, K, fixed=()):
        """The list, phi and s; ``fixed`` has pairs (k, a): item a stands at place k, from 0 on, and nowhere else."""
        w = self.estimate()
        inv_O = np.linalg.inv(self.O)
        fixed = dict(fixed)
        S, phis, variances = [], [], []
        for k in range(K):
            phi = self.features(S)
            s = rows(phi, inv_O, phi)
            mu = phi @ w + self.gamma * np.sqrt(np.maximum(s, 0))
            a = fixed[k] if k in fixed else argmax_outside([*S, *fixed.values()], mu)
            S.append(a)
            phis.append(phi[a])
            variances.append(s[a])
        return S, np.array(phis), np.array(variances)

    def update(self, R, phis, c):
        for phi in phis[: min(len(R), c)]:
            self.O = self.O + np.outer(phi, phi)
        if c <= len(R):
            self.b = self.b + phis[c - 1]


def cascade_lin_ucb(x, z, gamma):
    return RidgeUCB(lambda _S: z, gamma)


def cascade_lin_ucb_full(x, z, gamma):
    both = np.hstack([x, z])
    return RidgeUCB(lambda _S: both, gamma)


def cascade_lsb(x, z, gamma):
    return RidgeUCB(lambda S: gain(x, S), gamma)


def cascade_lsb_full(x, z, gamma):
    both = np.hstack([x, z])
    return RidgeUCB(lambda S: gain(both, S), gamma)


def hybrid_as_ridge(x, z, gamma):
    """CascadeHybrid as section 5.2 rewrites it: phi_a = [omega_a, z_a]."""
    return RidgeUCB(lambda S: np.hstack([gain(x, S), z]), gamma)


def attraction(x, z, theta, beta, tradeoff, R):
    """The click simulator's alpha(R(i)), section 4.1: lambda z' beta + (1 - lambda) omega' theta; not clipped."""
    return np.array([tradeoff * (z[a] @ beta) + (1 - tradeoff) * (gain(x, R[:i])[a] @ theta) for i, a in enumerate(R)])
