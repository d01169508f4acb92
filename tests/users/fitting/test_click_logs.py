"""Click logs to fit: drawn from simulated users, and read."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from simulated_logs import USERS, lists, log_of

from rankfall import FileError, ProblemError, fit_cascade, fit_dependent_click, fit_position_based
from rankfall.cli import app
from rankfall.users.fitting import FITS, draw_log, read_log


@pytest.mark.parametrize("name", USERS)
def test_a_drawn_log_holds_the_clicks_of_the_user_on_the_same_coins(name):
    user, shown = USERS[name], lists(300, 1)
    log = draw_log(user, shown, seed=5)
    coins = np.random.default_rng(5).random(shown.shape)
    for n, (items, flips) in enumerate(zip(shown, coins, strict=True)):
        click = user.click(items, flips)
        expected = [] if click is None else [click] if isinstance(click, int) else list(click)
        rows = log.filter(pl.col("list") == n)
        assert rows["item"].to_list() == items.tolist()
        assert np.flatnonzero(rows["click"].to_numpy()).tolist() == expected


def test_rows_may_stand_in_any_order_and_ids_may_be_text():
    frame = log_of("dependent_click", 400)
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=3)
    text = mixed.with_columns(pl.col("item").cast(pl.String), pl.format("list {}", "list").alias("list"))
    fits = [
        fit_dependent_click(one) for one in (frame, mixed, text, text.with_columns(pl.col("item").cast(pl.Categorical)))
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other.attraction, fits[0].attraction, atol=1e-9)
    assert fits[2].items.to_list() == [str(i) for i in range(8)]


def test_lists_that_come_in_pieces_are_put_together():
    frame = pl.DataFrame(
        {"list": [1, 2, 1, 2], "position": [1, 1, 2, 2], "item": ["a", "b", "b", "a"], "click": [0, 1, 1, 0]}
    )
    assert read_log(frame).start.tolist() == [0, 2, 4]
    assert read_log(frame).click.tolist() == [False, True, True, False]


GOOD = {"list": [1, 1, 2], "position": [1, 2, 1], "item": ["a", "b", "a"], "click": [0, 1, 0]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"click": None}, "has no column 'click'; needed are list, position, item, click; it has list, position, item"),
        ({"item": ["a", None, "a"]}, "row 2: column 'item' is empty"),
        ({"click": [0, 2, 0]}, "row 2: click is 2; expected 0 or 1"),
        ({"click": [0.0, 0.5, 0.0]}, "row 2: click is 0.5; expected 0 or 1"),
        ({"click": ["no", "yes", "no"]}, "row 1: click is 'no'; expected 0 or 1"),
        ({"position": [1, 1, 1]}, "list 1 has a position twice; expected positions 1, 2, ... 2, got 1, 1"),
        ({"position": [1, 3, 1]}, "list 1 has a gap; expected positions 1, 2, ... 2, got 1, 3"),
        ({"position": [0, 1, 1]}, "list 1 has a gap; expected positions 1, 2, ... 2, got 0, 1"),
        ({"position": [1.0, 2.0, 1.0]}, "column 'position' is Float64; expected whole numbers"),
        ({name: [] for name in GOOD}, "has no rows"),
    ],
)
def test_bad_logs_are_refused_in_words(change, said, tmp_path):
    frame = pl.DataFrame({name: values for name, values in (GOOD | change).items() if values is not None})
    for fit in FITS.values():
        with pytest.raises(FileError) as caught:
            fit(frame)
        assert said in str(caught.value)
    frame.write_parquet(tmp_path / "bad.parquet")
    result = CliRunner().invoke(app, ["fit", str(tmp_path / "bad.parquet"), "--model", "cascade"])
    assert result.exit_code == 1
    assert said in " ".join(result.output.split())


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        fit_cascade(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(FileError, match="is not a readable Parquet file"):
        fit_cascade(tmp_path / "text.parquet")
    with pytest.raises(ProblemError, match="got list"):
        fit_cascade([1, 2])
    with pytest.raises(ProblemError, match="prior must be a number"):
        fit_cascade(pl.DataFrame(GOOD), prior=-1)
    with pytest.raises(ProblemError, match="iterations must be"):
        fit_position_based(pl.DataFrame(GOOD), iterations=0)
    with pytest.raises(ProblemError, match="lists holds row 8"):
        draw_log(USERS["cascade"], [[0, 8]])
    with pytest.raises(ProblemError, match="one row for each list"):
        draw_log(USERS["cascade"], [0, 1])
