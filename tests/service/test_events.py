"""Requests and the fingerprints that tell a retry from another request."""

from typing import Any

import pytest

from rankfall.service.events import digest_of
from rankfall.wire import BatchedRankRequest, RankRequest

WRITTEN_BY_0_1_0: list[tuple[dict[str, Any], str]] = [
    ({"user": "anna", "k": 3, "request_id": "r1"}, "586f080c9b9d1d50de1a48ea3ada8c2e"),
    (
        {
            "user": 'Zoë "/\\ é 😀 ',
            "segment": "ß",
            "candidates": [1, "a", -(2**63)],
            "exclude": [],
            "baseline": ["x/y"],
            "request_id": "é",
            "defer_activation": True,
            "explain": True,
            "k": 10**20,
        },
        "5a8a7c96336465da3f5266ff059246b7",
    ),
]


@pytest.mark.parametrize(("request_", "digest"), WRITTEN_BY_0_1_0)
def test_a_retry_matches_what_0_1_0_stored(request_: dict[str, Any], digest: str) -> None:
    assert digest_of(RankRequest(**request_)) == digest
    assert digest_of(BatchedRankRequest(model="default", **request_)) == digest
