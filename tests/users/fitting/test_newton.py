"""Newton's method."""

import numpy as np
import pytest

from rankfall.users.fitting.newton import maximise


def test_a_step_that_goes_too_far_is_halved():
    """``-log(1 + x^2)`` is not concave far out, where Newton's step leads away from the maximum."""

    def hill(x):
        curve = 2 * (1 - x**2) / (1 + x**2) ** 2
        return -float(np.log(1 + x**2)[0]) - 1.0, -2 * x / (1 + x**2), np.diag(curve)

    found = maximise(hill, np.array([5.0]))
    assert found.converged
    assert found.point == pytest.approx([0.0], abs=1e-4)


def test_directions_that_are_flat_are_left_alone():
    def ridge(x):
        return -1.0 - float((x[0] - 2) ** 2), np.array([-2 * (x[0] - 2), 0.0]), np.diag([2.0, 0.0])

    np.testing.assert_allclose(maximise(ridge, np.array([0.0, 7.0])).point, [2.0, 7.0])


def test_too_few_steps_are_said():
    def hill(x):
        return -float(np.sum(np.sqrt(1 + x**2))), -x / np.sqrt(1 + x**2), np.diag((1 + x**2) ** -1.5)

    assert not maximise(hill, np.array([0.9]), steps=1, tolerance=1e-15).converged
