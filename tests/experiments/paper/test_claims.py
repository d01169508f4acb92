import math
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import GRID, as_published, made

from rankfall import ProblemError
from rankfall.experiments.paper.claims import check_claims
from rankfall.experiments.paper.verdicts import Claim
from rankfall.experiments.statistics import interval

NAMES = [
    "lowest-tradeoff",
    "diversity-only",
    "relevance-only",
    "specialists",
    "full-variants",
    "lowest-topics",
    "gap-shrinks",
    "full-by-topics",
    "lowest-positions",
    "sublinear",
]


def claims(runs: pl.DataFrame) -> dict[str, Claim]:
    return {claim.name: claim for claim in check_claims(runs)}


def changed(sweep: str, value: float | None, policy: str, to: float) -> dict[str, Claim]:
    """Verdicts where one policy's regret is something else than published, in one setting or in all."""

    def level(s: str, v: float, p: str) -> float:
        return to if (s, p) == (sweep, policy) and value in (None, v) else as_published(s, v, p)

    return claims(made(level, grid=[setting for setting in GRID if setting[0] == sweep]))


def test_the_interval_is_students() -> None:
    values = np.random.default_rng(0).normal(size=9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.99)
    mean, low, high = interval(values, 0.99)
    np.testing.assert_allclose([low, high], [expected.low, expected.high])
    assert mean == values.mean()


def test_runs_as_published_bear_out_every_claim() -> None:
    found = claims(made())
    assert list(found) == NAMES
    assert {name: claim.verdict for name, claim in found.items()} == dict.fromkeys(NAMES, "holds")
    for claim in found.values():
        assert claim.low <= claim.estimate <= claim.high
        assert claim.detail.endswith(".")
    assert len(found["lowest-tradeoff"].parts) == 32
    assert len(found["full-variants"].parts) == 2 * len(GRID)
    assert found["gap-shrinks"].parts[-1].estimate == pytest.approx(-1, abs=0.1)
    assert found["sublinear"].estimate == pytest.approx(0.5)
    assert re.search(r"the gap is (9|10|11)% of CascadeHybrid's regret", found["diversity-only"].detail)
    assert "67% below the best baseline's" in found["lowest-positions"].detail


def test_differences_are_taken_within_users_and_repeats() -> None:
    """Users differ by far more than policies do here; only a paired test can tell."""
    part = claims(made())["full-variants"].parts[0]
    assert part.high - part.low < 1.0
    shuffled = made().with_columns(
        repeat=pl.when(policy="CascadeHybrid").then(1 - pl.col("repeat")).otherwise("repeat")
    )
    assert claims(shuffled)["full-variants"].parts[0].users == 8


def test_repeats_are_no_further_users() -> None:
    few = claims(made(users=4, repeats=5))["lowest-topics"]
    assert {part.users for part in few.parts} == {4}
    values = made(users=4, repeats=5, grid=[("topics", 5.0)]).filter(step=1000)
    wide = values.pivot("policy", index=["user", "repeat"], values="regret")
    each = wide.group_by("user").agg((pl.col("CascadeHybrid") - pl.col("CascadeLinUCB")).mean())["CascadeHybrid"]
    part = claims(made(users=4, repeats=5, grid=[("topics", 5.0)]))["lowest-topics"].parts[0]
    np.testing.assert_allclose(
        (part.estimate, part.low, part.high), interval(each.to_numpy(), 1 - 0.05 / 4), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("lowest-tradeoff", ("tradeoff", 0.4, "CascadeLSB", 5.0)),
        ("diversity-only", ("tradeoff", 0.0, "CascadeLSB", 12.0)),  # not ahead
        ("diversity-only", ("tradeoff", 0.0, "CascadeLSB", 4.0)),  # ahead, and by far
        ("relevance-only", ("tradeoff", 1.0, "CascadeLinUCB", 4.0)),
        ("specialists", ("tradeoff", 1.0, "CascadeLSB", 4.0)),
        ("full-variants", ("tradeoff", 0.0, "CascadeLSBFull", 4.0)),
        ("lowest-topics", ("topics", 15.0, "CascadeLSBFull", 4.0)),
        ("gap-shrinks", ("topics", 5.0, "CascadeLinUCBFull", 12.0)),  # it grows
        ("gap-shrinks", ("topics", None, "CascadeLinUCBFull", 8.0)),  # there is none to shrink
        ("full-by-topics", ("topics", None, "CascadeLSBFull", 18.0)),
        ("full-by-topics", ("topics", 5.0, "CascadeLSBFull", 90.0)),
        ("lowest-positions", ("positions", 20.0, "CascadeLinUCB", 9.0)),
    ],
)
def test_a_claim_that_is_false_does_not_hold(name: str, change: tuple[str, float | None, str, float]) -> None:
    found = changed(*change)
    assert found[name].verdict == "does not hold"
    wrong = [part for part in found[name].parts if part.verdict == "does not hold"]
    assert wrong
    if len(found[name].parts) > 1:
        assert any(part.what in found[name].detail for part in wrong)
    assert (found[name].estimate, found[name].low) in [(part.estimate, part.low) for part in wrong]


def test_the_detail_says_at_which_settings() -> None:
    detail = changed("tradeoff", 0.4, "CascadeLSB", 5.0)["lowest-tradeoff"].detail
    assert detail.startswith(
        "31 of 32 comparisons hold; holds at λ = 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8; does not hold at"
    )
    everywhere = claims(made())["full-variants"].detail
    assert "0.9, 1 and d = 5, 10, 15, 20 and K = 5, 10, 15, 20" in everywhere


def test_linear_regret_is_not_sublinear() -> None:
    assert claims(made(exponent=1.2, grid=GRID[:1]))["sublinear"].verdict == "does not hold"
    assert claims(made(exponent=0.7, grid=GRID[:1]))["sublinear"].verdict == "holds"


def test_users_whose_regret_has_no_logarithm_are_left_out_and_counted() -> None:
    runs = made(grid=GRID[:1]).with_columns(
        regret=pl.when((pl.col("user") == 3) & (pl.col("step") == 400)).then(-1.0).otherwise("regret")
    )
    found = claims(runs)["sublinear"]
    assert found.parts[0].users == 7
    assert "slopes left out: 1," in found.detail


def test_what_noise_hides_is_undecided() -> None:
    same = claims(made(lambda *_: 10.0, noise=1.0))
    assert (
        same["lowest-tradeoff"].verdict == same["lowest-topics"].verdict == same["gap-shrinks"].verdict == "undecided"
    )


def test_one_user_decides_nothing() -> None:
    found = claims(made(users=1))
    assert {claim.verdict for claim in found.values()} == {"undecided"}
    assert all(math.isnan(claim.low) and math.isfinite(claim.estimate) for claim in found.values())
    assert all("at least two users" in claim.detail for claim in found.values())


def test_false_alarms_are_as_rare_as_promised() -> None:
    """Where all policies are equal, a claim of 32 comparisons is decided in at most about 5 % of studies."""
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(200):
        level = 1 - 0.05 / 32
        bounds = [interval(row, level)[1:] for row in rng.normal(size=(32, 10))]
        wrong += any(low > 0 or high < 0 for low, high in bounds)
    assert wrong / 200 < 0.08


def test_what_was_not_run_is_not_tested() -> None:
    found = claims(made(grid=[("topics", 5.0)]))
    assert found["lowest-tradeoff"].verdict == found["lowest-positions"].verdict == "not tested"
    assert found["diversity-only"].verdict == found["gap-shrinks"].verdict == "not tested"
    assert "no runs" in found["lowest-tradeoff"].detail
    assert found["lowest-topics"].verdict == "holds"


def test_a_claim_tested_in_part_cannot_hold_but_can_fail() -> None:
    some = [("tradeoff", 0.1), ("tradeoff", 0.5)]
    found = claims(made(grid=some))["lowest-tradeoff"]
    assert found.verdict == "undecided"
    assert "8 of 32 comparisons hold" in found.detail
    assert "holds at λ = 0.1, 0.5; not tested at λ = 0.2, 0.3, 0.4, 0.6, 0.7, 0.8" in found.detail
    worse = made(lambda *key: 30.0 if key[2] == "CascadeHybrid" else 20.0, grid=some)
    assert claims(worse)["lowest-tradeoff"].verdict == "does not hold"
    without = claims(made(policies=["CascadeHybrid", "CascadeLinUCB"], grid=[("positions", 5.0)]))
    assert without["lowest-positions"].verdict == "undecided"
    assert claims(made(policies=["CascadeLinUCB"], grid=[("positions", 5.0)]))["sublinear"].verdict == "not tested"


def test_runs_that_are_none_are_refused() -> None:
    with pytest.raises(ProblemError, match="no column policy"):
        check_claims(made(grid=GRID[:1], users=1).drop("policy"))
    with pytest.raises(ProblemError, match="no rows"):
        check_claims(made(grid=GRID[:1], users=1).clear())
    with pytest.raises(ProblemError, match="the sweeps mine; the paper's are tradeoff, topics, positions"):
        check_claims(made(grid=[("mine", 1.0)], users=1))
