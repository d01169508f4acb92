"""Names of lists."""

import itertools

import pytest

from rankfall.service import tokens


def test_ids_of_lists_are_in_the_order_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_made", itertools.count())
    made = [tokens.event_id(time) for time in [1.7e9] * 1_000 + [1.7e9 + 0.001] * 1_000]
    assert made == sorted(made)
    assert len({one[16:] for one in made}) == 2_000  # the rest is random
    assert {len(one) for one in made} == {32}
