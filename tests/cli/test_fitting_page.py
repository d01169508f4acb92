"""The commands of docs/fitting.md, as they stand there."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from hybrid_logs import CATALOG, EXAMINED, log_of

from rankfall.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "fitting.md"


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log_of(EXAMINED, 3000).write_csv("clicks.csv")
    CATALOG.write_parquet("items.parquet")
    block = re.search(r"^```console\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert block is not None
    said = []
    for line in block[1].splitlines():
        program, *arguments = shlex.split(line)
        assert program == "rankfall"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        said.append(" ".join(result.output.split()))
    assert len(said) == 3
    assert "For diversity: people of this log care" in said[0]
    assert "has the lowest regret: " in said[2]
    for name in ("out/evidence/evidence.html", "best.parquet", "user.parquet", "out/gamma/report.html"):
        assert Path(name).is_file(), name
