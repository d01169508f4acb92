"""What `rankfall replay` says of a policy that learns, beside what the policy earns online: docs/estimates.md.

    python benchmarks/replay_and_online.py

Lists of a log are drawn uniformly, so a replay teaches a policy more about every item than its own lists would.
"""

import click
import numpy as np

from rankfall import CascadeUCB1, Catalog, simulate
from rankfall.click_logs import read_click_log
from rankfall.history.replay import replay
from rankfall.history.replayable import ClickLogToReplay
from rankfall.users import Cascade, PerItem, User
from rankfall.users.fitting import draw_log

ITEMS, K, LISTS = 8, 2, 2_000
ALPHA = np.linspace(0.5, 0.05, ITEMS)


def replayed(user: User, seed: int) -> float:
    """The self-normalised estimate of a replay."""
    lists = np.argsort(np.random.default_rng(seed).random((LISTS, ITEMS)), axis=1)[:, :K]
    rows = draw_log(user, lists, seed).with_columns(propensity=1.0 / (ITEMS * (ITEMS - 1)))
    log = ClickLogToReplay("drawn", read_click_log(rows), Catalog(ids=range(ITEMS)))
    found = replay(log, "CascadeUCB1", 1.0).estimate
    assert found is not None
    assert found.self_normalised is not None
    return found.self_normalised.value


def online(user: User, seed: int) -> float:
    """What lists earn on average, while the policy learns from its own."""
    run = simulate(CascadeUCB1(ITEMS), user, LISTS, K, seed=seed)
    return float(run.best - run.regret[-1] / LISTS)


@click.command(help=__doc__)
@click.option("--repeats", type=click.IntRange(2), default=40, show_default=True)
def main(repeats: int) -> None:
    """Print both, with standard errors."""
    user = User(PerItem(ALPHA), Cascade())
    for name, measure in (("replay", replayed), ("online", online)):
        values = np.array([measure(user, seed) for seed in range(repeats)])
        click.echo(f"{name}: {values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(repeats):.3f}")
    click.echo(f"best list: {user.reward(user.best(K)):.3f}")


if __name__ == "__main__":
    main()
