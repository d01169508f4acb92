"""The study of comparisons, small: it writes its table into a page."""

import sys
from pathlib import Path

from click.testing import CliRunner

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import compare_rankers


def test_the_table_goes_into_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- rankers -->\nold\n<!-- end of rankers -->\nafter\n")
    options = ["--rankers", "3", "--steps", "20", "--repeats", "2", "--write", str(page)]
    assert CliRunner().invoke(compare_rankers.main, options).exit_code == 0
    lines = page.read_text().splitlines()
    assert sum(line.startswith("| 3 |") for line in lines) == len(compare_rankers.METHODS) + 1
    assert "old" not in lines
    assert (lines[0], lines[-1]) == ("before", "after")
