"""Click logs that are no export can be replayed too, with a catalog; what they do not say is said."""

import json
from itertools import permutations
from pathlib import Path
from shutil import copytree

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from logged import CATALOG, clicks, running, same, state_of

from rankfall.cli import app
from rankfall.click_logs import read_click_log
from rankfall.click_logs.exports import EVENTS, MARK
from rankfall.errors import FileError
from rankfall.history.export import export
from rankfall.history.importing import import_clicks
from rankfall.history.judged_lists import moment_after
from rankfall.history.replay import replay
from rankfall.history.replayable import ClickLogToReplay, open_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A click log as CSV and Parquet, and the export of a service that learned from it."""
    where = tmp_path_factory.mktemp("logs")
    times = np.repeat(np.random.default_rng(2).permutation(200), 5) + 1_700_000_000
    users = np.repeat([f"u{n % 3}" for n in range(200)], 5)
    clicks(where / "clicks.csv", 200, time=times, user=users)
    clicks(where / "clicks.parquet", 200, time=times, user=users)
    CATALOG.write_parquet(where / "items.parquet")
    with running(str(where / "data")) as engine:
        import_clicks(engine, "default", read_click_log(where / "clicks.csv"))
        export(engine.store, where / "out")
    return where


@pytest.mark.parametrize("policy", ["CascadeHybrid", "CascadeLinUCB", "CascadeKLUCB"])
@pytest.mark.parametrize("name", ["clicks.csv", "clicks.parquet"])
def test_a_click_log_teaches_what_its_import_and_export_do(folder: Path, name: str, policy: str) -> None:
    plain = open_log(folder / name, catalog=folder / "items.parquet", columns={})
    exported = open_log(folder / "out", columns={})
    for scope in ("global", "user"):
        one, other = (replay(log, policy, 1.0, scope) for log in (plain, exported))
        assert one.policies.keys() == other.policies.keys()
        assert all(same(one.policies[owner].state(), other.policies[owner].state()) for owner in one.policies)
        assert one.counts.learned == other.counts.learned == one.counts.ranked == 200
    assert exported.notes == ()
    assert len(plain.notes) == 2


@pytest.mark.parametrize("arm", ["imported", "baseline"])
def test_imported_lists_were_learned_when_they_were_shown(folder: Path, tmp_path: Path, arm: str) -> None:
    """Versions before had no arm for them."""
    out = copytree(folder / "out", tmp_path / "out")
    lists, said = (read(out / EVENTS) for read in (pl.read_parquet, pl.read_parquet_metadata))
    lists.with_columns(arm=pl.lit(arm)).write_parquet(out / EVENTS, metadata={MARK: said[MARK]})
    plain = open_log(folder / "clicks.csv", catalog=folder / "items.parquet", columns={})
    exported = open_log(out, columns={})
    one, other = (replay(log, "CascadeLinUCB", 1.0) for log in (plain, exported))
    assert one.counts == other.counts
    assert 0 < one.counts.same_top < 200
    one, other = (replay(log, "CascadeLinUCB", 1.0, until=moment_after(log, 0.25)) for log in (plain, exported))
    assert one.counts == other.counts
    assert one.counts.learned == 50
    assert same(one.policies[""].state(), other.policies[""].state())


def test_the_state_is_that_of_a_service_with_the_same_catalog(folder: Path, tmp_path: Path) -> None:
    found = replay(open_log(folder / "clicks.csv", catalog=folder / "items.parquet", columns={}), "CascadeHybrid", 1.0)
    with running(str(tmp_path / "data")) as engine:
        import_clicks(engine, "default", read_click_log(folder / "clicks.csv"))
        assert same(found.policies[""].state(), state_of(engine))


def test_propensities_of_a_click_log_give_an_estimate() -> None:
    """Lists of 2 out of 3 items, each as likely as any other."""
    rng = np.random.default_rng(0)
    every = list(permutations(CATALOG.ids[:3], 2))
    shown = [every[n] for n in rng.integers(6, size=120)]
    rows = pl.DataFrame(
        {
            "list": np.repeat(np.arange(120), 2),
            "position": [1, 2] * 120,
            "item": np.array(shown).ravel(),
            "click": rng.integers(2, size=240),
            "propensity": [1 / 6] * 240,
        }
    )
    catalog = CATALOG.withdraw(CATALOG.ids[3:])
    found = replay(ClickLogToReplay("mine", read_click_log(rows), catalog), "CascadeLinUCB", 0.0)
    assert found.estimate is not None
    assert found.estimate.lists == 120
    assert found.counts.same_list == found.estimate.matched > 0
    given = rows.drop("propensity").with_columns(propensity_given_above=pl.Series([1 / 3, 1 / 2] * 120))
    of_each = replay(ClickLogToReplay("mine", read_click_log(given), catalog), "CascadeLinUCB", 0.0)
    assert (of_each.counts, of_each.estimate) == (found.counts, found.estimate)
    without = replay(ClickLogToReplay("mine", read_click_log(rows.drop("propensity")), catalog), "CascadeLinUCB", 0.0)
    assert without.estimate is None
    assert '"propensity"' in (without.why or "")


def test_lists_whose_items_are_not_in_the_catalog_are_counted(folder: Path) -> None:
    log = read_click_log(folder / "clicks.csv")
    found = replay(ClickLogToReplay("mine", log, CATALOG.withdraw(CATALOG.ids[:1])), "CascadeHybrid", 1.0)
    missing = sum(CATALOG.ids[0] in one.items for one in log)
    assert found.counts.without_catalog == missing > 0
    assert found.counts.learned == 200 - missing


def test_the_command_says_what_a_click_log_cannot_tell(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    arguments = ["replay", folder / "clicks.csv", "--policy", "CascadeLSB", "--catalog", folder / "items.parquet"]
    result = CliRunner().invoke(app, [str(one) for one in (*arguments, "--out", out)])
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "on the log of 'clicks.csv'" in said
    assert "Note: Features come from the catalog given" in said
    assert "the policy chose from the whole catalog" in said
    assert "No estimate" in said
    assert len(json.loads(out.read_text())["notes"]) == 2
    no_times = pl.read_csv(folder / "clicks.csv").drop("time").rename({"item": "product"})
    no_times.write_csv(tmp_path / "other.csv")
    arguments[1] = tmp_path / "other.csv"
    result = CliRunner().invoke(app, [str(one) for one in (*arguments, "--column", "item=product")])
    assert "replayed in the order of the file" in " ".join(result.output.split())


def test_what_is_missing_is_said(folder: Path) -> None:
    with pytest.raises(FileError, match=r"does not hold the features of the items; give them with --catalog items\.p"):
        open_log(folder / "clicks.csv", columns={})
    with pytest.raises(FileError, match="is an export, which has its own catalog; leave out --catalog and --column"):
        open_log(folder / "out", catalog=folder / "items.parquet", columns={})
    with pytest.raises(FileError, match="does not exist; give a folder that rankfall export wrote, or a click log"):
        open_log(folder / "nowhere", columns={})
    assert open_log(folder / "out" / "events.parquet", columns={}).height == 200
