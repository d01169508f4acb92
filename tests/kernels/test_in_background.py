"""What is compiled in the background is used when it is ready."""

import logging
import threading

import pytest

from rankfall.kernels import in_background


def test_others_see_that_it_works_until_it_is_done() -> None:
    go_on, seen = threading.Event(), []

    def use() -> None:
        go_on.wait()
        seen.append(in_background.working())

    thread = in_background.start([use])
    assert in_background.working()
    go_on.set()
    thread.join()
    assert seen == [False]  # the thread itself may use everything
    assert not in_background.working()


def test_an_error_is_logged_and_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("no such kernel")

    with caplog.at_level(logging.ERROR, "rankfall"):
        in_background.start([fail]).join()
    assert "could not be compiled" in caplog.text
    assert "no such kernel" in caplog.text
    assert not in_background.working()
