"""What section 4.3 of the paper says of its experiments, each statement tested on runs of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankfall.experiments.paper.paper_runs import PaperRuns
from rankfall.experiments.paper.verdicts import Claim, Question, Setting, judge, setting_name

if TYPE_CHECKING:
    import polars as pl

LITTLE = 0.25
"""A gap is little, and two regrets are similar, up to this share. The paper gives no number; this one is ours."""

HYBRID, LINUCB, LSB = "CascadeHybrid", "CascadeLinUCB", "CascadeLSB"
LINUCB_FULL, LSB_FULL = "CascadeLinUCBFull", "CascadeLSBFull"
BASELINES = (LINUCB, LINUCB_FULL, LSB, LSB_FULL)
_MIDDLE = tuple(("tradeoff", step / 10) for step in range(1, 9))


def check_claims(runs: pl.DataFrame) -> list[Claim]:
    """Every empirical statement of section 4.3, tested on the runs of a :func:`rankfall.experiments.paper_study`."""
    table = PaperRuns(runs)
    return [check(table) for check in _CHECKS]


def _below(table: PaperRuns, settings: Iterable[Setting], policy: str, others: Iterable[str]) -> list[Question]:
    """That the policy's regret is below that of each other, in each setting."""
    return [
        Question(setting, f"{policy} - {other}", table.values(setting, {policy: 1.0, other: -1.0}))
        for setting in settings
        for other in others
    ]


def _lowest(name: str, statement: str, pick: Callable[[PaperRuns], list[Setting]]) -> Callable[[PaperRuns], Claim]:
    def check(table: PaperRuns) -> Claim:
        settings = pick(table)
        return judge(name, statement, _below(table, settings, HYBRID, BASELINES), _gaps(table, settings))

    return check


def _gaps(table: PaperRuns, settings: Sequence[Setting]) -> list[str]:
    """How large the smallest gap to the best baseline is."""
    shares = {}
    for setting in settings:
        rivals = [mean for name in BASELINES if (mean := _mean(table, setting, name)) is not None]
        own = _mean(table, setting, HYBRID)
        if rivals and own is not None and min(rivals) > 0:
            shares[setting] = 1 - own / min(rivals)
    if not shares:
        return []
    least = min(shares, key=lambda setting: shares[setting])
    side = "below" if shares[least] >= 0 else "above"
    return [
        f"at {setting_name(least)}, where it compares worst, its mean regret is {_share(abs(shares[least]))} {side} "
        "the best baseline's"
    ]


def _mean(table: PaperRuns, setting: Setting, policy: str) -> float | None:
    values = table.values(setting, {policy: 1.0})
    return float(values.mean()) if len(values) else None


def _share(share: float) -> str:
    return f"{share:.0%}"


def _specialist(policy: str, value: float) -> Callable[[PaperRuns], Claim]:
    """Ahead of hybrid, by little: both regrets within ``LITTLE`` of hybrid's."""

    def check(table: PaperRuns) -> Claim:
        setting = ("tradeoff", value)
        questions = [
            *_below(table, [setting], policy, [HYBRID]),
            Question(
                setting,
                f"{1 - LITTLE:g} * {HYBRID} - {policy}",
                table.values(setting, {HYBRID: 1 - LITTLE, policy: -1.0}),
            ),
        ]
        both = {HYBRID: 1.0, policy: -1.0}
        gap, own = table.values(setting, both), _mean(table, setting, HYBRID)
        words = []
        if len(gap) and own:
            words = [f"the gap is {_share(float(gap.mean()) / own)} of {HYBRID}'s regret"]
        return judge(
            f"{'diversity' if policy == LSB else 'relevance'}-only",
            f"{policy} is ahead of {HYBRID} at {setting_name(setting)}, by little "
            f"(at most {LITTLE:.0%} of {HYBRID}'s regret).",
            questions,
            words,
        )

    return check


def _full(table: PaperRuns) -> Claim:
    return judge(
        "full-variants",
        f"{HYBRID} has lower regret than {LINUCB_FULL} and {LSB_FULL} in all cases.",
        _below(table, table.settings, HYBRID, (LINUCB_FULL, LSB_FULL)),
    )


def _generalise(table: PaperRuns) -> Claim:
    questions = [
        *_below(table, [("tradeoff", 0.0)], HYBRID, [LINUCB]),
        *_below(table, [("tradeoff", 1.0)], HYBRID, [LSB]),
    ]
    return judge(
        "specialists",
        f"{LSB} and {LINUCB} do not generalise: at the other's end of λ, each has more regret than {HYBRID}.",
        questions,
    )


def _shrinks(table: PaperRuns) -> Claim:
    settings = table.of("topics")
    gaps = [table.combine(setting, {LINUCB_FULL: 1.0, HYBRID: -1.0}) for setting in settings]
    users = [user for user in gaps[0] if all(user in gap for gap in gaps)] if len(gaps) > 1 else []
    words = [] if users else ["needs two numbers of topics with both policies"]
    slopes = np.array([])
    # A gap that is not there cannot shrink: at the smallest d, hybrid must be ahead.
    premise = _below(table, settings[:1], HYBRID, [LINUCB_FULL]) if users else []
    if users:
        d = np.array([value for _, value in settings])
        d -= d.mean()
        slopes = np.array([[gap[user] for gap in gaps] for user in users]) @ d / (d @ d)
        means = ", ".join(
            f"{np.mean([g[u] for u in users]):,.4g} at {setting_name(s)}" for g, s in zip(gaps, settings, strict=True)
        )
        words = [f"mean gap {means}"]
    return judge(
        "gap-shrinks",
        f"The gap in regret between {HYBRID} and {LINUCB_FULL} decreases with larger d.",
        [*premise, Question(None, "slope of the gap on d", slopes, "regret for each topic more")],
        words,
    )


def _similar(table: PaperRuns) -> Claim:
    settings = table.of("topics")
    questions = []
    if len(settings) > 1:
        small, large = settings[0], settings[-1]
        questions = [
            *_below(table, [large], LINUCB_FULL, [LSB_FULL]),
            Question(
                small,
                f"{LSB_FULL} - {1 + LITTLE:g} * {LINUCB_FULL}",
                table.values(small, {LSB_FULL: 1.0, LINUCB_FULL: -1 - LITTLE}),
            ),
            Question(
                small,
                f"{1 - LITTLE:g} * {LINUCB_FULL} - {LSB_FULL}",
                table.values(small, {LINUCB_FULL: 1 - LITTLE, LSB_FULL: -1.0}),
            ),
        ]
    return judge(
        "full-by-topics",
        f"{LINUCB_FULL} outperforms {LSB_FULL} for large d, while they perform similarly "
        f"(within {LITTLE:.0%}) for small d.",
        questions,
    )


def _sublinear(table: PaperRuns) -> Claim:
    growth = table.growth(HYBRID)
    questions = [
        Question(setting, "slope", growth[setting][0], "slope of log regret on log step, last decade", 1.0)
        for setting in table.settings
        if setting in growth
    ]
    without = sum(number for _, number in growth.values())
    words = []
    if without:
        words = [f"slopes left out: {without}, for regret that is not above 0 or fewer than 3 checkpoints"]
    means = [float(q.values.mean()) for q in questions if len(q.values)]
    if means:
        words.append(f"mean slopes from {min(means):.2f} to {max(means):.2f}")
    return judge(
        "sublinear",
        f"The regret of {HYBRID} grows slower than the number of steps.",
        questions,
        words,
    )


_CHECKS: tuple[Callable[[PaperRuns], Claim], ...] = (
    _lowest(
        "lowest-tradeoff",
        f"{HYBRID} outperforms all baselines for λ = 0.1, 0.2, …, 0.8.",
        lambda table: list(_MIDDLE) if table.of("tradeoff") else [],
    ),
    _specialist(LSB, 0.0),
    _specialist(LINUCB, 1.0),
    _generalise,
    _full,
    _lowest("lowest-topics", f"{HYBRID} outperforms all baselines for every d.", lambda table: table.of("topics")),
    _shrinks,
    _similar,
    _lowest(
        "lowest-positions", f"{HYBRID} outperforms all baselines for every K.", lambda table: table.of("positions")
    ),
    _sublinear,
)
