"""``rankfall fit``."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hybrid_logs import CATALOG, EXAMINED, with_people
from hybrid_logs import log_of as hybrid_log_of
from simulated_logs import USERS, check_same, log_of

from rankfall.cli import app
from rankfall.users.fitting import FITS, Fitted, FittedHybrid, read_fitted, read_log


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
    browsing = name == "user_browsing"
    assert written.columns == ["parameter", "item", "position", *["last_click"] * browsing, "value", "views"]
    train, _ = read_log(tmp_path / "clicks.parquet").split(0.25)
    fitted = FITS[name](train)
    attraction = written.filter(pl.col("parameter") == "attraction")
    assert attraction["item"].to_list() == list(range(8))
    assert attraction["value"].to_numpy() == pytest.approx(fitted.attraction)
    check_same(Fitted.read_parquet(out), fitted)
    by_position = written.filter(pl.col("position").is_not_null())
    plain = name in ("cascade", "dynamic_bayesian", "simplified_bayesian", "click_chain")
    assert by_position.height == (0 if plain else 10 if browsing else 4)


def test_the_command_without_held_out_lists(tmp_path: Path):
    log_of("cascade", 200).write_parquet(tmp_path / "clicks.parquet")
    result = CliRunner().invoke(app, ["fit", str(tmp_path / "clicks.parquet"), "--model", "cascade", "--held-out", "0"])
    assert result.exit_code == 0, result.output
    assert "perplexity" not in result.output


def written(folder: Path, log: pl.DataFrame, catalog: object = CATALOG) -> list[str]:
    log.write_csv(folder / "clicks.csv")
    catalog.write_parquet(folder / "items.parquet")  # type: ignore[attr-defined]
    return ["fit", str(folder / "clicks.csv"), "--catalog", str(folder / "items.parquet")]


def test_all_models_are_compared_and_the_best_is_written(tmp_path: Path):
    arguments = [*written(tmp_path, hybrid_log_of(EXAMINED, 4000)), "--ridge", "10", "--prior", "3"]
    report, out = tmp_path / "page", tmp_path / "best.parquet"
    result = CliRunner().invoke(app, [*arguments, "--report", str(report), "--out", str(out)])
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "Fitted on 3,200 lists, judged by the first click of 800 others" in said
    assert "For diversity: people of this log care about" in said
    assert (report / "evidence.html").is_file()
    best = read_fitted(out)
    assert isinstance(best, FittedHybrid)
    assert (best.attraction, best.model) == ("hybrid", "examined_cascade")
    wide = CliRunner(env={"COLUMNS": "200"})
    without = wide.invoke(app, ["fit", str(tmp_path / "clicks.csv"), "--reference", "item, cascade"])
    assert without.exit_code == 0, without.output
    assert "more than item, cascade" in without.output


def test_a_user_with_features_is_fitted_by_name(tmp_path: Path):
    log = with_people({"a": hybrid_log_of(EXAMINED, 300), "b": hybrid_log_of(EXAMINED, 300, 1)})
    arguments = written(tmp_path, log)
    out = tmp_path / "user.parquet"
    how = ["--model", "cascade", "--attraction", "hybrid", "--by", "user", "--ridge", "5", "--out", str(out)]
    result = CliRunner().invoke(app, [*arguments, *how])
    assert result.exit_code == 0, result.output
    assert "hybrid, cascade, fitted on 480 lists" in result.output
    assert "weight of topic 3" in result.output
    assert "weight of feature 0" in result.output
    fitted = read_fitted(out)
    assert isinstance(fitted, FittedHybrid)
    assert fitted.people == ("a", "b")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--attraction", "hybrid"], "--attraction says what to fit with --model"),
        (["--model", "dependent_click", "--attraction", "hybrid", "--catalog", "x"], "is fitted by item only"),
        (["--model", "ubm", "--attraction", "hybrid", "--catalog", "x"], "user_browsing is fitted by item only"),
        (["--model", "cascade", "--attraction", "hybrid"], "--attraction hybrid needs --catalog"),
        (["--model", "cascade", "--catalog", "x"], "--catalog is not used for attraction by item"),
        (["--by", "user"], "--by needs --catalog"),
        (["--held-out", "0"], "a comparison needs lists to judge by"),
        (["--model", "cascade", "--report", "x"], "--report is for a comparison"),
        (["--model", "cascade", "--reference", "constant"], "--reference is for a comparison"),
        (
            ["--model", "cascade", "--ridge", "5"],
            "--ridge is for weights of features and topics; give --attraction and",
        ),
        (["--ridge", "5"], "--ridge is for weights of features and topics; give --catalog"),
        (
            ["--model", "cascade", "--attraction", "features", "--catalog", "x", "--prior", "0"],
            "--prior is for attraction by item; leave it out, or give --ridge",
        ),
    ],
)
def test_options_that_make_no_sense_together_are_refused(options: list[str], said: str):
    result = CliRunner().invoke(app, ["fit", "clicks.csv", *options])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
