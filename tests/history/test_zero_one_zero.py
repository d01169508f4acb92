"""A log that 0.1.0 exported is replayed as 0.1.0 replayed it; see ``tests/fixtures/0.1.0``."""

import json

from zero_one_zero import FOLDER

from rankfall.history.exported import Log
from rankfall.history.replay import replay


def test_a_log_of_0_1_0_is_replayed_to_the_same_bits() -> None:
    log = Log(FOLDER / "log", "own")
    expected = json.loads((FOLDER / "log" / "replay.json").read_text())  # rankfall replay ... --out replay.json
    found = json.loads(json.dumps(replay(log, "CascadeLSB", 0.5).plain()))
    assert found["weights"] == expected["weights"]
    renamed = {"unanswered": "without_feedback", "without_key": "without_owner"}
    assert found["counts"] == {renamed.get(name, name): count for name, count in expected["counts"].items()}


def test_the_catalogs_and_settings_in_a_log_of_0_1_0() -> None:
    log = Log(FOLDER / "log", "shared")
    moments = log.events()["created"]
    assert log.settings(moments[0]).gamma == 1.0
    assert log.settings(moments[-1]).gamma == 0.75
    newest = log.catalog(log.events()["catalog_version"].max())  # type: ignore[arg-type]
    assert newest is not None
    assert list(newest.ids) == json.loads((FOLDER / "sqlite.json").read_text())["catalog"]
