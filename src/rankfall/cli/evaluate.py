"""``rankfall evaluate``: what policies are worth, estimated from a log."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankfall.cli.click_model_names import ClickModelName
from rankfall.cli.log_options import one_model_options
from rankfall.cli.option_types import RewardsType
from rankfall.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankfall.cli.evaluate_simulation import GoingOn
    from rankfall.cli.evaluate_tables import Evaluation
    from rankfall.estimates import RewardModel
    from rankfall.history.evaluation import Snapshot
    from rankfall.history.judged_lists import Earning
    from rankfall.history.replayable import ReplayableLog
    from rankfall.item_names import Id
    from rankfall.policies.rewards import Rewards
    from rankfall.users.fitting.fitted_table import Model

TOO_LONG = (
    "Lists have up to {} items, and in the first part, which users are fitted to, up to {}: so there is neither "
    "Cascade-DR, nor the direct method, nor a simulation"
)


@click.command(name="evaluate")
@click.argument("path", metavar="LOG", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    required=True,
    multiple=True,
    help="What to judge: a policy that rankfall policies marks with *, learned from the first part of the log, such as "
    "CascadeHybrid or CascadeLSB,gamma=0.3; or the file of a saved policy. May be repeated.",
)
@click.option(
    "--reward",
    "earning",
    type=click.Choice(["any", "clicks", "worth"]),
    help="What a list earns: 1 for any click, the number of its clicks, or what its clicks and outcomes are worth.  "
    "[default: worth, where that is known; else any]",
)
@click.option(
    "--rewards",
    type=RewardsType(),
    help="What a click and outcomes are worth: click=1,cart=2,purchase=5.  [default: as in the log]",
)
@click.option(
    "--learn-from",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of the lists, from the beginning, that policies and fitted users learn from; the others judge.",
)
@one_model_options
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Lists to ask for each request of a policy that draws.",
)
@click.option(
    "--count-among",
    type=click.IntRange(10),
    default=1000,
    show_default=True,
    help="Lists among which the chance of a logged list is counted, where it was drawn by Thompson sampling.",
)
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    help="Resamples for intervals by the bootstrap; 0 for none.",
)
@click.option(
    "--click-model",
    type=ClickModelName(),
    help="The click model of the users fitted to the first part, for Cascade-DR, the direct method and simulations.  "
    "[default: the one under which lists set aside are most likely]",
)
@click.option("--no-simulation", is_flag=True, help="Do not simulate how policies go on learning.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random numbers.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the numbers (evaluation.json) and a figure (estimates.png, .svg) to this folder.",
)
def command(
    path: Path,
    policies: tuple[str, ...],
    earning: Earning | None,
    rewards: Rewards | None,
    learn_from: float,
    log_model: str | None,
    catalog: Path | None,
    columns: tuple[tuple[str, str], ...],
    draws: int,
    count_among: int,
    resamples: int,
    click_model: Model | None,
    no_simulation: bool,
    seed: int,
    out: Path | None,
) -> None:
    """Estimate what policies are worth from a log.

    LOG is a folder that rankfall export wrote, or, with --catalog, any click log (see rankfall import). Policies learn
    from the first part of the log and are judged, as they are then, by lists of the second part that were drawn with a
    known chance. How they would go on learning is simulated, on users fitted to the first part. docs/estimates.md
    explains the estimators and how far to trust them.
    """
    from rich.console import Console

    from rankfall.cli.evaluate_simulation import counted_for, simulated
    from rankfall.cli.evaluate_tables import Evaluation, say
    from rankfall.estimates import with_worth
    from rankfall.files import make_folder
    from rankfall.history.evaluation import clicks_until, judge
    from rankfall.history.judged_lists import judged_lists, moment_after
    from rankfall.history.logged_outcomes import click_worth
    from rankfall.history.replayable import open_log
    from rankfall.users.fitting import read_log
    from rankfall.users.fitting.reward_model import best_fit, reward_model

    for name, times in Counter(Path(words).name for words in policies).items():
        if times > 1:
            told = f"{times} policies are called {name}; give each a name of its own"
            raise click.BadParameter(told, param_hint="--policy")
    if out is not None:
        make_folder(out)  # before all the work
    log = open_log(path, model=log_model, catalog=catalog, columns=dict(columns))
    rewards = rewards or log.rewards
    earning, notes = _earning(log, earning, rewards)
    moment = moment_after(log, learn_from)
    judged = judged_lists(log, moment, count_among, seed, rewards)
    snapshots = [_snapshot(log, words, moment, rewards) for words in policies]
    clicks = clicks_until(log, moment)
    worth = None if rewards is None else click_worth(log, moment, rewards)
    chosen = best_fit(read_log(clicks), counted_for(earning), click_model, seed)
    k = judged.items.shape[1]
    too_long = k > chosen.fitted.positions
    if too_long:
        notes.append(TOO_LONG.format(k, chosen.fitted.positions))

    def model(ids: Sequence[Id]) -> RewardModel:
        expected = reward_model(chosen.fitted, ids, counted_for(earning))
        return with_worth(expected, worth(ids)) if worth is not None and earning == "worth" else expected

    with progress_bar("judging", len(judged) * len(snapshots)) as step:
        ask = partial(judge, log, judged, draws=draws, resamples=resamples, seed=seed, progress=step)
        found = [ask(one, earning, None if too_long else model) for one in snapshots]
    people: str | None = None
    going_on: dict[str, GoingOn] = {}
    if not (no_simulation or too_long):
        people, going_on = simulated(log, judged, snapshots, chosen, clicks, earning, rewards, worth, seed)
    evaluation = Evaluation(judged, found, people, going_on, chosen, earning, notes)
    say(Console(), evaluation)
    if out is not None:
        _write(evaluation, out)


def _earning(log: ReplayableLog, earning: Earning | None, rewards: Rewards | None) -> tuple[Earning, list[str]]:
    """What a list earns, if that is not said, and what there is to know of it."""
    from rankfall.history.logged_outcomes import unpaid_outcomes

    if rewards is not None:
        return earning or "worth", []
    if earning == "worth":
        raise click.UsageError("the log does not say what clicks and outcomes are worth; give --rewards click=1,...")
    return earning or "any", unpaid_outcomes(log)


def _write(evaluation: Evaluation, out: Path) -> None:
    """The numbers and the figure."""
    from rankfall.cli.evaluate_tables import plain, rows_of_figure
    from rankfall.experiments.figures.estimates import estimates_figure
    from rankfall.experiments.figures.saving import save
    from rankfall.files import replacing

    with replacing(out / "evaluation.json") as temporary:
        temporary.write_text(json.dumps(plain(evaluation), indent=2) + "\n")
    rows, logged = rows_of_figure(evaluation.found), evaluation.logged
    written = [out / "evaluation.json"]
    if rows:
        figure = estimates_figure(rows, logged=(logged.value, logged.low, logged.high), what=evaluation.what)
        written += save(figure, out / "estimates")
    for each in written:
        click.echo(f"Wrote {each}.")


def _snapshot(log: ReplayableLog, words: str, moment: Any, rewards: Rewards | None) -> Snapshot:
    """The policy that is meant: one that was saved, or one that learns from the log up to a moment."""
    from rankfall.history.evaluation import learned_snapshot, saved_snapshot
    from rankfall.policies.registry import find_served_policy, look_in, served_gamma
    from rankfall.policies.saving import load

    if Path(words).is_file():
        return saved_snapshot(Path(words).name, load(words))
    if Path(words).suffix == ".rankfall" or len(Path(words).parts) > 1:
        raise click.BadParameter(f"the file {words} does not exist", param_hint="--policy")
    look_in(Path.cwd())
    name, *settings = (part.strip() for part in words.split(","))
    given = dict(part.partition("=")[::2] for part in settings)
    if set(given) - {"gamma"}:
        told = f"{words!r}: only gamma can be set, as in CascadeHybrid,gamma=0.3; or give the file of a saved policy"
        raise click.BadParameter(told, param_hint="--policy")
    try:
        gamma = float(given["gamma"]) if given else served_gamma(find_served_policy(name))
    except ValueError:
        raise click.BadParameter(f"{words!r}: gamma must be a number", param_hint="--policy") from None
    return learned_snapshot(log, words, name, gamma, moment, rewards)
