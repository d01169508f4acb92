"""Progress bars of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; gives a function to call with the steps done since."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


class StepRate(ProgressColumn):
    """Steps per second so far."""

    def render(self, task: Task) -> Text:
        """As text; empty before the first step."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} steps/s" if speed else "", style="progress.data.speed")
