"""What came of items beside their clicks, in the columns of a click log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from logged import CATALOG, running, state_of

from rankfall import Rewards, read_click_log
from rankfall.catalog import Catalog
from rankfall.errors import FileError
from rankfall.history.importing import import_clicks
from rankfall.history.replay import replay
from rankfall.history.replayable import ClickLogToReplay

IDS = CATALOG.ids
ROWS: dict[str, Any] = {
    "list": [1, 2, 1, 3],
    "position": [2, 1, 1, 1],
    "item": [IDS[1], IDS[0], IDS[2], IDS[1]],
    "click": [1, 0, 0, 1],
    "outcome:purchase": [2.0, None, None, 1.0],
    "in_cart": [1.5, 0.0, -1.0, 0.0],
}
TOLD = {
    "1": [(0, "cart", -1.0), (1, "cart", 1.5), (1, "purchase", 2.0)],
    "2": [],
    "3": [(0, "purchase", 1.0)],
}


@pytest.mark.parametrize("suffix", ["csv", "parquet", None])
def test_each_outcome_is_of_its_item(tmp_path: Path, suffix: str | None) -> None:
    frame = pl.DataFrame(ROWS)
    path = tmp_path / f"clicks.{suffix}"
    if suffix is not None:
        frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    log = read_click_log(path if suffix else frame, columns={"outcome:cart": "in_cart"})
    assert {one.name: list(one.outcomes) for one in log} == TOLD
    assert not any(one.outcomes for one in read_click_log(frame.drop("outcome:purchase")))


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("outcome:x", ["a", "b", "c", "d"], "column 'outcome:x' is String; expected a number"),
        ("outcome:x", [0.0, 1e9, 0.0, 0.0], "row 2: outcome:x is 1000000000.0; expected a number from -1,000,000"),
        ("outcome:x", [0.0, 0.0, float("nan"), 0.0], "row 3: outcome:x is nan"),
        ("outcome:", [0.0, 0.0, 0.0, 0.0], "must name the type of the outcome, as outcome:purchase does"),
    ],
)
def test_what_is_no_outcome_is_refused(column: str, values: list[Any], said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_click_log(pl.DataFrame(ROWS).with_columns(pl.Series(column, values)))


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(FileError, match="has no column 'bought'"):
        read_click_log(pl.DataFrame(ROWS), columns={"outcome:purchase": "bought"})


def test_a_model_and_a_replay_learn_the_same_from_them(tmp_path: Path) -> None:
    log = read_click_log(pl.DataFrame(ROWS), columns={"outcome:cart": "in_cart"})
    worth = {"click": 1.0, "cart": 2.0, "purchase": 5.0}
    with running(str(tmp_path), rewards=worth) as engine:
        done = [import_clicks(engine, "default", log) for _ in range(2)]
        assert [one.outcomes for one in done] == [4, 0]
        found = replay(ClickLogToReplay("log", log, CATALOG), "CascadeHybrid", 0.5, rewards=Rewards(worth))
        learned, served = found.policies[""].state(), state_of(engine)
    for name, array in served.items():
        assert np.allclose(learned[name], array, atol=1e-12), name  # outcomes come in another order
    assert found.outcomes == 4


def test_outcomes_come_in_the_order_in_which_lists_are_replayed() -> None:
    log = read_click_log(
        pl.DataFrame(ROWS).with_columns(time=pl.Series([3.0, 1.0, 3.0, 2.0])), columns={"outcome:cart": "in_cart"}
    )
    told = ClickLogToReplay("log", log, Catalog(relevance=CATALOG.relevance, ids=IDS)).outcomes()
    assert told.select("seq", "event_id", "position", "type", "value").rows() == [
        (1, "3", 0, "purchase", 1.0),
        *((2, "1", *one) for one in TOLD["1"]),
    ]
