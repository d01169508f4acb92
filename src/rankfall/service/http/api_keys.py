"""API keys, of which only fingerprints are kept, and what each allows."""

from __future__ import annotations

import hashlib
import hmac
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankfall.errors import FileError

RIGHTS = ("rank", "feedback", "admin")


@dataclass(frozen=True)
class Grant:
    """What one key allows. ``models`` are names, or "*" for all."""

    name: str
    models: tuple[str, ...]
    rights: tuple[str, ...]

    def may(self, right: str, model: str) -> bool:
        """Whether the holder may do this to this model."""
        return right in self.rights and (model in self.models or "*" in self.models)

    def models_for(self, right: str) -> frozenset[str] | None:
        """The models to which the holder may do this; None for all."""
        if right not in self.rights:
            return frozenset()
        return None if "*" in self.models else frozenset(self.models)

    def may_any(self, model: str) -> bool:
        """Whether the holder may do anything to this model."""
        return any(self.may(right, model) for right in RIGHTS)

    def everywhere(self, right: str) -> bool:
        """Whether the holder may do this to all models, and so to what they share."""
        return right in self.rights and "*" in self.models


EVERYTHING = Grant("nobody in particular", ("*",), RIGHTS)
"""What everybody may when there are no keys."""


class Keys:
    """The keys of a service. None at all: everybody may do everything."""

    def __init__(self, grants: Sequence[tuple[str, Grant]] = ()) -> None:
        self._grants = tuple((bytes.fromhex(digest), grant) for digest, grant in grants)

    def grant(self, key: str | None) -> Grant | None:
        """What a key allows; None for a wrong one. Takes as long for a wrong key as for a right one."""
        if not self._grants:
            return EVERYTHING
        digest = hashlib.sha256((key or "").encode("utf-8", "surrogateescape")).digest()
        found = None
        for known, grant in self._grants:
            if hmac.compare_digest(known, digest):
                found = grant
        return found

    @classmethod
    def read(cls, path: Path) -> Keys:
        """The keys in a TOML file."""
        try:
            table = tomllib.loads(path.read_text())
        except FileNotFoundError:
            raise FileError(f"{path} does not exist") from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
            raise FileError(f"{path} is not a readable TOML file: {problem}") from None
        grants = []
        for i, entry in enumerate(table.get("key", []), 1):
            where = f"{path}, key {i}"
            if set(entry) - {"name", "sha256", "models", "rights"}:
                raise FileError(f"{where}: unknown {sorted(set(entry) - {'name', 'sha256', 'models', 'rights'})}")
            digest = str(entry.get("sha256", ""))
            if len(digest) != 64 or any(c not in "0123456789abcdef" for c in digest):
                raise FileError(
                    f"{where}: sha256 must be the SHA-256 of the key, 64 digits of 0-9a-f (see: rankfall key)"
                )
            rights, models = entry.get("rights", []), entry.get("models", ["*"])
            if not rights or not isinstance(rights, list) or any(right not in RIGHTS for right in rights):
                raise FileError(f"{where}: rights must be some of {', '.join(RIGHTS)}, got {rights!r}")
            if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
                raise FileError(f'{where}: models must be a list of names, or ["*"], got {models!r}')
            grants.append((digest, Grant(str(entry.get("name", f"key {i}")), tuple(models), tuple(rights))))
        if not grants:
            raise FileError(f"{path} has no [[key]]; without keys leave the option away (rankfall key makes one)")
        return cls(grants)
