"""`rankfall export` reads a store and needs no more than that: no right to write, no disk that can be written."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl
import psycopg
import pytest
from click.testing import CliRunner
from logged import drive, running
from needs import missing, small_disk
from zero_one_zero import unpack_store

from rankfall.cli import app
from rankfall.errors import OldStoreError, StoreError
from rankfall.stores import open_store

FILES = ("events.parquet", "decisions.parquet", "catalog.parquet")


def exported(out: Path, *where: str) -> list[pl.DataFrame]:
    done = CliRunner().invoke(app, ["export", *where, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return [pl.read_parquet(out / name) for name in FILES]


def same(one: list[pl.DataFrame], other: list[pl.DataFrame]) -> bool:
    return all(a.equals(b) for a, b in zip(one, other, strict=True))


@contextmanager
def unwritable(disk: Path) -> Iterator[None]:
    done = subprocess.run(["mount", "-o", "remount,ro", str(disk)], capture_output=True, text=True)
    if done.returncode:
        missing(f"a disk cannot be made read-only here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_a_disk_that_can_only_be_read(tmp_path: Path, killed: bool) -> None:
    with small_disk(tmp_path / "disk", megabytes=16) as disk:
        folder = disk / "data"
        with running(str(tmp_path / "data")) as engine:
            drive(engine, 20)
            expected = exported(tmp_path / "expected", "--data", str(tmp_path / "data"))
            if killed:  # as a server that is killed leaves it: much of it is in the WAL only
                shutil.copytree(tmp_path / "data", folder)
                assert (folder / "rankfall.sqlite-wal").stat().st_size
        if not killed:
            shutil.copytree(tmp_path / "data", folder)
            assert not (folder / "rankfall.sqlite-wal").exists()
        with unwritable(disk):
            assert same(exported(tmp_path / "out", "--data", str(folder)), expected)
            with (
                closing(open_store(folder, read_only=True)) as store,
                pytest.raises(StoreError),
                store.transaction() as tx,
            ):
                tx.note("x", "y")
            if not killed:
                with pytest.raises(StoreError, match="; file and folder must be writable"):
                    open_store(folder)
        assert expected[0].height == 20


def test_a_role_that_may_only_read(postgres_url: str, tmp_path: Path) -> None:
    with running(postgres_url) as engine:
        drive(engine, 20)
        expected = exported(tmp_path / "expected", "--store", postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    try:
        owner = postgres_url.partition("://")[2].partition("@")[0]
        reader = postgres_url.replace(f"://{owner}@", "://reader@")
        assert same(exported(tmp_path / "out", "--store", reader), expected)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


def test_what_is_opened_to_be_read_cannot_be_written(place: str) -> None:
    with running(place):
        pass
    with closing(open_store(place, read_only=True)) as store:
        assert store.decisions()
        with pytest.raises(StoreError, match=r"read-?only"), store.transaction() as tx:
            tx.note("x", "y")


def test_a_store_of_an_older_version_is_brought_up_to_date_first(place: str, tmp_path: Path) -> None:
    unpack_store(place)
    with pytest.raises(OldStoreError):
        open_store(place, read_only=True)
    where = ["--store", place] if "://" in place else ["--data", place]
    assert exported(tmp_path / "out", *where)[0].height
    open_store(place, read_only=True).close()


def test_nothing_is_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", "--data", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "holds no store" in done.output
    assert not (tmp_path / "none").exists()
