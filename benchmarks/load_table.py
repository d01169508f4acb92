"""The table that ``benchmarks/load.py`` writes, row by row, so that a run that is broken off leaves what it has."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

COLUMNS = [
    "code",
    "items",
    "models",
    "workers",
    "store",
    "nothing, requests/s",
    "pairs/s",
    "requests/s",
    "of nothing",
    "rank p50 / p99 ms",
    "at half load",
    "memory MiB",
    "nothing, processor ms a pair",
    "server",
    "store's",
    "callers",
    "server and store, times nothing",
    "failed",
]


class Table:
    """A table in Markdown that grows: each row is shown, and added to the file if there is one, when it is there."""

    def __init__(self, note: str, show: Callable[[str], None], out: Path | None = None) -> None:
        self._show, self._out = show, out
        if out is not None:
            out.write_text("")
        self._add(f"{note}\n")
        self.add(COLUMNS)
        self.add(["---:"] * len(COLUMNS))

    def add(self, cells: Sequence[str]) -> None:
        """Add a row."""
        self._add(f"| {' | '.join(cells)} |")

    def _add(self, line: str) -> None:
        self._show(line)
        if self._out is not None:
            with self._out.open("a") as file:
                file.write(f"{line}\n")


def cells_of(code: str, setting: Sequence[str], found: dict[str, Any]) -> list[str]:
    """A row: whose code, the four words of the setting, and the figures that were found."""
    full, half, nothing = found["full"], found["half"], found["nothing"]
    used, least = full["processor"], nothing["processor"]
    return [
        code,
        *setting,
        f"{nothing['requests']:,.0f}",
        f"{full['pairs']:,.0f}",
        f"{full['requests']:,.0f}",
        f"{full['requests'] / nothing['requests']:.0%}",
        f"{full['rank']['p50']:.1f} / {full['rank']['p99']:.1f}",
        f"{half['rank']['p50']:.1f} / {half['rank']['p99']:.1f}",
        f"{found['begin']:,.0f} → {found['end']:,.0f}",
        f"{least['server']:.2f}",
        f"{used['server']:.2f}",
        f"{used['store']:.2f}" if "store" in used else "in the server's",
        f"{used['callers']:.2f}",
        f"{(used['server'] + used.get('store', 0.0)) / least['server']:.1f}",
        str(nothing["failed"] + full["failed"] + half["failed"]),
    ]
