"""Types of options that several commands have: names of policies, and how a model forgets."""

from __future__ import annotations

import click

from rankfall.errors import ProblemError
from rankfall.policies import POLICIES
from rankfall.policies.forgetting import Discount, Window


class PolicyNames(click.ParamType[tuple[str, ...]]):
    """Names of policies, separated by commas."""

    name = "names"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names, each once, in the order given."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        unknown = [name for name in names if name not in POLICIES]
        if unknown or not names:
            self.fail(
                f"no policy {unknown[0] if unknown else value!r}; choose from {', '.join(POLICIES)}",
                param,
                ctx,
            )
        return names


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
