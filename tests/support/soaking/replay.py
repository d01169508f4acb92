"""What the journal says, folded again from its first entry: without checkpoints, and without what servers remember."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any, cast

import numpy as np

from rankfall.policies import Policy
from rankfall.service.state import ServerState
from rankfall.stores import Checkpoint, Position, Store, open_store
from soaking.site import MODELS

USERS = 50
"""Callers ask for so many; those who are forgotten have other names."""


class JournalOnly:
    """A store whose checkpoints are all lost."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def checkpoints(
        self, _model: str, owners: Sequence[str], _after: Position, _upto: Position
    ) -> list[Checkpoint | None]:
        """None, of each owner."""
        return [None] * len(owners)


class Replayed:
    """The policies of all models and users, from the journal alone; and once more from checkpoints.

    Attributes
    ----------
    policies : by model, and by model and user, from the journal alone.
    restored : the same from checkpoints, where there are any, and what the journal has after them.
    """

    def __init__(self, place: str) -> None:
        with closing(open_store(place, read_only=True)) as store:
            self.policies = _policies(cast("Store", JournalOnly(store)))
            self.restored = _policies(store)

    def check(self, states: dict[str, dict[str, Any]]) -> None:
        """All of it is the same, to the bit: matrices from checkpoints, weights and their uncertainty from servers."""
        for name, policy in self.policies.items():
            arrays, others = policy.state(), self.restored[name].state()
            assert arrays.keys() == others.keys(), name
            differ = [key for key in arrays if arrays[key].tobytes() != others[key].tobytes()]
            assert not differ, f"{name}: {differ} of the journal are not those of checkpoints"
        for name, told in states.items():
            if told["learned"] is not None:
                policy = self.policies[name]
                said = {"learned": policy.n_updates, "weights": [one._asdict() for one in policy.learned()]}
                assert {key: told[key] for key in said} == said, f"{name} is not that of the journal"

    def cross_scales(self, model: str, owner: str = "") -> np.ndarray | None:
        """How far each factor of a context moves preferences; None of a model without one."""
        return self.policies[f"{model} {owner}".strip()].state().get("cross_scales")


def _policies(store: Store) -> dict[str, Policy]:
    state = ServerState(store)
    state.catch_up()
    assert state.stopped is None, state.stopped
    found: dict[str, Policy] = {}
    for name, settings in MODELS.items():
        owners = [f"user {n}" for n in range(USERS)] if settings.get("scope") == "user" else [""]
        states = state.model(name).states_at(store, owners, state.position)
        found |= {f"{name} {owner}".strip(): one.policy for owner, one in zip(owners, states, strict=True)}
    return found
