"""A log that a service exported, as a click log, beside the same lists as CSV and Parquet."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from logged import CATALOG, drive, running, same, state_of

from rankfall.cli import app
from rankfall.click_logs import read_click_log
from rankfall.errors import FileError
from rankfall.history.export import export
from rankfall.history.importing import import_clicks
from rankfall.service.commands import CreateModel
from rankfall.users.fitting import FITS, Fitted, read_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of two models, some of whose lists have no feedback, and its lists as ``.csv`` and ``.parquet``."""
    where = tmp_path_factory.mktemp("export")
    with running(str(where / "data"), randomize=0.5) as engine:
        engine.write(CreateModel("other", engine.state.model("default").settings))
        drive(engine, 150)
        drive(engine, 30, seed=1, model="other")
        export(engine.store, where / "out")
    events = pl.read_parquet(where / "out" / "events.parquet").filter(pl.col("result").is_not_null())
    rows = events.select(
        pl.col("event_id").alias("list"),
        pl.col("items").list.len().map_elements(lambda n: list(range(1, n + 1)), pl.List(pl.Int64)).alias("position"),
        pl.col("items").alias("item"),
        "clicked",
        "user",
        "segment",
        pl.col("created").alias("time"),
        "propensity",
        "propensity_given_above",
        "propensity_at_position",
    ).explode("position", "item", "propensity_given_above", "propensity_at_position")
    rows = rows.with_columns(click=pl.col("clicked").list.contains(pl.col("position") - 1).cast(int)).drop("clicked")
    rows.write_parquet(where / "clicks.parquet")
    rows.write_csv(where / "clicks.csv")
    return where


FORMATS = ("clicks.csv", "clicks.parquet", "out/events.parquet")


def test_lists_with_feedback_are_read(folder: Path) -> None:
    events = pl.read_parquet(folder / "out" / "events.parquet")
    answered = events.filter(pl.col("result").is_not_null())
    log = read_click_log(folder / "out")
    assert log.lists == answered.height < events.height
    for one, event in zip(log, answered.iter_rows(named=True), strict=True):
        assert (one.name, one.items, one.clicked) == (event["event_id"], event["items"], sorted(event["clicked"]))
        assert (one.user, one.segment, one.propensity) == (event["user"], event["segment"], event["propensity"])
        assert one.time == pytest.approx(event["created"].timestamp(), abs=1e-6)
    assert answered["propensity"].n_unique() > 1


@pytest.mark.parametrize("name", FORMATS)
def test_chances_of_positions_are_read_from_every_format(folder: Path, name: str) -> None:
    events = pl.read_parquet(folder / "out" / "events.parquet").filter(pl.col("result").is_not_null())
    expected = dict(zip(events["event_id"], events["propensity_given_above"].to_list(), strict=True))
    log = read_click_log(folder / name)
    for one in log:
        assert one.given_above == pytest.approx(expected[one.name])
        assert one.propensity == pytest.approx(float(np.prod(expected[one.name])))
        assert one.at_position is not None
        assert min(one.at_position) >= 0.5 / len(CATALOG) * (1 - 1e-9)  # half of the lists are drawn from all items
    part = log.take(np.array([3, 1])).to_first_click()
    shown = [one.given_above or [] for one in log]
    cut = [*shown[3][: part.start[1]], *shown[1][: np.diff(part.start)[1]]]
    assert part.given_above is not None
    assert part.given_above.tolist() == cut


def of_chances(whole: list[float | None], given: list[float | None]) -> pl.DataFrame:
    """One list."""
    k = len(given)
    rows = {"list": ["a"] * k, "position": range(1, k + 1), "item": range(k), "click": [0] * k}
    return pl.DataFrame({**rows, "propensity": whole * k, "propensity_given_above": given})


@pytest.mark.parametrize(
    ("whole", "given"),
    [
        (1 / 120, [1 / 6, 1 / 5, 1 / 4]),
        (0.0083, [0.167, 0.2, 0.25]),
        (0.00003, [0.1, 0.11, 0.12, 0.14, 0.17]),  # 1/30240, to five decimals
        (0.01, [0.17, 0.2, 0.25]),
        (1 / 900, [0.03, 0.03]),  # to two decimals; 0.0009 is 19 % less
        (3.1e-05, [1 / 10, 1 / 9, 1 / 8, 1 / 7, 1 / 6]),  # 3.3e-05
        (1e-300, [0.001] * 100),
        (5e-324, [0.001] * 150),  # whose product is 0 in double precision
        (5e-324, [0.001] * 108),
        (None, [0.5, 0.5]),
        (0.2, [0.5, None]),
        (1.0, [1.0, 1.0]),
    ],
)
def test_a_propensity_may_be_rounded(whole: float | None, given: list[float | None]) -> None:
    assert next(iter(read_click_log(of_chances([whole], given)))).propensity == whole


@pytest.mark.parametrize(
    ("whole", "given", "product"),
    [
        (1 / 6, [1 / 6, 1 / 5], "0.0333333"),  # the chance of the top alone
        (0.5, [0.5, 0.5], "0.25"),
        (1.0, [0.5, 0.5], "0.25"),
        (0.0083, [0.167, 0.2, 0.5], "0.0167"),
        (1e-200, [0.001] * 100, "1e-300"),
        (0.5, [0.001] * 150, "0"),
    ],
)
def test_a_propensity_that_is_not_the_product_of_its_chances_is_refused(
    whole: float, given: list[float | None], product: str
) -> None:
    words = f"row 1: propensity of list 'a' is {whole:g}, and the product of its propensity_given_above {product}; exp"
    with pytest.raises(FileError, match=re.escape(words)):
        read_click_log(of_chances([whole], given))


def test_chances_of_single_rows_must_be_probabilities() -> None:
    rows = {"list": [1, 1], "position": [1, 2], "item": [1, 2], "click": [0, 1]}
    with pytest.raises(FileError, match=r"row 2: propensity_given_above is 1\.5; expected a probability"):
        read_click_log(pl.DataFrame({**rows, "propensity_given_above": [0.5, 1.5]}))
    contradiction = pl.DataFrame({**rows, "propensity_given_above": [0.5, 0.5], "propensity_at_position": [0.6, 0.5]})
    with pytest.raises(FileError, match=r"row 1: at position 1 of list .* is 0\.5 and propensity_at_position 0\.6; no"):
        read_click_log(contradiction)
    some = read_click_log(pl.DataFrame({**rows, "propensity_given_above": [0.5, None]}))
    assert next(iter(some)).given_above is None


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_log_is_fitted_alike(folder: Path, tmp_path: Path, name: str) -> None:
    expected = read_log(folder / "out")
    for model, fit in FITS.items():
        one, other = fit(folder / name, prior=1.0), fit(expected, prior=1.0)
        assert one.attraction.tobytes() == other.attraction.tobytes()
        assert one.log_likelihood == other.log_likelihood
        files = [tmp_path / f"{model}{n}" for n in range(2)]
        for path, log in zip(files, (folder / name, folder / "out"), strict=True):
            result = CliRunner().invoke(app, ["fit", str(log), "--model", model, "--out", str(path)])
            assert result.exit_code == 0, result.output
        assert Fitted.read_parquet(files[0]).frame().equals(Fitted.read_parquet(files[1]).frame())


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_log_teaches_the_same(folder: Path, tmp_path: Path, name: str) -> None:
    states = []
    for n, log in enumerate((folder / name, folder / "out")):
        with running(str(tmp_path / str(n))) as engine:
            done = import_clicks(engine, "default", read_click_log(log, whole_ids=True))
            assert done.lists == read_log(folder / "out").lists
            states.append(state_of(engine))
            export(engine.store, tmp_path / f"out{n}")
    assert same(*states)
    kept = ("event_id", "user", "segment", "created", "propensity", "items", "clicked")
    one, other = (pl.read_parquet(tmp_path / f"out{n}" / "events.parquet").select(kept) for n in range(2))
    assert one.equals(other)
    assert one["propensity"].null_count() == 0


def test_lists_of_one_model_are_read_if_asked(folder: Path) -> None:
    one, other, both = (read_click_log(folder / "out", model=name).lists for name in ("default", "other", None))
    assert one + other == both
    with pytest.raises(FileError, match="has no list of model 'mine'; there are lists of: default, other"):
        read_click_log(folder / "out", model="mine")


def test_an_export_is_taken_as_it_is(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is an export of rankfall, whose columns are known; leave out --column"):
        read_click_log(folder / "out", columns={"item": "items"})
    assert isinstance(CATALOG.ids[0], int)
    with pytest.raises(FileError, match="items are whole numbers; expected text, as ids of the catalog are"):
        read_click_log(folder / "out", whole_ids=False)
    with running(str(tmp_path / "data")) as engine:
        export(engine.store, tmp_path / "out")
    with pytest.raises(FileError, match="has no list with feedback"):
        read_click_log(tmp_path / "out")
