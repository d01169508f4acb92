"""Types of options that several commands have: names of policies, and how a model forgets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankfall.errors import ProblemError
from rankfall.policies import POLICIES
from rankfall.policies.forgetting import Discount, Window

if TYPE_CHECKING:
    from rankfall.experiments.study import Case


class PolicyNames(click.ParamType[tuple[str, ...]]):
    """Names of policies, or module:Name, separated by commas."""

    name = "names"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names, each once, in the order given."""
        if isinstance(value, tuple):
            return value
        from rankfall.experiments.policy_choice import look_in, name_of

        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        look_in(Path.cwd())
        try:
            for name in names:
                name_of(name)
        except ProblemError as problem:
            self.fail(str(problem), param, ctx)
        if not names:
            self.fail(f"no policy {value!r}; choose from {', '.join(POLICIES)}", param, ctx)
        return names


class PolicyRow(click.ParamType[Any]):
    """A policy with settings, separated by commas: ``CascadeHybrid,gamma=0.3`` or ``my_module:MyPolicy``."""

    name = "policy"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Case:
        """The case that is meant, which is called what was given."""
        from rankfall.experiments.policy_choice import look_in
        from rankfall.experiments.study import Case

        if isinstance(value, Case):
            return value
        name, *settings = (part.strip() for part in str(value).split(","))
        look_in(Path.cwd())
        try:
            return Case(name, str(value), settings=dict(self._setting(one) for one in settings))
        except (ProblemError, ValueError) as problem:
            self.fail(f"{value!r}: {problem}", param, ctx)

    @staticmethod
    def _setting(text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        if not equals:
            raise ProblemError(f"{text!r} is not of the form setting=value")
        try:
            return name.strip(), tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            return name.strip(), value


class ForgettingType(click.ParamType[Discount | Window]):
    """``discount=0.999`` or ``window=1000``."""

    name = "how"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Discount | Window:
        """The forgetting that is meant."""
        if isinstance(value, Discount | Window):
            return value
        kind, _, amount = str(value).partition("=")
        try:
            if kind == "discount":
                return Discount(float(amount))
            if kind == "window":
                return Window(int(amount))
        except (ValueError, ProblemError) as problem:
            raise click.BadParameter(f"{value!r}: {problem}", ctx, param) from None
        raise click.BadParameter(f"{value!r} is neither discount=0.999 nor window=1000", ctx, param)
