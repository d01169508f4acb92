"""What a store begins with, and what is said when it has begun already."""

import subprocess
import sys
from pathlib import Path

from rankfall import Catalog
from rankfall.journal.entries import ModelCreated
from rankfall.journal.fold import settings_of
from rankfall.service.engine import Engine
from rankfall.service.setup import prepare
from rankfall.stores import open_store

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


def test_settings_said_in_other_words_are_the_same(tmp_path: Path) -> None:
    place = str(tmp_path)
    attributed = Catalog(relevance=[[1.0], [0.5]], ids=["a", "b"], attributes={"brand": ["x", "y"]})
    given = {"rules": [{"kind": "at_most", "n": 1, "attribute": "brand"}], "context": {"hour": {"kind": "hour"}}}
    lines = prepare(place, lambda: attributed, given)
    assert prepare(place, None, given) == lines == FIRST
    fewer = {**given, "rules": []}
    assert prepare(place, None, fewer)[0].endswith('To change it: PATCH /v1/models/default with {"rules": []}.')
    engine = Engine(open_store(place))
    settings = engine.state.models["default"].settings
    engine.close()
    assert settings.context is not None
    assert len(settings.rules) == 1


def test_gamma_that_nobody_gave_is_what_suits_the_policy(tmp_path: Path) -> None:
    for policy, gamma in (("CascadeHybrid", 0.5), ("CascadeLinTS", 0.5), ("CascadeTS", 1.0)):
        place = str(tmp_path / policy)
        prepare(place, lambda: CATALOG, {"policy": policy})
        engine = Engine(open_store(place))
        assert engine.state.models["default"].settings.gamma == gamma
        engine.close()
    stored = settings_of(ModelCreated(policy="CascadeHybrid"))
    assert stored.gamma == 1.0, "an entry that does not name it means what it always did"


def test_what_learning_takes_is_compiled_after_the_first_list(tmp_path: Path) -> None:
    script = (
        "from rankfall.kernels import greedy, ridge, shortlists\n"
        "from rankfall.policies.trial_use import a_few_items\n"
        "from rankfall.service.setup import prepare\n"
        f"prepare({str(tmp_path)!r}, a_few_items, {{}})\n"
        "print([len(kernel.overloads) for kernel in (greedy.rank_in, ridge.learn, shortlists.rank)])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 0, 0]\n"
