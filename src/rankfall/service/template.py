"""From settings to a policy: what a model ranks with, before any owner's state is put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from rankfall.catalog import Catalog
from rankfall.errors import ConflictError, InvalidError, ProblemError, RankError, short
from rankfall.journal.catalogs import CatalogState
from rankfall.journal.fold import declared
from rankfall.policies import SERVED, LinearPolicy, Policy, settings_of
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.forgetting import Discount, Window
from rankfall.policies.linear.prior import Prior
from rankfall.policies.list_rules import check_rule
from rankfall.policies.registry import served_gamma
from rankfall.policies.rewards import Rewards
from rankfall.wire import ModelSettings, Rule, convert

MOST_NUMBERS = 12
"""Contexts of more numbers learn no prior across users, unless they are told to."""


def policy_of(settings: ModelSettings, catalog: Catalog) -> Policy:
    """A policy with these settings that has learned nothing; raises what is wrong with them, or with the catalog."""
    check_served(settings.policy)
    _check_rewards(settings)
    if settings.across_users and not _can_learn_across(settings):
        raise InvalidError(
            "across_users needs scope user and a linear policy, as the prior is one of the weights of users; "
            f"this is scope {settings.scope} and {settings.policy}",
            where="body.across_users",
        )
    _check_ruled(settings)
    context, request_features = _declared(settings)
    policy = SERVED[settings.policy].serve(
        catalog,
        gamma=settings.gamma,
        forgetting=_forgetting(settings),
        feedback=settings.feedback,
        shared=settings.scope != "user",
        context=context,
        request_features=request_features,
    )
    if settings.across_users and isinstance(policy, LinearPolicy):
        return policy.with_prior(Prior.identity(len(policy.weights)))
    return policy


def _can_learn_across(settings: ModelSettings) -> bool:
    """Whether users of such a model can start from what all have shown."""
    served = SERVED.get(settings.policy)
    return settings.scope == "user" and served is not None and issubclass(served, LinearPolicy)


def _declared(settings: ModelSettings) -> tuple[Context | None, RequestFeatures | None]:
    """The context of a model and the features that candidates have in one request; raises if it cannot have them."""
    policy = SERVED[settings.policy]
    for name in ("context", "request_features"):
        if getattr(settings, name) is not None and name not in settings_of(policy):
            raise InvalidError(f"{settings.policy} takes no {name}; linear policies do", where=f"body.{name}")
    try:
        return declared(settings)
    except ProblemError as problem:
        raise InvalidError(str(problem), where="body.context") from None


def _check_rewards(settings: ModelSettings) -> None:
    """Raise if a model cannot have these rewards."""
    if settings.rewards is None:
        return
    try:
        Rewards(settings.rewards)
        if (policy := SERVED[settings.policy]).why_not_rewarded is not None:
            raise policy.not_rewarded()
        if settings.forgetting is not None:
            raise ProblemError("a model with rewards cannot forget: an outcome would have to fade with its list")
    except ProblemError as problem:
        raise InvalidError(str(problem), where="body.rewards") from None


def _check_ruled(settings: ModelSettings) -> None:
    """Raise if the lists of a policy cannot keep rules, and there are some."""
    if settings.rules and (why := SERVED[settings.policy].why_not_ruled) is not None:
        raise InvalidError(f"the lists of {settings.policy} cannot keep rules: {why}", where="body.rules")


def check_rules(rules: Sequence[Rule], catalog: Catalog) -> None:
    """Raise if a rule is about an attribute that no item has, or has in another kind."""
    for i, rule in enumerate(rules):
        try:
            check_rule(rule, catalog)
        except RankError as problem:
            raise InvalidError(str(problem), where=f"body.rules.{i}") from None


def check_served(policy: str) -> None:
    """Raise if no policy of this name can be served."""
    if policy not in SERVED:
        raise InvalidError(
            f"no policy {short(policy)} that can be served; choose from {', '.join(SERVED)}", where="body.policy"
        )


def new_settings(given: Mapping[str, Any], there: ModelSettings | None = None) -> ModelSettings:
    """The settings of a new model; gamma that is not given is what suits its policy.

    ``there`` are the settings of a model of this name: what has another default today than when it was made, and is not
    given, is as it is there.

    Users start from what all have shown, where that can be and nobody says otherwise; with a large context only if
    somebody says so, as a prior over all its crosses is learned from few users.
    """
    settings = convert(ModelSettings, dict(given))
    if "across_users" not in given:
        usual = _can_learn_across(settings) and _numbers(settings) <= MOST_NUMBERS
        across = usual if there is None else there.across_users
        settings = msgspec.structs.replace(settings, across_users=across)
    if "gamma" in given or settings.policy not in SERVED:
        return settings
    usual_gamma = served_gamma(SERVED[settings.policy])
    return msgspec.structs.replace(settings, gamma=usual_gamma if there is None else there.gamma)


def _numbers(settings: ModelSettings) -> int:
    """How many numbers a context becomes: so many times the columns a model has."""
    context, _ = _declared(settings)
    return 1 if context is None else len(context.columns)


def check_pinned(settings: ModelSettings, catalog: Catalog) -> None:
    """Raise if an item is pinned that nobody can show. Those that leave the catalog later are passed over."""
    for pin in settings.pinned:
        if pin.id not in catalog:
            raise InvalidError(
                f"the catalog has no item {short(pin.id)}, so it cannot be pinned; add the item first",
                where="body.pinned",
            )


def _forgetting(settings: ModelSettings) -> Discount | Window | None:
    given = settings.forgetting
    if given is None:
        return None
    if given.discount is not None:
        return Discount(given.discount)
    assert given.window is not None
    return Window(given.window)


def changed(settings: ModelSettings, changes: Mapping[str, Any], catalog: Catalog) -> ModelSettings:
    """Other settings for the same states; raises what does not fit."""
    new = convert(ModelSettings, {**msgspec.to_builtins(settings), **changes})
    check_served(new.policy)
    means = {name: one.learns(settings.feedback) for name, one in SERVED.items()}
    known = means.pop(settings.policy)
    if new.policy != settings.policy and means[new.policy] != known:
        alike = ", ".join(name for name, other in means.items() if other == known)
        raise ConflictError(
            f"{settings.policy} has learned {known}, which {new.policy} cannot take over (it learns "
            f"{means[new.policy]}); this model can change to: {alike or 'no other'}. Make a second model for "
            f"{new.policy}"
        )
    policy_of(new, catalog)
    if "pinned" in changes:
        check_pinned(new, catalog)
    if "rules" in changes:
        check_rules(new.rules, catalog)
    return new


@dataclass(frozen=True, eq=False)
class Template:
    """A policy that has learned nothing, over the items a model may show; every owner's policy is made from it."""

    policy: Policy
    catalog: Catalog
    version: int
    settings: ModelSettings
    items: CatalogState


def make_template(old: Template | None, items: CatalogState, settings: ModelSettings) -> Template:
    """The template for these settings over the present items; what has not changed is taken from the old one."""
    catalog, version = items.current_version()
    if old is not None and old.catalog is catalog and _ranks_alike(old.settings, settings):
        same = old.settings.gamma == settings.gamma
        policy = old.policy if same else old.policy.with_settings(gamma=settings.gamma)
        return Template(policy, catalog, version, settings, items)
    blocked = [item for item in settings.blocked if item in catalog]
    shown = catalog.withdraw(blocked) if blocked else catalog
    policy = policy_of(settings, shown)
    if len(shown):  # lays out what all owners share here, and not when the first of them is served
        with suppress(Exception):  # whoever is served meets the error again, and gets the baseline
            policy.rank(min(settings.k, len(shown)), rng=np.random.default_rng(0))
    return Template(policy, catalog, version, settings, items)


def _ranks_alike(one: ModelSettings, other: ModelSettings) -> bool:
    """Whether these settings make the same policy over the same items, but for gamma."""
    return (one.policy, one.blocked) == (other.policy, other.blocked)
