"""A file of users in words: their attraction and click model, fitted elsewhere or made up.

A JSON file, with one entry for each user under a name::

    {
      "rankfall_users": 1,
      "users": {
        "query 1": {"attraction": [0.4, 0.2], "clicks": "dynamic_bayesian", "satisfaction": [0.7, 0.5]},
        "query 2": {"attraction": [0.1, 0.3], "clicks": "click_chain", "continuation": [0.9, 0.8, 0.2]}
      }
    }

The words are those of ``[user]`` in a study: ``attraction``, a number for each item; ``clicks``, the click model, and
its parameters (:mod:`rankfall.experiments.click_words`); and perhaps ``reward``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankfall.errors import FileError, ProblemError
from rankfall.experiments.click_words import PARAMETERS, click_model_of
from rankfall.files import replacing
from rankfall.users import PerItem, Reward, User

_KEY, _FORMAT = "rankfall_users", 1
_WORDS = ("attraction", "clicks", *PARAMETERS, "reward")


@dataclass(frozen=True)
class People:
    """Users in words, by name."""

    words: Mapping[str, Mapping[str, Any]]

    @property
    def people(self) -> tuple[str, ...]:
        """Their names, in the order of the file."""
        return tuple(self.words)

    def user(self, name: str, reward: Reward | None = None) -> User:
        """The user of this name, with the reward given here, in the file, or usual for the click model."""
        return _user(self.words[name], reward)

    def write_json(self, path: str | Path) -> None:
        """Write the file, which appears whole or not at all."""
        with replacing(path) as temporary:
            Path(temporary).write_text(json.dumps({_KEY: _FORMAT, "users": dict(self.words)}, indent=1) + "\n")


def read_people(path: str | Path) -> People:
    """The users of a file; each is made once, to see that it makes sense."""
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (OSError, ValueError) as problem:
        raise FileError(f"{path} is not a readable JSON file: {problem}") from None
    if not isinstance(said, dict) or said.get(_KEY) != _FORMAT or not isinstance(said.get("users"), dict):
        raise FileError(f'{path} is not a file of users: it must have "{_KEY}": {_FORMAT} and "users" by name')
    if not said["users"]:
        raise FileError(f"{path} has no users")
    for name, words in said["users"].items():
        try:
            _user(words, None)
        except ProblemError as problem:
            raise FileError(f"{path}, user {name!r}: {problem}") from None
    return People(said["users"])


def _user(words: Any, reward: Reward | None) -> User:
    if not isinstance(words, Mapping) or "attraction" not in words:
        raise ProblemError("a user needs attraction, a number for each item")
    for word in words:
        if word not in _WORDS:
            raise ProblemError(f"a user has no {word!r} here; it has {', '.join(_WORDS)}")
    return User(PerItem(words["attraction"]), click_model_of(words), reward or words.get("reward"))
