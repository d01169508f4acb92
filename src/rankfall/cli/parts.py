"""What several commands share."""

from __future__ import annotations

import click
from rich.progress import ProgressColumn, Task
from rich.text import Text

from rankfall.policies import POLICIES


class Names(click.ParamType[tuple[str, ...]]):
    """Policy names with commas between."""

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


class Rate(ProgressColumn):
    """Steps per second so far."""

    def render(self, task: Task) -> Text:
        """As text; empty before the first step."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} steps/s" if speed else "", style="progress.data.speed")
