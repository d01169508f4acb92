"""What a benchmark has measured goes between the marks of a page, and nothing else changes."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # last: names of tests/support come first

import performance_tables
from marked import fill

ROOT = Path(__file__).parents[2]
FOUND: dict[str, Any] = {
    "speed": [
        {"data": data, "policy": name, "steps": steps, "numpy": 800.0, "ours": 10.0, "scored": 12.0, "ratio": 80.0}
        for data in ("ml-1m", "sparse")
        for name in ("CascadeHybrid", "CascadeLSB")
        for steps in (100, 1_000)
    ],
    "rank": [
        {"items": items, "asked": asked, "numpy": 5.0, "ours": 0.05, "slowest": 0.1, "ratio": 100.0}
        for items in (1_000, 100_000)
        for asked in ("again", "500 candidates")
    ],
    "thompson": [{"policy": "CascadeLinTS", "steps": 1_000, "bounds": 2.0, "ours": 3.0, "ratio": 1.5}],
    "cores": [{"workers": 2, "ratio": 1.9}],
    "growth": [
        {"policy": "CascadeHybrid", "varied": "items", "value": 1_000, "model": model, "steps": 100, "ours": 7.0}
        for model in ("new", "learned")
    ],
    "grid": [{"steps": 8_500_000_000, "seconds": 36_000.0, "workers": 2}],
}
PARTS = {name: make(FOUND) for name, make in performance_tables.PARTS.items()}


@pytest.mark.parametrize("name", list(PARTS))
def test_a_part_is_filled_and_can_be_filled_again(name: str) -> None:
    page = f"before\n<!-- {name} -->\nold\n<!-- end of {name} -->\nafter\n"
    filled = fill(page, PARTS)
    assert filled.startswith(f"before\n<!-- {name} -->\n")
    assert filled.endswith(f"\n<!-- end of {name} -->\nafter\n")
    assert "old" not in filled
    assert fill(filled, PARTS) == filled


def test_data_that_is_sparse_has_a_table_of_its_own() -> None:
    dense, sparse = PARTS["bench: speed"], PARTS["bench: sparse"]
    assert "| CascadeHybrid | 800 µs | 10.0 µs, **80x** | 10.0 µs, **80x** |" in dense
    assert ("ml-1m" in dense, "sparse" in dense) == (True, False)
    assert ("ml-1m" in sparse, "sparse" in sparse) == (False, True)


def test_every_mark_of_the_pages_is_known() -> None:
    text = "".join((ROOT / page).read_text() for page in ("docs/performance.md", "README.md"))
    assert set(re.findall(r"<!-- (bench: .*?) -->", text)) == set(PARTS)
