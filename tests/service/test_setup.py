"""What a store begins with, and what is said when it has begun already."""

from pathlib import Path

from rankfall import Catalog
from rankfall.service.setup import prepare

CATALOG = Catalog(coverage=[[0.5], [0.2]], relevance=[[1.0], [0.5]], ids=["a", "b"])
FIRST = ["Model 'default': CascadeHybrid, 2 items, mode online."]


def test_settings_that_are_not_taken_are_named_with_what_to_do(tmp_path: Path) -> None:
    place = str(tmp_path)
    assert prepare(place, lambda: CATALOG, {"gamma": 0.5}) == FIRST
    assert prepare(place, None, {}) == FIRST
    assert prepare(place, None, {"gamma": 0.5, "policy": "CascadeHybrid", "feedback": None}) == FIRST
    assert prepare(place, None, {"gamma": 0.7, "policy": "CascadeHybridTS"}) == [
        "Model 'default' keeps the settings in the store: gamma 0.5, not 0.7, policy CascadeHybrid, not "
        'CascadeHybridTS. To change it: PATCH /v1/models/default with {"gamma": 0.7, "policy": "CascadeHybridTS"}.',
        *FIRST,
    ]
    assert prepare(place, None, {"scope": "user"}) == [
        "Model 'default' keeps the settings in the store: scope global, not user. "
        "For another scope make a second model: PUT /v1/models/NAME.",
        *FIRST,
    ]
    assert prepare(place, None, {"gamma": 0.7, "forgetting": {"window": 5}})[0].endswith(
        'gamma 0.5, not 0.7, forgetting null, not {"window": 5}. To change it: PATCH /v1/models/default with '
        '{"gamma": 0.7}. For another forgetting make a second model: PUT /v1/models/NAME.'
    )
