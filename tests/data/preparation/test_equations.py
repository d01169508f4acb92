"""The equations of section 4.1, against loops over the paper's sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from section_4_1 import theta_by_the_book, x_by_the_book

from rankfall.data.preparation import equations

bits = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda n: st.tuples(hnp.arrays(bool, (n[0], n[1])), hnp.arrays(bool, (n[1], n[2])))
)


@given(bits)
def test_coverage_and_theta_are_the_sums_of_the_paper(given_bits: tuple[np.ndarray, np.ndarray]) -> None:
    F, G = given_bits
    ones, members = F.astype(int).tolist(), G.astype(int).tolist()
    coverage = equations.topic_coverage(F, G)
    np.testing.assert_allclose(coverage, x_by_the_book(ones, members), rtol=1e-12)
    np.testing.assert_allclose(equations.topic_preferences(F, G), theta_by_the_book(ones, members), rtol=1e-12)
    assert coverage.min() >= 0
    assert coverage.max() <= 1


@settings(max_examples=50)
@given(hnp.arrays(bool, st.tuples(st.integers(3, 8), st.integers(3, 8))), st.integers(1, 3))
def test_relevance_features(F: np.ndarray, rank: int) -> None:
    z = equations.relevance_features(F, rank)
    assert z.shape == (F.shape[1], rank)
    lengths = np.linalg.norm(z, axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    assert np.all(lengths[~F.any(axis=0)] == 0)  # nobody likes it: nothing is known of it
    values, vectors = np.linalg.eigh(F.T.astype(float) @ F.astype(float))  # the same vectors, by another road
    values, vectors = values[::-1], vectors[:, ::-1]
    if np.all(np.diff(values[: rank + 1]) < -1e-6):  # otherwise they are not determined
        for j in range(rank):
            if vectors[np.abs(vectors[:, j]).argmax(), j] < 0:
                vectors[:, j] *= -1
        raw = vectors[:, :rank] * np.sqrt(np.maximum(values[:rank], 0))
        norm = np.linalg.norm(raw, axis=1, keepdims=True)
        clear = (norm[:, 0] > 1e-6) & (np.sort(np.abs(vectors[:, :rank]), axis=0)[-2:].std(axis=0).min() > 1e-6)
        np.testing.assert_allclose(z[clear], (raw / np.maximum(norm, 1e-9))[clear], atol=1e-6)


@pytest.mark.parametrize("shape", [(90, 150), (150, 90)])
@pytest.mark.parametrize("true_rank", [3, 90])
def test_relevance_features_of_larger_matrices(shape: tuple[int, int], true_rank: int) -> None:
    rng = np.random.default_rng(8)
    F = rng.random(shape) < 0.15
    if true_rank == 3:
        F = F[rng.integers(0, 3, len(F))]
    F[:, 7] = False
    z = equations.relevance_features(F, 5)
    assert z.tobytes() == equations.relevance_features(F, 5).tobytes()
    _, values, vectors = np.linalg.svd(F.astype(float))
    raw = vectors[:5].T * np.where(values[:5] > 1e-9, values[:5], 0)
    raw *= np.sign(vectors[np.arange(5), np.abs(vectors[:5]).argmax(axis=1)])
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(z, np.where(length > 1e-9, raw / np.maximum(length, 1e-9), 0), atol=1e-9)
    assert not z[7].any()


@settings(max_examples=50)
@given(hnp.arrays(bool, (4, 7)), hnp.arrays(float, (7, 2), elements=st.floats(-1, 1, width=16)))
def test_beta_is_least_squares(F: np.ndarray, z: np.ndarray) -> None:
    beta = equations.relevance_preferences(F, z)
    residual = F.astype(float) - beta @ z.T
    np.testing.assert_allclose(residual @ z, 0, atol=1e-6)  # the normal equations
    unit = np.linalg.norm(equations.relevance_preferences(F, z, unit=True), axis=1)
    assert np.all(np.isclose(unit, 1) | (np.linalg.norm(beta, axis=1) == 0))
