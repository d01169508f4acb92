"""Policies in files: catalog, settings and state as plain arrays and one JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rankfall.attributes import Attributes
from rankfall.catalog import Catalog
from rankfall.errors import ProblemError
from rankfall.files import load_blocks, save_blocks
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.forgetting import Discount, Window, forgetting_from_json, forgetting_to_json
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.policy import Policy
from rankfall.policies.registry import POLICIES, find_policy, name_of
from rankfall.recipe import Recipe

FORMAT = "rankfall policy 2"
FIRST_FORMAT = "rankfall policy 1"
"""The format of version 0.1.0, which had two kinds of policies: linear ones, and tabular ones by item."""

STATE = "state."
"""What the names of the arrays of a state begin with in a file."""

ATTRIBUTES = "attributes"
"""The codes of attributes in a file, and in its header the values that they stand for."""

CHOICES = ("coverage", "relevance", "exploration", "feedback")
"""The choices of a linear policy."""


def save(policy: Policy, path: str | Path) -> None:
    """Write a policy to a file; see :meth:`rankfall.Policy.save`."""
    catalog = policy.catalog
    header: dict[str, Any] = {
        "format": FORMAT,
        "policy": name_of(type(policy)),
        "settings": {each.name: _to_json(getattr(policy.settings, each.name)) for each in fields(policy.settings)},
        "lineage": catalog.lineage,
        "ids": catalog.ids,
        "titles": catalog.titles,
        "topics": catalog.topics,
        "features": catalog.features,
        "feature_recipe": None if catalog.recipe is None else catalog.recipe.encode().decode(),
    }
    if isinstance(policy, LinearPolicy):
        header["lineages"] = sorted(policy.lineages)
        header["choices"] = {name: getattr(type(policy), name) for name in CHOICES}
    known = catalog.attributes.stored()
    codes = {}
    if known.levels:
        header["attributes"], codes[ATTRIBUTES] = known.levels, known.codes
    state = {STATE + name: array for name, array in policy.state().items()}
    save_blocks(path, header, {"coverage": catalog.coverage, "relevance": catalog.relevance, **codes, **state})


def load(path: str | Path, policy: type[Policy] | None = None) -> Policy:
    """The policy in a file written by its ``save``, also by that of version 0.1.0.

    Parameters
    ----------
    policy : its class, if it cannot be found by the name in the file: one of your own that has moved since.
    """
    return load_blocks(
        path, "a policy", (FORMAT, FIRST_FORMAT), lambda header, blocks: _restored(header, blocks, policy)
    )


def _to_json(value: Any) -> Any:
    if isinstance(value, Context | RequestFeatures):
        return value.to_json()
    return forgetting_to_json(value) if isinstance(value, Discount | Window) else value


def _restored(header: dict[str, Any], blocks: dict[str, NDArray[Any]], policy: type[Policy] | None) -> Policy:
    recipe = header.get("feature_recipe")  # files of earlier versions have neither recipe nor names of features
    catalog = Catalog(
        blocks.pop("coverage"),
        blocks.pop("relevance"),
        ids=header["ids"],
        titles=header["titles"],
        topics=header["topics"],
        features=header.get("features"),
        recipe=None if recipe is None else Recipe.decode(recipe),
        attributes=Attributes.restored(header["attributes"], blocks.pop(ATTRIBUTES)) if ATTRIBUTES in blocks else None,
        _lineage=header["lineage"],
    )
    if header["format"] == FIRST_FORMAT:
        kind, settings = _of_first_format(header)
        state: Mapping[str, NDArray[Any]] = blocks
    else:
        kind = _class_of(header) if policy is None else policy
        settings = dict(header["settings"])
        if "forgetting" in settings:
            settings["forgetting"] = forgetting_from_json(settings["forgetting"])
        state = {name.removeprefix(STATE): array for name, array in blocks.items()}
    made = kind(catalog, **settings)
    made.restore(state)
    return made.accepting(frozenset(header["lineages"])) if isinstance(made, LinearPolicy) else made


def _class_of(header: Mapping[str, Any]) -> type[Policy]:
    try:
        found = find_policy(header["policy"])
    except ProblemError as problem:
        if "choices" in header:
            return _linear(header["policy"].rpartition(":")[2].rpartition(".")[2], header["choices"])
        raise ProblemError(f"{problem}; give its class: load(path, policy=...)") from problem
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise ProblemError(f"{header['policy']} is no subclass of rankfall.Policy any more")
    return found


def _of_first_format(header: Mapping[str, Any]) -> tuple[type[Policy], dict[str, Any]]:
    """Class and settings of a policy saved by version 0.1.0."""
    forgetting = forgetting_from_json(header.get("forgetting"))
    if "by_item" in header:
        if isinstance(forgetting, Discount):
            return POLICIES[header["by_item"]], {"discount": forgetting.rho}
        return POLICIES[header["by_item"]], {} if forgetting is None else {"window": forgetting.lists}
    recipe = header["recipe"]
    kind = _linear(recipe["name"], {name: recipe[name] for name in CHOICES})
    settings = {"gamma": float.fromhex(header["gamma"]), "forgetting": forgetting}
    if recipe["feedback"] != kind.feedback:
        settings["feedback"] = recipe["feedback"]
    if kind.exploration == "epsilon" and "epsilon" in header:
        settings["epsilon"] = float.fromhex(header["epsilon"])
    return kind, settings


def _linear(name: str, choices: Mapping[str, str]) -> type[LinearPolicy]:
    """The linear policy with this name and these choices; made now if it is not one of ours."""
    known = POLICIES.get(name)
    if known is not None and issubclass(known, LinearPolicy):
        made_before = all(getattr(known, one) == choices[one] for one in CHOICES if one != "feedback")
        if made_before:  # feedback may be another by a setting
            return known
    made: type[LinearPolicy] = type(str(name), (LinearPolicy,), {one: choices[one] for one in CHOICES})
    return made
