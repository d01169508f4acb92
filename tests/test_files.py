"""Files appear whole or not at all."""

from pathlib import Path

import polars as pl
import pytest

from rankfall.errors import FileError
from rankfall.files import replacing


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_table_on_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    path.write_text("what was there")
    with pytest.raises(FileError, match=r"cannot write .*table\.parquet: .*No space left"), replacing(path):
        pl.DataFrame({"a": [1, 2]}).write_parquet("/dev/full")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("table.parquet", "what was there")]
