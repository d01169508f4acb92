"""The one place where policies are looked up by name.

A policy of the package registers itself by being in it: every class with a ``summary`` of its own in a module of
:mod:`rankfall.policies` can be found here.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.policies.policy import Policy, PolicyLike


class Registry(Mapping[str, type[Policy]]):
    """Policies of the package by name, in alphabetical order; imported when it is first looked at."""

    def __init__(self, *, served: bool = False) -> None:
        self._served = served
        self._own: dict[str, type[Policy]] = {}

    @cached_property
    def _found(self) -> dict[str, type[Policy]]:
        package = sys.modules["rankfall.policies"]
        names = [found.name for found in pkgutil.walk_packages(package.__path__, "rankfall.policies.")]
        found = {
            name: one
            for module in map(importlib.import_module, names)
            for name, one in vars(module).items()
            if inspect.isclass(one) and issubclass(one, Policy) and one.__module__ == module.__name__
            if vars(one).get("summary") and (one.why_not_served is None or not self._served)
        }
        return dict(sorted(found.items()))

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the policies that were added."""
        return tuple(self._own)

    def add(self, name: str) -> None:
        """Take in a policy of someone's own, ``module:Name``, that a service can learn with."""
        if name not in self._found:
            self._own[name] = find_served_policy(name)

    def __getitem__(self, name: str) -> type[Policy]:
        return self._own[name] if name in self._own else self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._found, *self._own))

    def __len__(self) -> int:
        return len(self._found) + len(self._own)


POLICIES: Mapping[str, type[Policy]] = Registry()
"""Every policy of the package, by name."""

SERVED = Registry(served=True)
"""Every policy that a service can learn with, by name. Whoever starts a service may add some of their own."""

AnyPolicy = type[Policy] | Callable[..., PolicyLike]
"""A class of policies; or someone's own, which makes anything that ranks and learns from a catalog."""


def find_policy(name: str) -> AnyPolicy:
    """The policy with this name: one of :data:`POLICIES`, or ``module:Name`` for one of your own.

    >>> find_policy("CascadeHybrid").summary
    'relevance and diversity, learned together'
    >>> find_policy("collections:Nothing")
    Traceback (most recent call last):
    rankfall.errors.ProblemError: cannot import the policy 'collections:Nothing': module 'collections' has no ...
    """
    if name in POLICIES:
        return POLICIES[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ProblemError(f"no policy {name!r}; choose from {', '.join(POLICIES)}, or give your own as module:Name")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as problem:
        raise ProblemError(f"cannot import the policy {name!r}: {problem}") from problem
    if not callable(found):
        raise ProblemError(f"{name!r} is no policy: it cannot be called with a catalog")
    return found  # type: ignore[no-any-return]


def find_served_policy(name: str) -> type[Policy]:
    """The policy with this name, as :func:`find_policy` finds it, if a service can learn with it.

    >>> find_served_policy("TopRank")
    Traceback (most recent call last):
    rankfall.errors.ProblemError: TopRank cannot be served: it compares items of blocks it shuffled itself, from one ...
    """
    policy = find_policy(name)
    if not (inspect.isclass(policy) and issubclass(policy, Policy)):
        raise ProblemError(f"{name} cannot be served: it is no subclass of rankfall.Policy")
    if policy.why_not_served is not None:
        raise ProblemError(f"{name} cannot be served: {policy.why_not_served}")
    return policy


def served_gamma(policy: type[Policy]) -> float:
    """What a service gives to new models where nobody says: 0.5, or 1 for policies that have no gamma.

    benchmarks/gamma_defaults.py measures it, and docs/policies.md has the table.

    >>> [served_gamma(find_served_policy(name)) for name in ("CascadeHybrid", "CascadeTS")]
    [0.5, 1.0]
    """
    return 0.5 if "gamma" in settings_of(policy) else 1.0


def look_in(folder: Path) -> None:
    """Find modules of policies in this folder too, here and in processes started from now on."""
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))


def name_of(policy: AnyPolicy) -> str:
    """What :func:`find_policy` finds it by.

    >>> from rankfall import CascadeHybrid
    >>> name_of(CascadeHybrid)
    'CascadeHybrid'
    """
    name: str = policy.__name__
    return name if POLICIES.get(name) is policy else f"{policy.__module__}:{policy.__qualname__}"


def settings_of(policy: AnyPolicy) -> frozenset[str]:
    """The names of the settings a policy has.

    >>> from rankfall import TopRank
    >>> sorted(settings_of(TopRank))
    ['delta', 'steps']
    """
    if inspect.isclass(policy) and issubclass(policy, Policy):
        return frozenset(each.name for each in fields(policy.Settings))
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(inspect.signature(policy).parameters.values())
    return frozenset(one.name for one in parameters[1:] if one.kind in kinds)


def make_policy(policy: str | AnyPolicy, catalog: Catalog, *, k: int, steps: int, **settings: Any) -> PolicyLike:
    """A policy for an experiment with lists of ``k`` and so many steps.

    Policies that need them get ``k`` and ``steps`` as settings, unless ``settings`` say otherwise. A setting that the
    policy does not have is refused.

    >>> make_policy("BatchRank", Catalog(ids=range(6)), k=2, steps=1000)
    BatchRank(6 items, k=2, steps=1000)
    >>> make_policy("BatchRank", Catalog(ids=range(6)), k=2, steps=1000, gamma=0.5)
    Traceback (most recent call last):
    rankfall.errors.ProblemError: BatchRank has no setting 'gamma'; it has k, samples, steps
    """
    make = find_policy(policy) if isinstance(policy, str) else policy
    known = settings_of(make)
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise ProblemError(
            f"{name_of(make)} has no setting {unknown[0]!r}; it has {', '.join(sorted(known)) or 'none'}"
        )
    given = {name: value for name, value in {"k": k, "steps": steps}.items() if name in known}
    made: object = make(catalog, **{**given, **settings})
    if not isinstance(made, PolicyLike):
        raise ProblemError(
            f"{name_of(make)} makes no policy of a catalog: a {type(made).__name__} has no n_items, rank and update"
        )
    return made
