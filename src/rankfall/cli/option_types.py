"""Types of options that several commands have: names of policies, and how a model forgets."""

from __future__ import annotations

from pathlib import Path

import click

from rankfall.errors import ProblemError
from rankfall.policies.forgetting import Discount, Window
from rankfall.policies.registry import find_policy, find_served_policy, look_in


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
