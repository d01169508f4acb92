"""The policies of a study: found by name, and made for one of its cases."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.policies import POLICIES, PolicyLike, registry
from rankfall.policies.forgetting import Discount, Window

_GIVEN: dict[str, Any] = {}
"""Policies given as objects that cannot be imported by their name, such as classes of a notebook."""


def name_of(policy: object) -> str:
    """The name by which :func:`found` finds a policy again: its own, or ``module:Name``.

    >>> from rankfall import CascadeHybrid
    >>> name_of(CascadeHybrid), name_of("CascadeUCB1")
    ('CascadeHybrid', 'CascadeUCB1')
    """
    if isinstance(policy, str):
        found(policy)
        return policy
    if not callable(policy) or not hasattr(policy, "__qualname__"):
        raise ProblemError(f"a policy is given by its name or class, got {policy!r}")
    name = registry.name_of(policy)
    if not _importable(name, policy):
        _GIVEN[name] = policy
    return name


def found(name: str) -> Any:
    """The policy of this name, or of this ``module:Name``."""
    return _GIVEN[name] if name in _GIVEN else registry.find_policy(name)


def is_importable(name: str) -> bool:
    """Whether other processes can find the policy too."""
    return name not in _GIVEN


def settings_of(name: str) -> frozenset[str]:
    """The names of the settings a policy has."""
    return registry.settings_of(found(name))


def make_policy(name: str, catalog: Catalog, *, k: int, steps: int, settings: Mapping[str, Any]) -> PolicyLike:
    """A policy for lists of ``k`` items and so many steps; those that do not need to know are not told."""
    given = {what: _setting(what, value) for what, value in settings.items()}
    return registry.make_policy(found(name), catalog, k=k, steps=steps, **given)


def source_digest(name: str) -> str | None:
    """A digest of the file that holds a policy of someone's own; None for those of rankfall."""
    if name in POLICIES:
        return None
    file = getattr(sys.modules.get(found(name).__module__), "__file__", None)
    if file is None or not Path(file).is_file():
        return None
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=12).hexdigest()


def plain_setting(value: Any) -> Any:
    """A setting as a study's file writes it.

    >>> plain_setting(Discount(0.99))
    {'discount': 0.99}
    """
    if isinstance(value, Discount):
        return {"discount": value.rho}
    return {"window": value.lists} if isinstance(value, Window) else value


def _setting(name: str, value: Any) -> Any:
    if name != "forgetting" or not isinstance(value, Mapping):
        return value
    if len(value) == 1 and "discount" in value:
        return Discount(value["discount"])
    if len(value) == 1 and "window" in value:
        return Window(value["window"])
    raise ProblemError(f"forgetting must be {{ discount = 0.999 }} or {{ window = 1000 }}, got {dict(value)!r}")


def _importable(name: str, policy: object) -> bool:
    if name.startswith("__main__:") or "<locals>" in name:
        return False
    try:
        return found(name) is policy
    except ProblemError:
        return False
