"""Whether the memory of the service stays flat under load.

    python benchmarks/soak.py --minutes 10
    python benchmarks/soak.py --minutes 10 --only "1000 user 1w postgresql"

The load is half of what the server can take. Memory is sampled; the slope is that of a straight line through the
samples after the first fifth, in which caches fill.
"""

import threading
import time

import click
import numpy as np
from load import call, chosen, memory, serving, stores


@click.command(help=__doc__)
@click.option("--minutes", type=float, default=10.0, show_default=True, help="How long to measure.")
@click.option("--connections", type=int, default=16, show_default=True, help="Number of connections.")
@click.option("--only", default="1000 global 1w sqlite", show_default=True, help="Words of one setting.")
@click.option("--every", type=float, default=5.0, show_default=True, help="Seconds between samples.")
def main(minutes: float, connections: int, only: str, every: float) -> None:
    """Put the service under load, sample its memory, and print the slope."""
    setting, *others = chosen((only,), quick=False) or [None]
    if setting is None or others:
        raise click.ClickException(f"--only {only!r} must choose one setting")
    with stores([setting]) as (folder, postgres), serving(setting, folder, postgres) as served:
        rate = call(served.port, 10.0, connections)["pairs"] / 2
        samples: list[tuple[float, float]] = []
        found: list[dict[str, object]] = []
        work = threading.Thread(
            target=lambda: found.append(call(served.port, 60 * minutes, connections, rate=max(1.0, rate)))
        )
        start = time.monotonic()
        work.start()
        while work.is_alive():
            samples.append(((time.monotonic() - start) / 60, memory(served)))
            click.echo(f"{samples[-1][0]:6.2f} min {samples[-1][1]:9.1f} MiB")
            work.join(every)
    at, used = np.array(samples[len(samples) // 5 :]).T
    slope = np.polyfit(at, used, 1)[0] if len(at) > 2 else float("nan")
    click.echo(f"{setting}, {rate:,.0f} pairs/s: {used[0]:,.1f} to {used[-1]:,.1f} MiB, {slope:+.2f} MiB a minute")
    click.echo(str(found[0]))


if __name__ == "__main__":
    main()
