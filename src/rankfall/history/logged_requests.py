"""A logged request, as a policy is asked it: what may be shown, what must be, and what was said beside."""

from __future__ import annotations

import json
from typing import Any

from rankfall.catalog import Catalog
from rankfall.history.exported import rows_of
from rankfall.history.replayable import ReplayableLog
from rankfall.policies import Policy
from rankfall.policies.list_rules import ListRules
from rankfall.wire import ModelSettings, Scope
from rankfall.wire.rules import Rule, rule_from_json


def owner_of(event: dict[str, Any], scope: Scope) -> str | None:
    """Whose state a logged list would come from; None if the log does not say."""
    owner: str | None = {"global": "", "segment": event["segment"], "user": event["user"]}[scope]
    return owner


def asked(log: ReplayableLog, policy: Policy, event: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """The words of :meth:`rankfall.Policy.rank` for a logged request, as far as the policy knows them."""
    settings = log.settings(event["created"])
    words = {**_limits(settings, event, catalog, len(event["items"])), **situation_of(policy, event, catalog)}
    rules = _rules(settings, event)
    if rules and policy.why_not_ruled is None:
        words["rules"] = ListRules(rules, catalog, event["created"].timestamp(), checked=False)
    return words


def ruled(log: ReplayableLog, event: dict[str, Any]) -> bool:
    """Whether a logged list was made under rules."""
    return bool(_rules(log.settings(event["created"]), event))


def situation_of(policy: Policy, event: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """The context of a logged request and the features of its candidates, as far as the policy knows of them."""
    said: dict[str, Any] = {}
    if getattr(policy.settings, "context", None) is not None and event.get("context") is not None:
        said["context"] = json.loads(event["context"])
    declared = getattr(policy.settings, "request_features", None) is not None
    if declared and event.get("candidate_features") is not None:
        named = [(catalog.row(one["id"]), one["features"]) for one in json.loads(event["candidate_features"])]
        said["features"] = {row: features for row, features in named if row is not None}
    return said


def _limits(settings: ModelSettings, event: dict[str, Any], catalog: Catalog, k: int) -> dict[str, Any]:
    """What may be shown for a logged request, and what must be, as the service had it."""
    exclude = rows_of(catalog, event["exclude"])
    fixed = {}
    for pin in settings.pinned if event["arm"] == "policy" else ():
        row = catalog.row(pin.id)
        if row is not None and pin.position <= k and row not in (exclude or ()) and pin.id not in settings.blocked:
            fixed[pin.position - 1] = row
    if settings.blocked:
        exclude = list(dict.fromkeys([*(exclude or ()), *(rows_of(catalog, list(settings.blocked)) or ())]))
    return {"candidates": rows_of(catalog, event["candidates"]), "exclude": exclude, "fixed": fixed or None}


def _rules(settings: ModelSettings, event: dict[str, Any]) -> list[Rule]:
    """The rules of a logged list."""
    return [*settings.rules, *(rule_from_json(rule) for rule in json.loads(event.get("rules") or "[]"))]
