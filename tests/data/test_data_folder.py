"""Where downloads are kept and looked for."""

from pathlib import Path

import platformdirs
import pytest
from dataset_files import write_dat

from rankfall.data import data_folder, find
from rankfall.errors import FileError


def test_by_default_the_data_folder_is_the_cache_and_that_of_0_1_0_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKFALL_DATA", raising=False)
    assert data_folder() == platformdirs.user_cache_path("rankfall", appauthor=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name, **_options: tmp_path / "cache" / name)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    write_dat(tmp_path / ".cache" / "rankfall" / "ml-1m", "latin-1")
    assert data_folder() == tmp_path / "cache" / "rankfall"
    assert find("movielens-1m").name == "movielens-1m"
    with pytest.raises(FileError, match=r"movielens-10m is not in .*cache"):
        find("movielens-10m")
    monkeypatch.setenv("RANKFALL_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileError, match=r"movielens-1m is not in .*elsewhere"):
        find("movielens-1m")
