"""Clicks as callers give them."""

import numpy as np
import pytest

from rankfall.errors import FeedbackError
from rankfall.policies.clicks import all_clicks


def test_one_click_or_several_are_read_in_any_form():
    assert all_clicks((0, 2), 3) == all_clicks([2, 0], 3) == all_clicks((2, 0, 2), 3) == [0, 2]
    assert all_clicks((), 3) == []
    assert all_clicks((np.int64(1),), 3) == [1]
    for wrong in ((0, 3), (-1, 0), (0, True), (0, 1.5), 3, -1, True, (3,)):
        with pytest.raises(FeedbackError):
            all_clicks(wrong, 3)
