"""Parts of a click log."""

import numpy as np
import polars as pl
import pytest
from simulated_logs import log_of

from rankfall import ProblemError
from rankfall.click_logs import read_click_log


def test_lists_are_taken_by_number_by_time_and_in_parts() -> None:
    frame = pl.DataFrame(
        {"list": ["a", "a", "b", "c"], "position": [1, 2, 1, 1], "item": [5, 6, 6, 5], "click": [0, 1, 0, 1]}
    ).with_columns(time=pl.Series([3, 3, 1, 3]))
    log = read_click_log(frame)
    assert [one.name for one in log.by_time()] == ["b", "a", "c"]
    assert [one.name for part in log.parts(2) for one in part] == ["a", "b", "c"]
    assert [part.lists for part in log.parts(2)] == [2, 1]
    taken = log.take(np.array([2, 0]))
    assert [(one.items, one.clicked) for one in taken] == [([5], [0]), ([5, 6], [1])]
    assert repr(taken) == "ClickLog(2 lists, 3 rows, 2 items)"


def test_a_split_leaves_lists_whole() -> None:
    log = read_click_log(log_of("cascade", 1000))
    train, test = log.split(0.2, seed=4)
    assert (train.lists, test.lists) == (800, 200)
    assert train.click.sum() + test.click.sum() == log.click.sum()
    assert test.split(0.5)[0].positions == 4
    with pytest.raises(ProblemError, match="of 1000 lists that leaves one part without any; take another share"):
        log.split(0.0)


def test_lists_end_at_their_first_click() -> None:
    rows = {
        "list": [1, 1, 1, 2, 2, 3, 3],
        "position": [1, 2, 3, 1, 2, 1, 2],
        "item": ["a", "b", "c", "b", "a", "c", "a"],
        "click": [0, 1, 1, 0, 0, 1, 0],
    }
    cut = read_click_log(pl.DataFrame(rows)).to_first_click()
    assert [(one.items, one.clicked) for one in cut] == [(["a", "b"], [1]), (["b", "a"], []), (["c"], [0])]
