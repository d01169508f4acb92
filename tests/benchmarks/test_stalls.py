"""Stalls are found in the times of requests, with what the server did meanwhile."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # last: names of tests/support come first

from stalls import Held, doing, stalls_of, within

RANK, FEEDBACK = 0.0, 1.0


def test_requests_that_were_slow_at_one_time_are_one_stall() -> None:
    times = np.array(
        [
            (RANK, 1.0, 1.01),
            (RANK, 2.0, 2.2),
            (FEEDBACK, 2.1, 2.5),  # began before the last one ended
            (RANK, 2.15, 2.16),
            (FEEDBACK, 3.0, 3.3),
        ]
    )
    found = [(one.begin, one.end, one.requests, round(one.longest, 6)) for one in stalls_of(times, 0.1)]
    assert found == [(2.0, 2.5, 2, 0.4), (3.0, 3.3, 1, 0.3)]


def test_a_stall_is_told_with_what_the_server_did() -> None:
    samples = [
        (1.90, {}, 0.0),
        (2.02, {"writer": "upkeep.Upkeep.run > upkeep.Upkeep.checkpoint"}, 0.1),
        (2.24, {"writer": "upkeep.Upkeep.run > upkeep.Upkeep.checkpoint"}, 0.1),
        (2.60, {"writer": "feedback.store_feedback"}, 0.1),
        (9.00, {"writer": "feedback.store_feedback"}, 0.1),
    ]
    (stall,) = stalls_of(np.array([(RANK, 2.0, 2.5)]), 0.1)
    words = doing(within(samples, stall))
    assert words.startswith("writer: upkeep.Upkeep.run > checkpoint (2 of 4)")
    assert words.endswith("interpreter held 360 ms")


def test_what_held_up_the_machine_at_the_time_is_found() -> None:
    held = Held(at=[1.0, 2.3, 5.0], seconds=[0.5, 0.25, 0.75])
    assert held.longest(2.0, 2.5) == 0.25
    assert held.longest(3.0, 4.0) == 0.0
    assert held.longest(3.0, 4.5) == 0.75
