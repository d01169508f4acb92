"""Places that are no store, or cannot be reached: the error says so, without secrets, and nothing is changed."""

import sys
from pathlib import Path

import pytest

from rankfall.errors import FileError, StoreError
from rankfall.stores import (
    open_store,
)

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "address",
    [
        f"mysql://me:{SECRET}@somewhere/db",
        f"postgresql+psycopg://me:{SECRET}@somewhere/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@[::1/db",
        f"postgresql://me:{SECRET}%zz@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1x/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?nonsense=1",
        f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}",
        f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}%zz",
    ],
)
def test_a_place_that_cannot_be_reached_is_named_without_the_password(address: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(address)
    problem: BaseException | None = caught.value
    assert len(str(problem)) > 20
    while problem is not None:
        assert SECRET not in str(problem)
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)


def test_a_wrong_password_is_not_repeated(postgres_url: str) -> None:
    wrong = postgres_url.replace("postgres@", f"nobody:{SECRET}@")
    with pytest.raises(StoreError, match="nobody") as caught:
        open_store(wrong)
    assert SECRET not in str(caught.value)


def test_folders_that_are_no_store(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no store"):
        open_store(tmp_path / "none", make=False)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        open_store(tmp_path / "file")
    with pytest.raises(FileError, match="cannot make the folder"):
        open_store(tmp_path / "file" / "below")
    (tmp_path / "folder" / "rankfall.sqlite").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"cannot open .*rankfall\.sqlite"):
        open_store(tmp_path / "folder")
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "rankfall.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="not a database"):
        open_store(tmp_path / "noise")


def test_a_database_that_is_no_store_stays_as_it_is(postgres_url: str) -> None:
    for _ in range(2):  # the second time as well: nothing was made
        with pytest.raises(StoreError, match="holds no store"):
            open_store(postgres_url, make=False)
    open_store(postgres_url).close()
    open_store(postgres_url, make=False).close()


def test_postgresql_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "rankfall.stores.postgres", raising=False)
    with pytest.raises(StoreError, match=r"pip install 'rankfall\[postgres\]'"):
        open_store(f"postgresql://me:{SECRET}@127.0.0.1:1/db")
