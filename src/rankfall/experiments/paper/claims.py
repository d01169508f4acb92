"""What section 4.3 of the paper says of its experiments, each statement tested on runs of our own.

Every test is on differences within a user, who met all policies with the same coins. Repeats are averaged first, so
that users are the units, and a mean over users gets a t-interval. A claim that needs m intervals takes each at level
1 - 0.05 / m (Bonferroni), so that all of them are right at once with 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from rankfall.arrays import FloatArray
from rankfall.experiments.results import SETTING, checked, final

if TYPE_CHECKING:
    import polars as pl

Verdict: TypeAlias = Literal["holds", "does not hold", "undecided", "not tested"]
Setting: TypeAlias = tuple[str, float]

LEVEL = 0.95
"""How sure all intervals of one claim are, together."""

LITTLE = 0.25
"""A gap is little, and two regrets are similar, up to this share. The paper gives no number; this one is ours."""

HYBRID, LINUCB, LSB = "CascadeHybrid", "CascadeLinUCB", "CascadeLSB"
LINUCB_FULL, LSB_FULL = "CascadeLinUCBFull", "CascadeLSBFull"
BASELINES = (LINUCB, LINUCB_FULL, LSB, LSB_FULL)
SYMBOLS = {"tradeoff": "λ", "topics": "d", "positions": "K"}
_MIDDLE = tuple(("tradeoff", step / 10) for step in range(1, 9))


@dataclass(frozen=True)
class Part:
    """One interval of a claim, said of one setting or of a trend over several.

    Attributes
    ----------
    study, value : the setting; None for a trend over several.
    what : the quantity; the part holds if it is below ``bound``.
    measure : what kind of quantity it is.
    estimate : its mean over users; NaN if it could not be had.
    low, high : its interval; NaN with fewer than two users.
    users : how many there are.
    """

    study: str | None
    value: float | None
    what: str
    measure: str
    bound: float
    estimate: float
    low: float
    high: float
    users: int

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval is below the bound, or above it."""
        if not self.users:
            return "not tested"
        if self.high < self.bound:
            return "holds"
        return "does not hold" if self.low > self.bound else "undecided"

    @property
    def _distance(self) -> float:
        """How far above the bound, in half widths of the interval."""
        above, half = self.estimate - self.bound, (self.high - self.low) / 2
        return above / half if half > 0 else math.copysign(math.inf, above) if half == 0 and above else 0.0


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and what the runs say of it.

    Attributes
    ----------
    verdict : holds if all parts hold; does not hold if any part does not; not tested if there are no runs for any
        part; otherwise undecided.
    estimate, low, high : of the part that is furthest from holding.
    detail : what was found, in words.
    measure : what they measure, and what they must stay below.
    parts : all intervals, also those that are not tested.
    """

    name: str
    statement: str
    verdict: Verdict
    estimate: float
    low: float
    high: float
    detail: str
    measure: str = ""
    parts: tuple[Part, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class _Question:
    """A quantity with a value for each user, said to be below ``bound`` on average."""

    setting: Setting | None
    what: str
    values: FloatArray
    measure: str = "difference in final regret"
    bound: float = 0.0


def interval(values: FloatArray, level: float) -> tuple[float, float, float]:
    """Mean and t-interval at this level; an interval of NaN for fewer than two values.

    >>> [round(number, 3) for number in interval(np.array([1.0, 2.0, 3.0]), 0.95)]
    [2.0, -0.484, 4.484]
    """
    if not len(values):
        return math.nan, math.nan, math.nan
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, math.nan, math.nan
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return mean, mean - half, mean + half


def check_claims(runs: pl.DataFrame) -> list[Claim]:
    """Every empirical statement of section 4.3, tested on these runs."""
    table = _Table(checked(runs))
    return [check(table) for check in _CHECKS]


class _Table:
    """Runs by setting and policy, so that policies can be compared user by user."""

    def __init__(self, runs: pl.DataFrame) -> None:
        keys = [*SETTING, "policy"]
        last = final(runs).select(*keys, "user", "repeat", "regret")
        self._final = {
            _cell(*key): {
                (user, repeat): regret for user, repeat, regret in group.select("user", "repeat", "regret").rows()
            }
            for key, group in last.group_by(keys, maintain_order=True)
        }
        self._runs = runs
        self.settings: list[Setting] = sorted(
            {(study, value) for study, value, _ in self._final},
            key=lambda s: (list(SYMBOLS).index(s[0]) if s[0] in SYMBOLS else len(SYMBOLS), s),
        )

    def of(self, study: str) -> list[Setting]:
        """The settings of one study, in order."""
        return [setting for setting in self.settings if setting[0] == study]

    def combine(self, setting: Setting, weights: dict[str, float]) -> dict[object, float]:
        """For each user the weighted sum of the policies' final regrets, over runs that all of them have."""
        cells = [self._final.get((*setting, policy), {}) for policy in weights]
        users: dict[object, list[float]] = {}
        for key in cells[0]:
            if all(key in cell for cell in cells):
                total = sum(weight * cell[key] for weight, cell in zip(weights.values(), cells, strict=True))
                users.setdefault(key[0], []).append(total)
        return {user: math.fsum(totals) / len(totals) for user, totals in users.items()}

    def values(self, setting: Setting, weights: dict[str, float]) -> FloatArray:
        """The same as an array."""
        return np.array(list(self.combine(setting, weights).values()))

    def growth(self, policy: str) -> dict[Setting, tuple[FloatArray, int]]:
        """Slope of log regret on log step over the last decade of steps, for each user; and how many have none."""
        import polars as pl

        rows = (
            self._runs.filter(policy=policy)
            .filter(pl.col("step") * 10 >= pl.col("step").max().over(SETTING))
            .group_by(*SETTING, "user", "step", maintain_order=True)
            .agg(pl.col("regret").mean())
        )
        x, y = pl.col("step").log(), pl.col("regret").log()
        usable = (pl.len() >= 3) & (pl.col("regret") > 0).all()
        slopes = (
            rows.sort("step", maintain_order=True)
            .group_by(*SETTING, "user", maintain_order=True)
            .agg(pl.when(usable).then(pl.cov(x, y) / x.var()).alias("slope"))
        )
        found = {}
        for (study, value), group in slopes.group_by(SETTING, maintain_order=True):
            known = group["slope"].drop_nulls()
            found[_cell(study, value, policy)[:2]] = (known.to_numpy(), group.height - len(known))
        return found


def _cell(study: object, value: object, policy: object) -> tuple[str, float, str]:
    return str(study), round(float(value), 9), str(policy)  # type: ignore[arg-type]


def _name(setting: Setting) -> str:
    return f"{SYMBOLS.get(setting[0], setting[0])} = {setting[1]:g}"


def _below(table: _Table, settings: Iterable[Setting], policy: str, others: Iterable[str]) -> list[_Question]:
    """That the policy's regret is below that of each other, in each setting."""
    return [
        _Question(setting, f"{policy} - {other}", table.values(setting, {policy: 1.0, other: -1.0}))
        for setting in settings
        for other in others
    ]


def _judge(name: str, statement: str, questions: Sequence[_Question], words: Sequence[str] = ()) -> Claim:
    """Intervals for all questions, and the verdict they add up to."""
    level = 1 - (1 - LEVEL) / max(1, len(questions))
    parts = tuple(_part(question, level) for question in questions)
    worst = max(parts, key=lambda part: (bool(part.users), _RANK[part.verdict], part._distance), default=None)
    if worst is None or not worst.users:
        nothing = "; ".join(["no runs for it", *words]) + "."
        return Claim(name, statement, "not tested", math.nan, math.nan, math.nan, nothing, parts=parts)
    detail = "; ".join([*_found(parts, worst), *words]) + "."
    measure = f"{worst.measure}; holds below {worst.bound:g}"
    return Claim(name, statement, _together(parts), worst.estimate, worst.low, worst.high, detail, measure, parts)


def _part(question: _Question, level: float) -> Part:
    study, value = question.setting or (None, None)
    what = question.what if question.setting is None else f"{question.what}, {_name(question.setting)}"
    numbers = interval(question.values, level)
    return Part(study, value, what, question.measure, question.bound, *numbers, len(question.values))


_RANK: dict[Verdict, int] = {"holds": 0, "not tested": 1, "undecided": 2, "does not hold": 3}


def _together(parts: Iterable[Part]) -> Verdict:
    """All hold, or one does not, or it is open."""
    verdicts = {part.verdict for part in parts}
    if len(verdicts) == 1:
        return verdicts.pop()
    return "does not hold" if "does not hold" in verdicts else "undecided"


def _found(parts: Sequence[Part], worst: Part) -> Iterator[str]:
    """What the parts say, in words: at which settings the claim holds, and at which not."""
    if len(parts) > 1:
        yield f"{sum(part.verdict == 'holds' for part in parts)} of {len(parts)} comparisons hold"
        settings: dict[Setting, list[Part]] = {}
        for part in parts:
            if part.study is not None and part.value is not None:
                settings.setdefault((part.study, part.value), []).append(part)
        verdicts = {setting: _together(some) for setting, some in settings.items()}
        if len(verdicts) > 2:
            for verdict in _RANK:
                if at := [setting for setting, found in verdicts.items() if found == verdict]:
                    yield f"{verdict} at {_names(at)}"
        yield f"furthest from holding: {worst.what}"
    counts = [part.users for part in parts if part.users]
    fewest, most = min(counts), max(counts)
    yield (f"{fewest} to {most} users" if fewest != most else f"{most} user{'s' if most > 1 else ''}")
    if fewest < 2:
        yield "an interval needs at least two users"


def _names(settings: Sequence[Setting]) -> str:
    """Settings of the same study together: λ = 0, 0.1 and d = 5."""
    studies = dict.fromkeys(study for study, _ in settings)
    lists = {study: ", ".join(f"{value:g}" for other, value in settings if other == study) for study in studies}
    return " and ".join(f"{SYMBOLS.get(study, study)} = {values}" for study, values in lists.items())


def _lowest(name: str, statement: str, pick: Callable[[_Table], list[Setting]]) -> Callable[[_Table], Claim]:
    def check(table: _Table) -> Claim:
        settings = pick(table)
        return _judge(name, statement, _below(table, settings, HYBRID, BASELINES), _gaps(table, settings))

    return check


def _gaps(table: _Table, settings: Sequence[Setting]) -> list[str]:
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
        f"at {_name(least)}, where it compares worst, its mean regret is {_share(abs(shares[least]))} {side} "
        "the best baseline's"
    ]


def _mean(table: _Table, setting: Setting, policy: str) -> float | None:
    values = table.values(setting, {policy: 1.0})
    return float(values.mean()) if len(values) else None


def _share(share: float) -> str:
    return f"{share:.0%}"


def _specialist(policy: str, value: float) -> Callable[[_Table], Claim]:
    """Ahead of hybrid, by little: both regrets within ``LITTLE`` of hybrid's."""

    def check(table: _Table) -> Claim:
        setting = ("tradeoff", value)
        questions = [
            *_below(table, [setting], policy, [HYBRID]),
            _Question(
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
        return _judge(
            f"{'diversity' if policy == LSB else 'relevance'}-only",
            f"{policy} is ahead of {HYBRID} at {_name(setting)}, by little "
            f"(at most {LITTLE:.0%} of {HYBRID}'s regret).",
            questions,
            words,
        )

    return check


def _full(table: _Table) -> Claim:
    return _judge(
        "full-variants",
        f"{HYBRID} has lower regret than {LINUCB_FULL} and {LSB_FULL} in all cases.",
        _below(table, table.settings, HYBRID, (LINUCB_FULL, LSB_FULL)),
    )


def _generalise(table: _Table) -> Claim:
    questions = [
        *_below(table, [("tradeoff", 0.0)], HYBRID, [LINUCB]),
        *_below(table, [("tradeoff", 1.0)], HYBRID, [LSB]),
    ]
    return _judge(
        "specialists",
        f"{LSB} and {LINUCB} do not generalise: at the other's end of λ, each has more regret than {HYBRID}.",
        questions,
    )


def _shrinks(table: _Table) -> Claim:
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
            f"{np.mean([g[u] for u in users]):,.4g} at {_name(s)}" for g, s in zip(gaps, settings, strict=True)
        )
        words = [f"mean gap {means}"]
    return _judge(
        "gap-shrinks",
        f"The gap in regret between {HYBRID} and {LINUCB_FULL} decreases with larger d.",
        [*premise, _Question(None, "slope of the gap on d", slopes, "regret for each topic more")],
        words,
    )


def _similar(table: _Table) -> Claim:
    settings = table.of("topics")
    questions = []
    if len(settings) > 1:
        small, large = settings[0], settings[-1]
        questions = [
            *_below(table, [large], LINUCB_FULL, [LSB_FULL]),
            _Question(
                small,
                f"{LSB_FULL} - {1 + LITTLE:g} * {LINUCB_FULL}",
                table.values(small, {LSB_FULL: 1.0, LINUCB_FULL: -1 - LITTLE}),
            ),
            _Question(
                small,
                f"{1 - LITTLE:g} * {LINUCB_FULL} - {LSB_FULL}",
                table.values(small, {LINUCB_FULL: 1 - LITTLE, LSB_FULL: -1.0}),
            ),
        ]
    return _judge(
        "full-by-topics",
        f"{LINUCB_FULL} outperforms {LSB_FULL} for large d, while they perform similarly "
        f"(within {LITTLE:.0%}) for small d.",
        questions,
    )


def _sublinear(table: _Table) -> Claim:
    growth = table.growth(HYBRID)
    questions = [
        _Question(setting, "slope", growth[setting][0], "slope of log regret on log step, last decade", 1.0)
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
    return _judge(
        "sublinear",
        f"The regret of {HYBRID} grows slower than the number of steps.",
        questions,
        words,
    )


_CHECKS: tuple[Callable[[_Table], Claim], ...] = (
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
