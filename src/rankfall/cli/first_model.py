"""The options that say what a new store begins with: its catalog, and its first model."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import click
from click.core import ParameterSource

from rankfall.catalog import Catalog
from rankfall.cli.option_types import ForgettingType, ModelPolicyName, RewardsType
from rankfall.errors import FileError, InvalidError
from rankfall.policies.forgetting import Discount
from rankfall.policies.linear.settings import Feedback
from rankfall.wire import ModelSettings, NewModel
from rankfall.wire.decoding import convert

C = TypeVar("C", bound=Callable[..., Any])
_MODEL = ("policy", "gamma", "scope", "forgetting", "feedback", "rewards")


class Beginning(NamedTuple):
    """How to read the catalog, if a file was named, and the settings of the first model that were given."""

    read: Callable[[], Catalog] | None
    settings: dict[str, Any]


def first_model_options(command: C) -> C:
    """The options of the catalog and the first model; :func:`beginning` makes something of their values."""
    default = ModelSettings()
    for option in reversed(
        (
            click.option(
                "--catalog",
                type=click.Path(path_type=Path),
                help="Parquet or CSV file of the items; read the first time only.",
            ),
            click.option(
                "--policy",
                default=default.policy,
                show_default=True,
                type=ModelPolicyName(),
                help="Policy of the first model: one that rankfall policies marks with *, or your own as module:Name.",
            ),
            click.option(
                "--gamma",
                type=click.FloatRange(0),
                help="How much the first model explores.  [default: 0.5, for policies that have it]",
            ),
            click.option(
                "--scope",
                default=default.scope,
                show_default=True,
                type=click.Choice(["global", "segment", "user"]),
                help="Whether the first model has one state in all, or one for each segment or user.",
            ),
            click.option(
                "--forgetting",
                type=ForgettingType(),
                help="How the first model forgets: discount=0.999, or window=1000 (lists).  [default: never]",
            ),
            click.option(
                "--feedback",
                type=click.Choice(get_args(Feedback)),
                help="Which items count as seen in the first model: down to the first click, to the last, or all.",
            ),
            click.option(
                "--rewards",
                type=RewardsType(),
                help="What a click and later outcomes are worth to the first model: click=1,cart=2,purchase=5.",
            ),
            click.option(
                "--settings",
                type=click.Path(path_type=Path, dir_okay=False),
                help="TOML or JSON file with settings of the first model, as PUT /v1/models takes them: context, "
                "request_features, rules, rewards and all others. Options beside it come before it.",
            ),
            click.option(
                "--id",
                "id_column",
                default="id",
                show_default=True,
                help="Column of ids in --catalog, if Rankfall did not write the file.",
            ),
            click.option("--title", help="Column of titles in --catalog.  [default: title, if there is one]"),
            click.option(
                "--topics",
                help="Column of topics in --catalog: lists, or names with | between.  [default: topics, if any]",
            ),
            click.option(
                "--features",
                help="Columns of --catalog that become relevance features, separated by commas; they are scaled.",
            ),
            click.option(
                "--attributes",
                help="Columns of --catalog that become attributes, which rules of lists look at, separated by commas.",
            ),
        )
    ):
        command = option(command)
    return command


def beginning(context: click.Context) -> Beginning:
    """What the options of a command say. Settings that nobody gave are left out: the service has defaults."""
    values = context.params
    given = [name for name in _MODEL if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    settings = {name: values[name] for name in given}
    if (forgetting := settings.get("forgetting")) is not None:
        fades = isinstance(forgetting, Discount)
        settings["forgetting"] = {"discount": forgetting.rho} if fades else {"window": forgetting.lists}
    if (rewards := settings.get("rewards")) is not None:
        settings["rewards"] = dict(rewards.worth)
    if values["settings"] is not None:
        settings = {**_settings_in(values["settings"]), **settings}
    path = values["catalog"]
    if path is None:
        return Beginning(None, settings)
    columns = [values[name] for name in ("id_column", "title", "topics", "features", "attributes")]
    return Beginning(lambda: _read(path, *columns), settings)


def _settings_in(path: Path) -> dict[str, Any]:
    """The settings in a file, checked."""
    try:
        text = path.read_text(encoding="utf-8")
        found: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read settings from {path}: {problem}") from problem
    if not isinstance(found, dict):
        raise FileError(f'{path} holds no table of settings, such as {{"policy": "CascadeHybrid"}}')
    try:
        convert(NewModel, found)
    except InvalidError as problem:
        raise FileError(f"{path}: {problem}") from problem
    return found


def _read(
    path: Path, id_column: str, title: str | None, topics: str | None, features: str | None, attributes: str | None
) -> Catalog:
    """The catalog in a file that Rankfall wrote, or built from a table whose columns were named."""
    if topics is None and features is None and attributes is None and path.suffix not in (".csv", ".tsv"):
        return Catalog.read_parquet(path)
    from rankfall.data import build_catalog

    built = build_catalog(
        path, id=id_column, title=title, topics=topics, features=_names(features), attributes=_names(attributes)
    )
    click.echo(built.describe())
    return built.catalog


def _names(listed: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (listed or "").split(",") if name.strip())
