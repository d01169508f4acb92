"""Click models from logs: logs of known users give them back, and bad logs are told so."""

import itertools
import json
import math
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import (
    Cascade,
    DependentClick,
    FileError,
    PerItem,
    PositionBased,
    ProblemError,
    User,
    check_environment,
    fit_cascade,
    fit_dependent_click,
    fit_position_based,
)
from rankfall.cli import app
from rankfall.kernels import clicklogs
from rankfall.users.fitting import FITS, Fitted, draw_log, read_log

ALPHA = np.array([0.5, 0.05, 0.3, 0.15, 0.4, 0.1, 0.25, 0.2])
USERS = {
    "cascade": User(PerItem(ALPHA), Cascade()),
    "dependent_click": User(PerItem(ALPHA), DependentClick([0.7, 0.5, 0.4, 0.3])),
    "position_based": User(PerItem(ALPHA), PositionBased([1.0, 0.7, 0.4, 0.2])),
}


def lists(count, seed):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(8), (count, 1)), axis=1)[:, :4]


def log_of(name, count=4000, seed=0):
    return draw_log(USERS[name], lists(count, seed), seed=seed + 1000)


# --- the log that a user leaves -----------------------------------------------------------------------------------


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


# --- likelihood ---------------------------------------------------------------------------------------------------


def chance(clicks, p, v):
    """Probability of these clicks in one list, by summing over after which click the user left, if any."""
    total = 0.0
    at = [i for i, c in enumerate(clicks) if c]
    for left in [*at, None]:
        if left is not None and any(i > left for i in at):
            continue
        seen = range(len(p)) if left is None else range(left + 1)
        one = math.prod(p[i] if clicks[i] else 1 - p[i] for i in seen)
        one *= math.prod(1 - v[i] for i in at if i != left) * (1.0 if left is None else v[left])
        total += one
    return total


@pytest.mark.parametrize("name", USERS)
def test_likelihood_and_click_probabilities_are_those_of_all_outcomes(name):
    e, v = (np.array(part) for part in USERS[name].clicks.chain(4))
    items = np.array([2, 0, 5, 7], dtype=np.int32)
    start = np.array([0, 4])
    outcomes = list(itertools.product([False, True], repeat=4))
    each = [chance(clicks, e * ALPHA[items], v) for clicks in outcomes]
    assert sum(each) == pytest.approx(1.0)
    for clicks, expected in zip(outcomes, each, strict=True):
        if expected > 0:
            ours = clicklogs.log_likelihood(start, items, np.array(clicks), ALPHA, e, v, 1e-300)
            assert ours == pytest.approx(math.log(expected), abs=1e-12)
    out = np.empty(4)
    clicklogs.probabilities(start, items, ALPHA, e, v, out)
    np.testing.assert_allclose(out, np.array(each) @ np.array(outcomes, dtype=float), rtol=1e-12)


@pytest.mark.parametrize("name", USERS)
def test_no_other_parameters_are_more_likely(name):
    log = read_log(log_of(name, 3000))
    fitted = FITS[name](log)
    e, v = fitted.examination, fitted.termination

    def likelihood(alpha, e, v):
        return clicklogs.log_likelihood(log.start, log.item, log.click, alpha, e, v, 1e-300)

    most = likelihood(fitted.attraction, e, v)
    assert fitted.log_likelihood == pytest.approx(most, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (0.1, 0.01, 0.001):
        for _ in range(40):
            alpha = np.clip(fitted.attraction * np.exp(size * rng.normal(size=8)), 0, 1)
            other_v = np.clip(v * np.exp(size * rng.normal(size=4)), 0, 1) if name == "dependent_click" else v
            other_e = np.clip(e * np.exp(size * rng.normal(size=4)), 0, 1) if name == "position_based" else e
            assert likelihood(alpha, other_e, other_v) <= most + 1e-3
    assert most >= likelihood(ALPHA, *(np.array(part) for part in USERS[name].clicks.chain(4)))


# --- parameters come back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", USERS)
def test_parameters_of_simulated_logs_are_recovered(name):
    """The mean over twelve logs is within 4.5 standard errors of the truth, and single fits are close to it."""
    fits = [FITS[name](log_of(name, 10_000, seed)) for seed in range(12)]
    assert all(fitted.converged for fitted in fits)
    truth = {"attraction": ALPHA}
    if name == "dependent_click":
        truth["termination"] = np.array([0.7, 0.5, 0.4])  # that of the last position is never seen
    if name == "position_based":
        truth["examination"] = np.array([1.0, 0.7, 0.4, 0.2])
    for parameter, true in truth.items():
        found = np.array([getattr(fitted, parameter)[: len(true)] for fitted in fits])
        spread = found.std(axis=0, ddof=1)
        assert (abs(found.mean(axis=0) - true) <= 4.5 * spread / math.sqrt(12) + 1e-12).all(), parameter
        assert spread.max() < 0.05


def test_the_cascade_in_closed_form_by_hand():
    rows = [  # a is looked at three times and clicked once; b twice and once; c once, below no click
        ("x", 1, "a", 1), ("x", 2, "b", 1), ("x", 3, "c", 0),
        ("y", 1, "b", 1), ("y", 2, "a", 0),
        ("z", 1, "a", 0), ("z", 2, "b", 0), ("z", 3, "c", 0),
    ]  # fmt: skip
    fitted = fit_cascade(pl.DataFrame(rows, schema=["list", "position", "item", "click"], orient="row"))
    assert fitted.items.to_list() == ["a", "b", "c"]
    assert fitted.attraction.tolist() == [1 / 2, 1 / 2, 0.0]
    assert fitted.views.tolist() == [2, 2, 1]
    assert fitted.ignored == 1
    assert fitted.log_likelihood == pytest.approx(4 * math.log(1 / 2))
    smoothed = fit_cascade(pl.DataFrame(rows, schema=["list", "position", "item", "click"], orient="row"), prior=1.0)
    assert smoothed.attraction.tolist() == pytest.approx([1.4 / 3, 1.4 / 3, 0.4 / 2])


def test_taking_the_last_click_for_the_end_overstates_termination():
    """What EM adds to the closed form of Guo et al.: it knows that silence below may be dull items."""
    log = log_of("dependent_click", 20_000)
    closed = fit_dependent_click(log, iterations=1, tolerance=1e9)
    exact = fit_dependent_click(log)
    shares = log.filter("click").with_columns(last=pl.col("position") == pl.col("position").max().over("list"))
    top = shares.filter(pl.col("position") == 1)["last"].mean()
    assert top > exact.termination[0] + 0.05
    assert exact.log_likelihood > closed.log_likelihood
    assert exact.termination[3] == exact.termination[2]


def test_logs_without_any_click_and_with_nothing_but_clicks():
    for click in (0, 1):
        frame = pl.DataFrame(
            {"list": [1, 1, 2, 2], "position": [1, 2, 1, 2], "item": [5, 6, 6, 5], "click": [click] * 4}
        )
        for name, fit in FITS.items():
            fitted = fit(frame)
            assert np.isfinite(fitted.attraction).all(), name
            assert ((fitted.attraction >= 0) & (fitted.attraction <= 1)).all()
            assert np.isfinite(fitted.perplexity(frame).overall)
            if name != "cascade" or not click:
                assert fitted.log_likelihood == pytest.approx(0.0, abs=1e-6)


# --- perplexity ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("true", "wrong"),
    [
        ("cascade", "position_based"),
        ("dependent_click", "cascade"),
        ("dependent_click", "position_based"),
        ("position_based", "cascade"),
        ("position_based", "dependent_click"),
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


# --- a user to simulate with --------------------------------------------------------------------------------------


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


# --- files --------------------------------------------------------------------------------------------------------

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
    return Fitted(
        draw(st.sampled_from(list(FITS))),
        pl.Series("item", items, dtype=dtype),
        **numbers,
        log_likelihood=draw(st.floats(-1e300, 0)),
        lists=draw(st.integers(1, 2**62)),
        iterations=draw(st.integers(0, 10_000)),
        converged=draw(st.booleans()),
        ignored=draw(st.integers(0, 2**40)),
    )


def check_same(one, other):
    assert one.items.dtype == other.items.dtype
    assert one.items.equals(other.items, check_names=True)
    for name in ("attraction", "views", "examination", "termination"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for name in ("model", "log_likelihood", "lists", "iterations", "converged", "ignored"):
        assert repr(getattr(one, name)) == repr(getattr(other, name)), name


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
    fitted.write_parquet(path)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut] + bytes(len(whole) - cut))
        with pytest.raises(FileError):
            Fitted.read_parquet(path)


# --- logs ---------------------------------------------------------------------------------------------------------


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


def test_a_split_leaves_lists_whole():
    log = read_log(log_of("cascade", 1000))
    train, test = log.split(0.2, seed=4)
    assert (train.lists, test.lists) == (800, 200)
    assert train.click.sum() + test.click.sum() == log.click.sum()
    assert test.split(0.5)[0].positions == 4
    with pytest.raises(ProblemError, match="of 1000 lists that leaves one part without any"):
        log.split(0.0)


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


# --- the command --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", USERS)
def test_the_command_says_how_well_it_fits_and_writes_the_parameters(name, tmp_path: Path):
    log_of(name, 2000).write_parquet(tmp_path / "clicks.parquet")
    out = tmp_path / "params.parquet"
    arguments = ["fit", str(tmp_path / "clicks.parquet"), "--model", name, "--held-out", "0.25", "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert f"{name}, fitted on 1,500 lists" in result.output
    assert "perplexity on 500 other lists" in result.output
    written = pl.read_parquet(out)
    assert written.columns == ["parameter", "item", "position", "value", "views"]
    train, _ = read_log(tmp_path / "clicks.parquet").split(0.25)
    fitted = FITS[name](train)
    attraction = written.filter(pl.col("parameter") == "attraction")
    assert attraction["item"].to_list() == list(range(8))
    assert attraction["value"].to_numpy() == pytest.approx(fitted.attraction)
    check_same(Fitted.read_parquet(out), fitted)
    by_position = written.filter(pl.col("position").is_not_null())
    assert by_position.height == (0 if name == "cascade" else 4)


def test_the_command_without_held_out_lists(tmp_path: Path):
    log_of("cascade", 200).write_parquet(tmp_path / "clicks.parquet")
    result = CliRunner().invoke(app, ["fit", str(tmp_path / "clicks.parquet"), "--model", "cascade", "--held-out", "0"])
    assert result.exit_code == 0, result.output
    assert "perplexity" not in result.output
