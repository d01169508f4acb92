"""``rankfall fit``."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from simulated_logs import USERS, check_same, log_of

from rankfall.cli import app
from rankfall.users.fitting import FITS, Fitted, read_log


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
