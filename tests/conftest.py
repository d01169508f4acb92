import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "support"))  # so that tests can import `specification`

from needs import missing

if TYPE_CHECKING:
    from postgres import Cluster

collect_ignore = ["fixtures"]  # scripts there run with the version that wrote the files beside them
pytest.register_assert_rewrite("callers", "histories", "served", "soaking")

# Neither a deadline nor a check of speed: the first example may compile a kernel, and the machine may be busy.
# Derandomized: the same examples on every machine.
settings.register_profile(
    "rankfall", deadline=None, derandomize=True, print_blob=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rankfall")


@pytest.fixture(scope="session")
def postgres() -> Iterator["Cluster"]:
    """A PostgreSQL cluster of the tests' own."""
    from postgres import cluster, find_programs

    programs = find_programs()
    if programs is None:
        missing("PostgreSQL is not installed: no initdb in /usr/lib/postgresql/*/bin or PATH")
    with cluster(programs) as made:
        yield made


@pytest.fixture
def postgres_url(postgres: "Cluster") -> Iterator[str]:
    """The address of a new, empty database."""
    url = postgres.fresh()
    yield url
    if not postgres.running:
        postgres.start()
    postgres.drop(url)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores opened from now on wait for each other as long as it takes: many may write on a slow disk."""
    from waiting import PATIENCE

    from rankfall.stores import sqlite

    monkeypatch.setattr("rankfall.service.writer.PATIENCE", PATIENCE)
    monkeypatch.setattr("rankfall.stores.postgres.TIMEOUTS", {})
    monkeypatch.setattr(sqlite, "_SETTINGS", (*sqlite._SETTINGS, f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}"))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be: a folder, and the address of a new database."""
    return str(tmp_path / "data") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def small_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with twelve items, with titles and topics."""
    import numpy as np

    from rankfall import Catalog

    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("catalog") / "catalog.parquet"
    Catalog(
        np.round(rng.random((12, 4)) * (rng.random((12, 4)) < 0.6), 3),
        np.round(rng.random((12, 3)), 3),
        ids=[f"item-{i}" for i in range(12)],
        titles=[f"Title {i}" for i in range(12)],
        topics=["comedy", "drama", "horror", "science fiction"],
    ).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def service_url(tmp_path_factory: pytest.TempPathFactory, small_catalog: Path) -> Iterator[str]:
    """The address of a running service: SQLite, no keys, a small catalog."""
    from served import Served

    folder = tmp_path_factory.mktemp("service")
    with Served(log=folder / "log", data=folder / "data", catalog=small_catalog) as served:
        yield served.url


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser."""
    from browser import chromium

    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
