"""How many steps a second policies that are not linear make in the compiled loop, and in the general one.

    python benchmarks/compiled_steps.py
    python benchmarks/compiled_steps.py CascadeKLUCB TopRank --items 10 --k 5 --steps 100000

Both loops play the same policy with the same user, coins and random numbers, in turns; both end in the same state,
which is checked. Times are processor times; the fastest of three counts.
"""

import time

import click
import numpy as np

from rankfall.catalog import Catalog
from rankfall.experiments.episodes.general import any_policy_with_user
from rankfall.experiments.episodes.play import Episode
from rankfall.experiments.episodes.stepwise import policy_with_compiled_steps
from rankfall.experiments.simulation import streams
from rankfall.policies import POLICIES, LinearPolicy, Policy, make_policy
from rankfall.users import Cascade, PerItem, PositionBased, User

NAMES = [name for name, policy in POLICIES.items() if not issubclass(policy, LinearPolicy)]
PIECE = 4096


def seconds(episode: Episode, policy: Policy, user: User, steps: int, k: int, seed: int) -> float | None:
    """Processor time of so many steps; None, if the episode does not take the pair."""
    coins, own = streams(seed)
    play = episode(policy, user, k, user.reward(user.best(k)), own)
    if play is None:
        return None
    totals = np.zeros((PIECE + 1, 4))
    began = time.process_time()
    for begin in range(0, steps, PIECE):
        n = min(PIECE, steps - begin)
        play(coins.random((n, k)), totals[: n + 1])
        totals[0] = totals[n]
    return time.process_time() - began


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--items", default=10, show_default=True, help="Number of items.")
@click.option("--k", default=5, show_default=True, help="Number of positions in a list.")
@click.option("--steps", default=100_000, show_default=True, help="Steps in the compiled loop; a tenth in the other.")
@click.option("--clicks", type=click.Choice(["cascade", "position"]), default="cascade", show_default=True)
def main(names: tuple[str, ...], items: int, k: int, steps: int, clicks: str) -> None:
    """Print the steps a second of each policy in both loops."""
    attraction = PerItem([0.2] * k + [0.05] * (items - k))
    user = User(attraction, Cascade() if clicks == "cascade" else PositionBased(0.7 ** np.arange(k)))
    rng = np.random.default_rng(0)
    catalog = Catalog(coverage=rng.random((items, 4)), relevance=rng.random((items, 4)))
    click.echo(f"{'':16} {'compiled':>12} {'general':>12} {'times':>7}   {items} items, lists of {k}, {clicks}")
    for name in names or NAMES:
        fastest: dict[tuple[str, int], float] = {}
        for seed in range(4):
            ends = {}
            for word, episode in (("compiled", policy_with_compiled_steps), ("general", any_policy_with_user)):
                for n in (steps // 10, steps) if word == "compiled" else (steps // 10,):
                    policy = make_policy(name, catalog, k=k, steps=steps)
                    took = seconds(episode, policy, user, n, k, seed)
                    if took is not None and seed:  # the first time kernels are compiled
                        fastest[word, n] = min(took, fastest.get((word, n), np.inf))
                    if took is not None and n < steps:
                        ends[word] = {key: array.tobytes() for key, array in policy.state().items()}
        general = steps // 10 / fastest["general", steps // 10]
        if ("compiled", steps) not in fastest:
            click.echo(f"{name:16} {'-':>12} {general:>12,.0f}")
            continue
        compiled = steps / fastest["compiled", steps]
        same = "" if ends["compiled"] == ends["general"] else "   other states!"
        click.echo(f"{name:16} {compiled:>12,.0f} {general:>12,.0f} {compiled / general:>7.1f}{same}")


if __name__ == "__main__":
    main()
