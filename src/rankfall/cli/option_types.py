"""Types of options that several commands have: names of policies, and how a model forgets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankfall.errors import ProblemError
from rankfall.policies.forgetting import Discount, Window
from rankfall.policies.registry import SERVED, find_policy, find_served_policy, look_in
from rankfall.policies.rewards import Rewards

if TYPE_CHECKING:
    from rankfall.experiments.study import Case


class PolicyNames(click.ParamType[tuple[str, ...]]):
    """Names of policies, separated by commas; one of your own is ``module:Name``."""

    name = "names"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names, each once, in the order given."""
        if isinstance(value, tuple):
            return value
        look_in(Path.cwd())
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        try:
            for name in names or (str(value),):
                find_policy(name)
        except ProblemError as problem:
            self.fail(str(problem), param, ctx)
        return names


class ServedPolicyName(click.ParamType[str]):
    """The name of a policy that a service can learn with; one of your own is ``module:Name``."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if there is such a policy."""
        look_in(Path.cwd())
        try:
            find_served_policy(str(value))
        except ProblemError as problem:
            self.fail(str(problem), param, ctx)
        return str(value)


class ModelPolicyName(ServedPolicyName):
    """The name of a policy for a model of a service, which may learn with it from now on, also if it is your own."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if there is such a policy."""
        name = super().convert(value, param, ctx)
        SERVED.add(name)
        return name


class PolicyRow(click.ParamType[Any]):
    """A policy with settings, separated by commas: ``CascadeHybrid,gamma=0.3`` or ``my_module:MyPolicy``."""

    name = "policy"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Case:
        """The case that is meant, which is called what was given."""
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


class RewardsType(click.ParamType[Rewards]):
    """``click=1,cart=2,purchase=5``."""

    name = "rewards"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Rewards:
        """The rewards that are meant."""
        if isinstance(value, Rewards):
            return value
        parts = [part.partition("=") for part in str(value).split(",")]
        try:
            return Rewards({kind.strip(): float(worth) for kind, _, worth in parts})
        except (ValueError, ProblemError) as problem:
            raise click.BadParameter(f"{value!r} is not like click=1,purchase=5: {problem}", ctx, param) from None
