"""The equations of section 4.1, on arrays: ``F`` (users, items) and ``G`` (items, topics) hold zeros and ones."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from rankfall.arrays import BoolArray, FloatArray

_NEGLIGIBLE = 1e-9
"""What is this small beside the largest singular value is rounding, and taken for zero."""

_SMALL = 64


def topic_coverage(F: BoolArray, G: BoolArray) -> FloatArray:
    """How well each item covers each topic, x: (items, topics) in [0, 1]; eq. topic_features.

    Of the users attracted by at least one item of the topic, the share attracted by this one. Zero where the item is
    not of the topic, or nobody is attracted by anything in it.

    >>> topic_coverage(np.array([[1, 1], [1, 0], [0, 0]], dtype=bool), np.array([[1, 0], [1, 1]], dtype=bool))
    array([[1. , 0. ],
           [0.5, 1. ]])
    """
    attracted = (_counts(F, G) > 0).sum(axis=0)
    fans = F.sum(axis=0)
    x: FloatArray = np.where(G, fans[:, None], 0) / np.maximum(attracted, 1)
    return x


def topic_preferences(F: BoolArray, G: BoolArray) -> FloatArray:
    """How much each user prefers each topic, theta: (users, topics), each row sums to 1; eq. topic_preferences.

    A user attracted by nothing in any of the topics has a row of zeros.

    >>> topic_preferences(np.array([[1, 1], [1, 0], [0, 0]], dtype=bool), np.array([[1, 0], [1, 1]], dtype=bool))
    array([[0.66666667, 0.33333333],
           [1.        , 0.        ],
           [0.        , 0.        ]])
    """
    counts = _counts(F, G)
    theta: FloatArray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return theta


def relevance_features(F: BoolArray | csr_array, rank: int) -> FloatArray:
    """Relevance features z: (items, rank), the rows of V S for the largest singular values, each of length 1.

    ``F`` may be sparse, and then as large as memory holds its ones.

    An item that the leading singular vectors say nothing of has a row of zeros. The sign of a singular vector is free;
    the entry of largest magnitude is made positive, so that results do not depend on the linear algebra library.
    """
    if isinstance(F, csr_array) and min(F.shape) <= max(_SMALL, 4 * rank):
        F = F.toarray().astype(bool)
    weighted = _of_sparse(F, rank) if isinstance(F, csr_array) else _of_dense(F, rank)
    strength = np.linalg.norm(weighted, axis=0)
    negligible = _NEGLIGIBLE * strength[0]
    largest = weighted[np.abs(weighted).argmax(axis=0), np.arange(rank)]
    z = np.where(strength > negligible, np.where(largest < 0, -weighted, weighted), 0.0)
    length = np.linalg.norm(z, axis=1, keepdims=True)
    told = length > negligible
    return np.where(told, z / np.where(told, length, 1.0), 0.0)


def relevance_preferences(F: BoolArray, z: FloatArray, unit: bool = False) -> FloatArray:
    """How much each user prefers each feature, beta: (users, features), by least squares of F on z.

    With ``unit`` each is divided by its length, as the text has it.
    """
    beta = np.linalg.lstsq(z, F.T.astype(np.float64), rcond=None)[0].T
    if unit:
        length = np.linalg.norm(beta, axis=1, keepdims=True)
        beta = beta / np.where(length > 0, length, 1.0)
    return np.ascontiguousarray(beta, dtype=np.float64)


def _left_vectors(F: BoolArray | csr_array, rank: int) -> FloatArray:
    """Left singular vectors of the largest singular values, U: (users, rank).

    Of a matrix that is not small, by Lanczos iterations on the sparse form, with a fixed seed: as exact for the leading
    ones, several times as fast, and as fast on a busy machine, where dense libraries wait for their own threads.
    """
    users = F.shape[0]
    if min(F.shape) <= max(_SMALL, 4 * rank):
        return np.linalg.svd(F.astype(np.float64), full_matrices=False)[0][:, :rank]
    rng = np.random.default_rng(0)
    sparse = csr_array(F, dtype=np.float64)
    gram = LinearOperator((users, users), matvec=lambda v: sparse @ (sparse.T @ v), dtype=np.float64)
    values, vectors = eigsh(gram, k=rank, v0=rng.normal(size=users), tol=0.0, rng=rng)
    best: FloatArray = vectors[:, np.argsort(-values, kind="stable")]
    return best


def _of_dense(F: BoolArray, rank: int) -> FloatArray:
    """V S of the largest singular values, as F' U: (items, rank)."""
    weighted: FloatArray = F.T.astype(np.float64) @ _left_vectors(F, rank)
    return weighted


def _of_sparse(F: csr_array, rank: int) -> FloatArray:
    """V S of the largest singular values: (items, rank). By Lanczos iterations on the shorter side."""
    sparse = F.astype(np.float64)
    if F.shape[0] <= F.shape[1]:
        weighted: FloatArray = sparse.T @ _left_vectors(F, rank)
        return weighted
    rng, items = np.random.default_rng(0), F.shape[1]
    gram = LinearOperator((items, items), matvec=lambda v: sparse.T @ (sparse @ v), dtype=np.float64)
    values, vectors = eigsh(gram, k=rank, v0=rng.normal(size=items), tol=0.0, rng=rng)
    order = np.argsort(-values, kind="stable")
    found: FloatArray = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    return found


def _counts(F: BoolArray, G: BoolArray) -> FloatArray:
    """How many items of each topic attract each user: (users, topics)."""
    return F.astype(np.float64) @ G.astype(np.float64)
