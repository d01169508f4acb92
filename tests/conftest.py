import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import `specification`

from needs import missing

if TYPE_CHECKING:
    from postgres import Cluster

# No deadline: the first example may compile a kernel. Derandomized: the same examples on every machine.
settings.register_profile("rankfall", deadline=None, derandomize=True, print_blob=False)
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
