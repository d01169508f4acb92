"""Call a service for a while, with pairs of rank and feedback, and print rates and times as JSON.

    python benchmarks/load_caller.py --port 8321 --seconds 10 --connections 16
    python benchmarks/load_caller.py --port 8321 --seconds 10 --rate 200 --watch server=1234

``benchmarks/load.py`` runs it in a process of its own. It speaks HTTP by hand, to take as little time as Python can.
Without a rate, every connection sends its next request as soon as it has a response. With a rate, pairs arrive at
random moments, whether or not the server keeps up; the time of a list counts from its arrival, also while it waits for
a free connection. The processor time of the processes to watch is that of the seconds measured, not of the warm-up.
"""

import asyncio
import gc
import json
import random
from array import array
from collections import deque
from pathlib import Path
from time import perf_counter, process_time

import click
import uvloop
from processor_time import processor_time

HEAD = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
K = 10


class Load:
    """Which requests are sent and when, and what is counted."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        users: int,
        rate: float | None,
        model: str,
        silent: float = 0.0,
        also: str = "{}",
    ) -> None:
        self.loop, self.users, self.rate, self.silent = loop, users, rate, silent
        self.also = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in json.loads(also).items())
        self.path = f"/v1/models/{model}/rank".encode()
        self.free: deque[Connection] = deque()
        self.waiting: deque[float] = deque()
        self.open = False
        self.next = 0.0
        self.forget()

    def forget(self) -> None:
        """Begin to count."""
        self.since, self.worked = perf_counter(), process_time()
        self.pairs = self.requests = self.failed = 0
        self.rank_seconds, self.feedback_seconds = array("d"), array("d")
        self.record = array("d")  # for each request: whether it was a feedback, when it was sent, when it was served
        self.failure = ""

    def fail(self, why: str) -> None:
        """Count a failure, and keep the first one as an example."""
        self.failed += 1
        self.failure = self.failure or why

    def arrive(self) -> None:
        """Queue the lists that have arrived by now. Timers are coarse, so times of arrival are kept apart from them."""
        if not self.open or self.rate is None:
            return
        while self.next <= (now := perf_counter()):
            self.waiting.append(self.next)
            self.next += random.expovariate(self.rate)
        self.loop.call_later(self.next - now, self.arrive)
        self.match()

    def match(self) -> None:
        """Give lists that wait to free connections."""
        while self.free and self.open:
            if self.rate is None:
                self.free.popleft().rank(perf_counter())
            elif self.waiting:
                self.free.popleft().rank(self.waiting.popleft())
            else:
                return

    def release(self, connection: "Connection") -> None:
        """Take back a connection that is free."""
        self.free.append(connection)
        self.match()


class Connection(asyncio.Protocol):
    """Asks for a list, gives feedback on it, and is free again."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.received = b""
        self.ranking = True
        self.since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to ask."""
        self.transport = transport
        self.load.release(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it as a failure, unless the load has ended."""
        if self.load.open:
            self.load.fail(f"a connection was lost: {exc}")

    def rank(self, since: float) -> None:
        """Ask for a list that arrived at a moment."""
        self.since, self.ranking = since, True
        body = b'{"user":"user %d","k":%d%s}' % (random.randrange(self.load.users), K, self.load.also.encode())
        self.transport.write(HEAD % (self.load.path, len(body), body))

    def feedback(self, event_id: bytes) -> None:
        """Send feedback on the list."""
        self.since, self.ranking = perf_counter(), False
        clicked = random.randrange(K + 1)
        body = b'{"event_id":"%s","clicked":%s}' % (event_id, b"%d" % clicked if clicked else b"null")
        self.transport.write(HEAD % (b"/v1/feedback", len(body), body))

    def data_received(self, data: bytes) -> None:
        """Go on when an answer is complete."""
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self.received.find(b"content-length: ", 0, end) + 16
        length = int(self.received[start : self.received.find(b"\r", start)])
        if len(self.received) < end + 4 + length:
            return
        answer, self.received = self.received, b""
        self.load.requests += 1
        now = perf_counter()
        took = now - self.since
        self.load.record.extend((not self.ranking, self.since, now))
        if self.ranking:
            self.load.rank_seconds.append(took)
            event_id = _value(answer, b'"event_id":', end)
            if answer[9:12] == b"200" and event_id is not None:
                if random.random() < self.load.silent:
                    self.load.release(self)
                    return
                self.feedback(event_id)
                return
        else:
            self.load.feedback_seconds.append(took)
            self.load.pairs += 1
        if answer[9:12] != b"200" or (b'"accepted":1' not in answer and b'"accepted": 1' not in answer):
            self.load.fail(answer.decode(errors="replace")[:500])
        self.load.release(self)


def _value(answer: bytes, name: bytes, start: int) -> bytes | None:
    found = answer.find(name, start)
    parts = answer[found + len(name) : found + len(name) + 100].split(b'"', 2) if found >= 0 else []
    return parts[1] if len(parts) == 3 and not parts[0].strip() else None


async def call(
    port: int,
    seconds: float,
    connections: int,
    users: int,
    rate: float | None,
    warm_up: float,
    model: str,
    watch: tuple[str, ...],
    silent: float,
    also: str,
    record: Path | None,
) -> dict[str, object]:
    """Call a server for some seconds; the rates and times measured."""
    loop = asyncio.get_running_loop()
    load = Load(loop, users, rate, model, silent, also)
    watched = {name: int(pid) for name, _, pid in (one.partition("=") for one in watch)}
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(load), "127.0.0.1", port)
    load.open, load.next = True, perf_counter()
    load.arrive()
    load.match()
    await asyncio.sleep(warm_up)
    before = {name: processor_time(pid) for name, pid in watched.items()}
    load.forget()
    await asyncio.sleep(seconds)
    took = perf_counter() - load.since
    used = {name: processor_time(pid) - before[name] for name, pid in watched.items()}
    used["callers"] = process_time() - load.worked
    load.open = False
    if record is not None:
        record.write_bytes(load.record.tobytes())
    return {
        "pairs": load.pairs / took,
        "requests": load.requests / took,
        "rank": _quantiles(load.rank_seconds),
        "feedback": _quantiles(load.feedback_seconds),
        "processor": {name: 1e3 * seconds / max(load.pairs, 1) for name, seconds in used.items()},
        "waiting": len(load.waiting),
        "failed": load.failed,
        "failure": load.failure,
    }


def _quantiles(seconds: "array[float]") -> dict[str, float]:
    """Median and 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return {name: 1e3 * ordered[int(q * len(ordered))] if ordered else 0.0 for name, q in (("p50", 0.5), ("p99", 0.99))}


@click.command(help=__doc__)
@click.option("--port", type=int, required=True, help="Port of the service.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="How long to measure.")
@click.option("--connections", type=int, default=16, show_default=True, help="Number of connections.")
@click.option("--users", type=int, default=100_000, show_default=True, help="Number of different users.")
@click.option("--rate", type=float, help="Pairs a second.  [default: as many as the service can take]")
@click.option("--warm-up", type=float, default=1.0, show_default=True, help="Seconds before measuring begins.")
@click.option("--model", default="default", show_default=True, help="Model to call.")
@click.option("--silent", type=float, default=0.0, show_default=True, help="Share of lists without feedback.")
@click.option("--also", default="{}", show_default=True, help="More fields of every request for a list, as JSON.")
@click.option("--record", type=click.Path(path_type=Path), help="Write the times of all requests there.")
@click.option("--watch", multiple=True, help="name=pid of a process whose processor time is counted.")
def main(**options: object) -> None:
    """Call the service and print what was measured."""
    gc.disable()
    click.echo(json.dumps(uvloop.run(call(**options))))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
