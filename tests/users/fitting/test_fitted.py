"""Fitted click models: how well they predict, the users they give, and their files."""

import json
import math
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_logs import USERS, check_same, log_of

from rankfall import (
    FileError,
    ProblemError,
    check_environment,
    fit_cascade,
    fit_dynamic_bayesian,
    fit_position_based,
    fit_user_browsing,
)
from rankfall.users.fitting import FITS, Fitted, read_log


@pytest.mark.parametrize(
    ("true", "wrong"),
    [
        ("cascade", "position_based"),
        ("dependent_click", "cascade"),
        ("dependent_click", "position_based"),
        ("position_based", "cascade"),
        ("position_based", "dependent_click"),
        ("user_browsing", "position_based"),
        ("dynamic_bayesian", "simplified_bayesian"),
        ("simplified_bayesian", "dependent_click"),
        ("click_chain", "cascade"),
    ],
)
def test_the_true_model_is_less_perplexed_than_a_wrong_one(true, wrong):
    train, test = read_log(log_of(true, 40_000)).split(0.5, seed=1)
    right, other = (FITS[name](train).perplexity(test) for name in (true, wrong))
    assert 1.0 < right.overall < other.overall < 2.0
    assert right.by_position.shape == (4,)
    assert right.overall == pytest.approx(right.by_position.mean())


def test_perplexity_by_hand():
    """Two items of attraction 1/2 and 1/4 at one position; clicked and not: 2 ** ((1 + log2(4/3)) / 2)."""
    frame = {"list": [1, 2], "position": [1, 1], "item": ["a", "b"], "click": [True, False]}
    fitted = fit_cascade(pl.DataFrame(frame))
    known = type(fitted)(**{**vars(fitted), "attraction": np.array([0.5, 0.25])})
    assert known.perplexity(pl.DataFrame(frame)).overall == pytest.approx(2 ** ((1 + math.log2(4 / 3)) / 2))


def test_unknown_items_are_taken_as_usual_and_counted():
    fitted = fit_cascade(log_of("cascade", 500))
    other = pl.DataFrame({"list": [1, 1], "position": [1, 2], "item": [3, 99], "click": [0, 1]})
    assert fitted.perplexity(other).unknown == 0.5
    with pytest.raises(ProblemError, match="lists of 5 positions"):
        fitted.perplexity(pl.DataFrame({"list": [1] * 5, "position": range(1, 6), "item": range(5), "click": [0] * 5}))
    with pytest.raises(ProblemError, match="items of the log are String, those of the model Int64"):
        fitted.perplexity(pl.DataFrame({"list": [1], "position": [1], "item": ["x"], "click": [0]}))


@pytest.mark.parametrize("name", USERS)
def test_the_fitted_user_is_much_like_the_true_one(name):
    fitted = FITS[name](log_of(name, 20_000))
    ours, true = fitted.user(3), USERS[name]
    check_environment(ours, trials=2000)
    assert type(ours.clicks) is type(true.clicks)
    items = [0, 4, 2]
    assert ours.reward(items) == pytest.approx(true.reward(items), abs=0.03)
    assert ours.best(2).tolist() == true.best(2).tolist()
    assert fitted.user(reward="any").rewarded == "any"
    with pytest.raises(ProblemError, match="k must be a whole number from 1 to 4, got 5"):
        fitted.user(5)


# Files

CHANCE = st.floats(0, 1)
IDS = [
    (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    (pl.UInt8, st.integers(0, 255)),
    (pl.String, st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    (pl.Date, st.dates(date(1900, 1, 1))),
    (pl.Boolean, st.booleans()),
]


@st.composite
def models(draw):
    dtype, ids = draw(st.sampled_from(IDS))
    items = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    positions = draw(st.integers(1, 5))
    numbers = {
        name: np.array(draw(st.lists(values, min_size=n, max_size=n)))
        for name, values, n in (
            ("attraction", CHANCE, len(items)),
            ("views", st.floats(0, 1e300), len(items)),
            ("examination", CHANCE, positions),
            ("termination", CHANCE, positions),
        )
    }
    model = draw(st.sampled_from(list(FITS)))
    more = {"dynamic_bayesian": 1, "simplified_bayesian": 1, "click_chain": 3}.get(model)
    if more is not None:
        numbers["continuation"] = np.array(draw(st.lists(CHANCE, min_size=more, max_size=more)))
    if model.endswith("bayesian"):
        numbers["satisfaction"] = np.array(draw(st.lists(CHANCE, min_size=len(items), max_size=len(items))))
    if model == "user_browsing":
        square = draw(st.lists(CHANCE, min_size=positions**2, max_size=positions**2))
        numbers["examination"] = np.tril(np.array(square).reshape(positions, positions))
    return Fitted(
        model,
        pl.Series("item", items, dtype=dtype),
        **numbers,
        log_likelihood=draw(st.floats(-1e300, 0)),
        lists=draw(st.integers(1, 2**62)),
        iterations=draw(st.integers(0, 10_000)),
        converged=draw(st.booleans()),
        ignored=draw(st.integers(0, 2**40)),
    )


@settings(max_examples=60, deadline=None)
@given(model=models())
def test_a_model_comes_back_from_its_file_bit_for_bit(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.parquet"
        model.write_parquet(path)
        check_same(Fitted.read_parquet(path), model)
        assert pl.read_parquet(path).equals(model.frame())


@pytest.mark.parametrize("name", FITS)
def test_a_fit_comes_back_and_is_the_same_user(name, tmp_path):
    fitted = FITS[name](log_of(name, 500))
    fitted.write_parquet(tmp_path / "model.parquet")
    again = Fitted.read_parquet(str(tmp_path / "model.parquet"))
    check_same(again, fitted)
    assert again.perplexity(log_of(name, 100, seed=1)).overall == fitted.perplexity(log_of(name, 100, seed=1)).overall
    assert again.user(3).reward([4, 0, 2]) == fitted.user(3).reward([4, 0, 2])


def rewritten(path, table=None, **changes):
    """The same file with another table, or other words in its metadata; those that are None are left out."""
    said = json.loads(pl.read_parquet_metadata(path)["rankfall.fitted"]) | changes
    metadata = {"rankfall.fitted": json.dumps({name: value for name, value in said.items() if value is not None})}
    (pl.read_parquet(path) if table is None else table).write_parquet(path, metadata=metadata)


def test_files_that_are_no_model_are_refused_in_words(tmp_path):
    path = tmp_path / "model.parquet"

    def refused(said):
        with pytest.raises(FileError) as caught:
            Fitted.read_parquet(path)
        assert str(path) in str(caught.value)
        assert said in str(caught.value)

    refused("does not exist")
    path.mkdir()
    refused("is not a readable Parquet file")
    path.rmdir()
    path.write_text("no")
    refused("is not a readable Parquet file")
    log_of("cascade", 10).write_parquet(path)
    refused("columns list, position, item, click, and holds no fitted click model; make one from a click log with:")
    fitted = fit_position_based(log_of("position_based", 200))
    table = fitted.frame()
    for change, said in (
        ({"format": 2}, "its format is 2, expected 1"),
        ({"model": "guess"}, "its model is 'guess', expected one of cascade"),
        ({"lists": None}, "'lists'"),
        ({"lists": -3}, "lists must be a whole number from 0 on, got -3"),
        ({"converged": "yes"}, "converged is 'yes'"),
        ({"termination": [0.0]}, "examination and termination do not have the same positions"),
        ({"log_likelihood": "low"}, "log_likelihood must be a number"),
        ({"table": table.drop("value")}, "value"),
        ({"table": table[1:]}, "examination does not go from the top down without a gap"),
        ({"table": table.filter(pl.col("item").is_null())}, "it does not have each item once"),
        ({"table": pl.concat([table, table[-1:]])}, "it does not have each item once"),
        ({"table": table.with_columns(pl.lit(np.nan).alias("value"))}, "holds nan at [0]"),
    ):
        fitted.write_parquet(path)
        rewritten(path, **change)
        refused(said)
        refused("fit it again")
    browsing = fit_user_browsing(log_of("user_browsing", 200))
    bayesian = fit_dynamic_bayesian(log_of("dynamic_bayesian", 200))
    for other, table, said in (
        (browsing, browsing.frame()[1:], "examination does not go from the top down without a gap"),
        (browsing, browsing.frame().drop("last_click"), "last_click"),
        (bayesian, bayesian.frame()[1:], "continuation"),
        (
            bayesian,
            bayesian.frame()[:1].vstack(bayesian.frame()[2:]),
            "satisfaction and attraction are not of the same",
        ),
    ):
        other.write_parquet(path)
        rewritten(path, table)
        refused(said)
    fitted.write_parquet(path)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut] + bytes(len(whole) - cut))
        with pytest.raises(FileError):
            Fitted.read_parquet(path)
