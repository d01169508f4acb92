"""Yahoo! Music R2, read to values counted by hand."""

from pathlib import Path

import pytest
from dataset_files import by_item, rated, write_r2

from rankfall.data import find


@pytest.mark.parametrize(("train", "first"), [("train_{}.txt", 0), ("train-{}.txt", 1)])
def test_yahoo_r2(tmp_path: Path, train: str, first: int) -> None:
    write_r2(tmp_path / "r2", train, first)
    ratings = find(tmp_path / "r2")
    assert sorted(rated(ratings)) == [
        (0, 0, 5.0),
        (0, 1, 1.0),
        (0, 2, 2.0),
        (1, 0, 3.0),
        (1, 1, 5.0),
        (7, 2, 5.0),
        (8, 2, 4.0),
    ]
    topics = {item: names for item, (_, names) in by_item(ratings).items()}
    assert topics == {0: ["Electronic/Dance"], 1: ["Unknown"], 2: ["Rock"], 3: ["Electronic/Dance"]}
    assert ratings.items["title"].to_list() == ["song 0", "song 1", "song 2", "song 3"]
