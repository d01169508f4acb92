"""``rankfall replay``: let another policy learn from a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from rankfall.cli.log_options import one_model_options
from rankfall.cli.option_types import ForgettingType, RewardsType, ServedPolicyName
from rankfall.cli.progress import progress_bar
from rankfall.policies.linear.settings import Feedback
from rankfall.policies.registry import find_served_policy, served_gamma

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rankfall.history.estimate import OffPolicy
    from rankfall.history.replay import Replay
    from rankfall.policies.forgetting import Discount, Window
    from rankfall.policies.rewards import Rewards
    from rankfall.wire import Scope


@click.command(name="replay")
@click.argument("path", metavar="LOG", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    required=True,
    type=ServedPolicyName(),
    help="The policy that learns: one that rankfall policies marks with *, or your own as module:Name.",
)
@click.option(
    "--gamma",
    type=click.FloatRange(0),
    help="How much the policy explores.  [default: 0.5, for policies that have it]",
)
@one_model_options
@click.option(
    "--scope",
    type=click.Choice(["global", "segment", "user"]),
    help="Whether there is one state in all, or one for each segment or user.  [default: as in the log]",
)
@click.option(
    "--forgetting",
    type=ForgettingType(),
    help="How the policy forgets: discount=0.999, or window=1000 (lists).  [default: never]",
)
@click.option(
    "--feedback",
    type=click.Choice(get_args(Feedback)),
    help="Which items count as seen: down to the first click, to the last, or all.  [default: as the policy has it]",
)
@click.option(
    "--rewards",
    type=RewardsType(),
    help="What a click and outcomes are worth: click=1,cart=2,purchase=5.  [default: as in the log]",
)
@click.option("--every-list", is_flag=True, help="Also learn from lists that the service did not learn from.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the result to this file, as JSON.")
def command(
    path: Path,
    policy: str,
    gamma: float | None,
    log_model: str | None,
    catalog: Path | None,
    columns: tuple[tuple[str, str], ...],
    scope: Scope | None,
    forgetting: Discount | Window | None,
    feedback: Feedback | None,
    rewards: Rewards | None,
    every_list: bool,
    out: Path | None,
) -> None:
    """Let another policy learn from a log.

    LOG is a folder that rankfall export wrote, or, with --catalog, any click log (see rankfall import). Prints what the
    policy learned, how often it would have shown the same list, and, if lists were chosen at random with a chance that
    is known, an estimate of its click rate, and of what a list earned, with what the log had taught it by then. That is
    not what it would have had online; rankfall evaluate judges policies as they are at one moment.
    """
    from rich.console import Console

    from rankfall.files import check_folder_of, replacing
    from rankfall.history.logged_outcomes import unpaid_outcomes
    from rankfall.history.replay import replay
    from rankfall.history.replayable import open_log

    if out is not None:
        check_folder_of(out)  # before the work, not after it
    log = open_log(path, model=log_model, catalog=catalog, columns=dict(columns))
    with progress_bar("replaying", log.height) as step:
        result = replay(
            log,
            policy,
            served_gamma(find_served_policy(policy)) if gamma is None else gamma,
            scope,
            forgetting=forgetting,
            feedback=feedback,
            rewards=rewards,
            every_list=every_list,
            progress=step,
        )
    _say(Console(), result, unpaid_outcomes(log) if result.rewards is None else [])
    if out is not None:
        with replacing(out) as temporary:
            temporary.write_text(json.dumps(result.plain(), indent=2) + "\n")
        click.echo(f"Wrote {out}.")


def _say(console: Console, result: Replay, unpaid: list[str]) -> None:
    from rich.table import Table

    counts = result.counts
    each = "" if result.scope == "global" else f", {len(result.policies):,} states, one for each {result.scope}"
    fading = "" if result.forgetting is None else f", {result.forgetting}"
    table = Table(
        title=f"{result.policy}, gamma {result.gamma:g}{fading}, on the log of {result.model!r}{each}",
        title_justify="left",
        show_header=False,
    )
    table.add_column()
    table.add_column(justify="right")
    table.add_row("lists in the log", f"{counts.lists:,}")
    table.add_row("learned from", f"{counts.learned:,}")
    for name, value in (
        ("outcomes learned from", result.outcomes),
        ("without feedback", counts.without_feedback),
        ("not meant for learning (see --every-list)", counts.not_for_learning),
        (f"without a {result.scope}", counts.without_owner),
        ("with items that were not in the catalog", counts.without_catalog),
    ):
        if value:
            table.add_row(name, f"{value:,}")
    if counts.ranked:
        table.add_row("would have shown the same list", f"{counts.same_list / counts.ranked:.1%}")
        table.add_row("would have shown the same top item", f"{counts.same_top / counts.ranked:.1%}")
    table.add_section()
    for name, weight in result.weights.items():
        table.add_row(f"weight of {name}", f"{weight:+.4f}")
    table.add_section()
    table.add_row("with a known chance below 1, of those with feedback", f"{counts.random:,} ({result.support:.1%})")
    found = result.estimate
    if found is not None:
        table.add_row(
            "of these, lists that it would have shown",
            f"{found.matched:,} (effective sample size {found.effective:,.0f})",
        )
        _say_estimate(table, "click rate", found)
    if result.reward_estimate is not None:
        _say_estimate(table, "reward of a list", result.reward_estimate)
    console.print(table)
    if result.why is not None:
        console.print(result.why[0].upper() + result.why[1:] + ".", highlight=False)
    for note in (*result.notes, *unpaid):
        console.print(f"Note: {note}", highlight=False)


def _say_estimate(table: Table, what: str, found: OffPolicy) -> None:
    table.add_row(f"{what} of those with a known chance", f"{found.logged:.4f}")
    table.add_row(f"estimated {what} of this policy, IPS", _interval(found.ips.value, found.ips.low, found.ips.high))
    if found.self_normalised is not None:
        one = found.self_normalised
        table.add_row(f"estimated {what}, self-normalised", _interval(one.value, one.low, one.high))


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.4f} ({low:.4f} to {high:.4f})"
