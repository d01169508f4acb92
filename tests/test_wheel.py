"""What is in the wheel and the source distribution: an Apache-2.0 wheel has nothing under other terms."""

import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).parents[1]
DATA = "rankfall/data/movielens_small/"


@pytest.fixture
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("in_root")
def test_the_wheel_has_the_package_and_no_data_under_other_terms(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert not [name for name in names if "movielens_small" in name or name.endswith(".parquet")]
    assert {"rankfall/__init__.py", "rankfall/py.typed", "rankfall/service/page/index.html"} <= set(names)
    licenses = [Path(name).name for name in names if "/licenses/" in name]
    assert licenses == ["LICENSE"]
    assert "License-Expression: Apache-2.0\n" in metadata


@pytest.mark.usefixtures("in_root")
def test_the_source_distribution_has_the_data_with_its_terms(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / build_sdist(str(tmp_path))) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    for file in ("ratings.parquet", "items.parquet", "README.txt"):
        assert f"src/{DATA}{file}" in names
