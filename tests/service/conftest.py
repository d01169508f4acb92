from collections.abc import Iterator

import pytest
from engines import FakeClock, Quiet, open_engine


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def engine(place: str, clock: FakeClock) -> Iterator[Quiet]:
    """An engine on either store with the small catalog, and no model."""
    opened = open_engine(place, clock)
    yield opened
    opened.stop()
