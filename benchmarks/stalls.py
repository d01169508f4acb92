"""How long callers ever wait while the service does its other work, and what it did then.

    python benchmarks/stalls.py --minutes 10 --store sqlite --store postgresql

A model for each of many users, more than fit in memory; callers at a steady rate, some of whom never give feedback, so
that lists expire; metrics and a page are read beside. So states are loaded and saved, lists are swept and checkpoints
are written. Memory is watched as well. A stall is a stretch of time in which requests took longer than the limit. For
each, the report says what the server's threads did (``sampled_server.py``) and how long they waited for a core, and how
long the disk and the machine held up a program that does next to nothing: on a machine that others use too, they do.
"""

import bisect
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import httpx
import numpy as np
from load import HERE, Setting, call, catalog_in, give_all_users_a_model, stores
from load import memory as memory_of
from served import Served

MOMENT = 0.05
"""Seconds between looks at the disk and the machine."""


Sample = tuple[float, dict[str, str], float]
"""When it was taken, what each thread did, and how long threads had waited for a core by then."""


@dataclass
class Stall:
    """A stretch of time in which requests took too long."""

    begin: float
    end: float
    requests: int = 0
    longest: float = 0.0


@dataclass
class Held:
    """How long a program that does nothing else was held up, and when."""

    at: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def longest(self, begin: float, end: float) -> float:
        """The longest time within a stretch."""
        return max(
            (s for at, s in zip(self.at, self.seconds, strict=True) if at >= begin and at - s <= end), default=0.0
        )


@contextmanager
def looking(what: Callable[[], None], moment: float) -> Iterator[Held]:
    """Do something small now and then while the block runs, and keep how long it took."""
    held, over = Held(), threading.Event()

    def look() -> None:
        while not over.is_set():
            since = time.monotonic()
            with suppress(httpx.TransportError):
                what()
            held.at.append(now := time.monotonic())
            held.seconds.append(now - since)
            over.wait(moment)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        over.set()
        thread.join()


def syncing(path: Path) -> Callable[[], None]:
    """Write a block to a file and wait until the disk has it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT)

    def sync() -> None:
        os.pwrite(file, bytes(4096), 0)
        os.fdatasync(file)

    return sync


def stalls_of(times: np.ndarray, limit: float) -> list[Stall]:
    """Stretches in which requests took longer than the limit; ``times`` has kind, begin and end of each request."""
    found: list[Stall] = []
    slow = times[times[:, 2] - times[:, 1] > limit]
    for _, begin, end in slow[np.argsort(slow[:, 1])]:
        if not found or begin > found[-1].end:
            found.append(Stall(begin, end))
        last = found[-1]
        last.end, last.requests = max(last.end, end), last.requests + 1
        last.longest = max(last.longest, end - begin)
    return found


def within(samples: list[Sample], stall: Stall) -> list[Sample]:
    """The samples of a stall, with the one before and the one after."""
    begin = bisect.bisect_left(samples, stall.begin, key=lambda one: one[0])
    end = bisect.bisect_right(samples, stall.end, key=lambda one: one[0])
    return samples[max(begin - 1, 0) : end + 1]


def doing(inside: list[Sample]) -> str:
    """What the server's threads did in a stall: the functions they were seen in most often."""
    gap = max((b[0] - a[0] for a, b in pairwise(inside)), default=0.0)
    seen = Counter(f"{name}: {short(did)}" for _, threads, _ in inside for name, did in threads.items())
    words = [f"{did} ({times} of {len(inside)})" for did, times in seen.most_common(3)]
    return "; ".join([*words, f"interpreter held {1e3 * gap:.0f} ms"] if gap > 0.06 else words) or "nothing was seen"


def short(did: str, functions: int = 4) -> str:
    """The innermost functions."""
    return " > ".join(name.rpartition(".")[2] if n else name for n, name in enumerate(did.split(" > ")[-functions:]))


def quantiles(times: np.ndarray) -> str:
    """How long requests took, in milliseconds, and the longest time between two responses."""
    took, ends = 1e3 * (times[:, 2] - times[:, 1]), np.sort(times[:, 2])
    p50, p99, p999 = np.quantile(took, [0.5, 0.99, 0.999])
    silence = 1e3 * np.diff(ends).max()
    return f"{p50:.1f} | {p99:.1f} | {p999:.1f} | {took.max():.1f} | {silence:.1f}"


def memory_words(used: list[float], every: float = 5.0) -> str:
    """Whether memory grows: the slope of a line through the samples after the first fifth, in which caches fill."""
    later = used[len(used) // 5 :]
    slope = np.polyfit(np.arange(len(later)) * every / 60, later, 1)[0] if len(later) > 2 else float("nan")
    return f"Memory: {used[0]:,.0f} to {used[-1]:,.0f} MiB, {slope:+.2f} MiB a minute"


def report(setting: Setting, found: dict[str, Any], limit: float) -> list[str]:
    """The lines on a run."""
    times = found["times"]
    words = f"{len(times):,} requests, {found['failed']:,} of them failed, {found['rate']:.0f} pairs a second"
    lines = [f"\n## {setting.store}: {words}\n"]
    lines += ["| | p50 ms | p99 | p99.9 | longest | longest silence |", "|---|---:|---:|---:|---:|---:|"]
    for kind, name in enumerate(("rank", "feedback")):
        lines.append(f"| {name} | {quantiles(times[times[:, 0] == kind])} |")
    for name in ("disk", "machine", "metrics", "page"):
        held = 1e3 * np.array(found[name].seconds)
        lines.append(f"| {name} | {np.median(held):.1f} | {np.quantile(held, 0.99):.1f} | | {held.max():.1f} | |")
    lines.append(f"\n{memory_words(found['memory'])}\n")
    stalls = stalls_of(times, limit)
    lines.append(f"\n{len(stalls)} stalls above {1e3 * limit:.0f} ms\n")
    if stalls:
        lines += [
            "| at s | ms | requests | disk ms | machine ms | waited for a core ms | what the server did |",
            "|---:|---:|---:|---:|---:|---:|---|",
        ]
    for stall in stalls:
        disk, machine = (1e3 * found[name].longest(stall.begin, stall.end) for name in ("disk", "machine"))
        at, longest = stall.begin - times[0, 1], 1e3 * stall.longest
        inside = within(found["samples"], stall)
        core = 1e3 * (inside[-1][2] - inside[0][2])
        figures = [f"{at:.1f}", *(f"{value:.0f}" for value in (longest, stall.requests, disk, machine, core))]
        lines.append(f"| {' | '.join([*figures, doing(inside)])} |")
    return lines


def run(setting: Setting, folder: Path, where: dict[str, Any], users: int, options: dict[str, Any]) -> dict[str, Any]:
    """Put one server under load; the times of all requests, and what else was seen."""
    samples, record = folder / "samples.jsonl", folder / "times"
    log, catalog = folder / f"{setting.store}.log", catalog_in(folder, setting.items)
    served = Served(log=log, catalog=catalog, scope="user", rank_wait=None, **where)
    served.command[1:3] = [str(HERE / "sampled_server.py"), str(samples)]  # in place of -m rankfall
    with ExitStack() as stack:
        stack.enter_context(served)
        served.patch("/v1/models/default", feedback_wait=options["wait"])
        give_all_users_a_model(served, users)
        rate = options["rate"] or call(served.port, 10.0, options["connections"], users=users)["pairs"] / 2
        reader = stack.enter_context(httpx.Client(base_url=served.url, timeout=60, trust_env=False))
        watched = {
            "disk": (syncing(folder / "synced"), MOMENT),
            "machine": (lambda: time.sleep(0.001), MOMENT),
            "metrics": (lambda: reader.get("/metrics"), 5.0),
            "page": (lambda: reader.get("/v1/models/default"), 2.0),
        }
        memory: list[float] = []
        watched["memory"] = (lambda: memory.append(memory_of(served)), 5.0)
        held = {name: stack.enter_context(looking(what, moment)) for name, (what, moment) in watched.items()}
        called = call(
            served.port,
            60 * options["minutes"],
            options["connections"],
            users=users,
            rate=rate,
            silent=options["silent"],
            record=record,
        )
    lines = [json.loads(line) for line in samples.read_text().splitlines() if line.endswith("]")]
    times = np.frombuffer(record.read_bytes()).reshape(-1, 3)
    return {"times": times, "rate": rate, "samples": lines, **held, "memory": memory, "failed": called["failed"]}


@click.command(help=__doc__)
@click.option("--minutes", type=float, default=10.0, show_default=True, help="How long to measure each store.")
@click.option("--users", type=int, default=50_000, show_default=True, help="Number of users, each with a model.")
@click.option("--store", multiple=True, default=["sqlite"], type=click.Choice(["sqlite", "postgresql"]))
@click.option("--rate", type=float, help="Pairs a second.  [default: half of what the server can take]")
@click.option("--connections", type=int, default=16, show_default=True, help="Number of connections.")
@click.option("--silent", type=float, default=0.1, show_default=True, help="Share of lists without feedback.")
@click.option("--wait", type=float, default=30.0, show_default=True, help="Seconds until a list expires.")
@click.option("--limit", type=float, default=100.0, show_default=True, help="Milliseconds from which on it is a stall.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there, as Markdown.")
def main(store: tuple[str, ...], users: int, limit: float, out: Path | None, **options: Any) -> None:
    """Measure and print."""
    said = [f"{options['minutes']:g} minutes each, {users:,} users; machine of {os.cpu_count()} cores."]
    click.echo(said[0])
    for name in store:
        setting = Setting(1_000, "user", 1, name)
        with stores([setting]) as (folder, postgres), tempfile.TemporaryDirectory() as data:
            where = {"data": Path(data)} if postgres is None else {"store": postgres.fresh()}
            lines = report(setting, run(setting, folder, where, users, options), limit / 1e3)
        click.echo("\n".join(lines))
        said += lines
        if out is not None:
            out.write_text("\n".join(said) + "\n")


if __name__ == "__main__":
    sys.exit(main())
