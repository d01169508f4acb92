"""The policies of a study: found by name, and made for one of its cases."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.model import Discount, Window
from rankfall.policies import POLICIES, Policy, Recipe

_GIVEN: dict[str, Any] = {}
"""Policies given as objects that cannot be imported by their name, such as classes of a notebook."""

_LINEAR = frozenset({"gamma", "epsilon", "feedback", "forgetting"})


def name_of(policy: object) -> str:
    """The name by which :func:`found` finds a policy again: its own, or ``module:Name``.

    >>> from rankfall import CascadeHybrid
    >>> name_of(CascadeHybrid), name_of("CascadeUCB1")
    ('CascadeHybrid', 'CascadeUCB1')
    """
    if isinstance(policy, str):
        found(policy)
        return policy
    for name, known in POLICIES.items():
        if policy is known or policy is getattr(known, "build", known):
            return name
    if not callable(policy) or not hasattr(policy, "__qualname__"):
        raise ProblemError(f"a policy is given by its name or class, got {policy!r}")
    name = f"{policy.__module__}:{policy.__qualname__}"
    if not _importable(name, policy):
        _GIVEN[name] = policy
    return name


def found(name: str) -> Any:
    """The policy of this name, or of this ``module:Name``."""
    if name in POLICIES:
        return POLICIES[name]
    if name in _GIVEN:
        return _GIVEN[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ProblemError(f"no policy {name!r}; choose from {', '.join(POLICIES)}, or give your own as module:Name")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as problem:
        raise ProblemError(
            f"cannot import the policy {name!r}: {problem}; modules are looked for in the current folder and in "
            "that of the study's file"
        ) from problem
    if not callable(found):
        raise ProblemError(f"{name!r} is no policy: it cannot be called with a catalog")
    return found


def look_in(folder: Path) -> None:
    """Find modules of policies in the current folder and in this one, here and in processes started from now on."""
    for place in (Path.cwd(), folder):
        if str(place.resolve()) not in sys.path:
            sys.path.append(str(place.resolve()))


def is_importable(name: str) -> bool:
    """Whether other processes can find the policy too."""
    return name not in _GIVEN


def settings_of(name: str) -> frozenset[str]:
    """The names of the settings a policy has."""
    policy = found(name)
    if isinstance(policy, Recipe):
        return _LINEAR
    build = getattr(policy, "build", policy)
    parameters = list(inspect.signature(build).parameters)
    return frozenset(parameters[1:])


def make_policy(name: str, catalog: Catalog, *, k: int, steps: int, settings: Mapping[str, Any]) -> Policy:
    """A policy for lists of ``k`` items and so many steps; those that do not need to know are not told."""
    policy, known = found(name), settings_of(name)
    for setting in settings:
        if setting not in known:
            raise ProblemError(f"{name} has no setting {setting!r}; it has {', '.join(sorted(known)) or 'none'}")
    needed = {what: value for what, value in (("k", k), ("steps", steps)) if what in known}
    given = {what: _setting(what, value) for what, value in settings.items()}
    make: Callable[..., Policy] = policy
    return make(catalog, **{**needed, **given})


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
