"""A store of either kind."""

from collections.abc import Iterator

import pytest

from rankfall.stores import (
    Store,
    open_store,
)


@pytest.fixture
def no_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests hold transactions open until others have come to wait, however long that takes."""
    monkeypatch.setattr("rankfall.stores.postgres.TIMEOUTS", {})


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = open_store(place)
    yield opened
    opened.close()
