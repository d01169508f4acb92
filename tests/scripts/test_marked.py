"""Pages with marks between which a script puts its tables."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # last: names of tests/support come first

from marked import fill


@pytest.mark.parametrize("there", ["", "old\n", "two\nlines\n"])
def test_only_what_is_between_the_marks_changes(there: str) -> None:
    page = "above\n<!-- one -->\n{}<!-- end of one -->\nbelow\n"
    assert fill(page.format(there), {"one": "new", "other": "not there"}) == page.format("new\n")


def test_a_mark_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no <!-- end of one -->"):
        fill("<!-- one -->\nthe rest of the page\n", {"one": "new"})
