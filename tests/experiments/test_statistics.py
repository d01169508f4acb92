import math

import numpy as np
import polars as pl
import pytest
from small_studies import OF_MANY_KINDS

from rankfall import ProblemError
from rankfall.experiments import Case, Study, plan
from rankfall.experiments.statistics import by_unit, checked, differences, final, half_width, interval, means, slope

STEPS = (50, 100)


def runs(regret: dict[tuple[str, int, int], float], sweep: str = "", point: int = 0) -> pl.DataFrame:
    """Regret after the last step of (case, user, repeat); half of it in the middle."""
    rows = [
        {"sweep": sweep, "point": point, "case": case, "policy": case, "user": user, "repeat": repeat, "step": step}
        | {"regret": value * step / 100, "clicks": step // 2, "touched": math.nan, "covered": math.nan, "best": 0.5}
        for (case, user, repeat), value in regret.items()
        for step in STEPS
    ]
    return checked(pl.DataFrame(rows))


def test_repeats_are_no_further_users() -> None:
    table = runs({("a", 0, 0): 1.0, ("a", 0, 1): 3.0, ("a", 1, 0): 4.0, ("a", 1, 1): 6.0})
    row = final(means(table)).row(0, named=True)
    assert (row["units"], row["regret"]) == (2, 3.5)
    assert row["regret_error"] == pytest.approx(np.std([2.0, 5.0], ddof=1) / math.sqrt(2))
    assert row["click_rate"] == 0.5


def test_with_a_single_user_its_repeats_are_the_units() -> None:
    table = runs({("a", 0, 0): 1.0, ("a", 0, 1): 3.0, ("a", 0, 2): 8.0})
    assert by_unit(table)["unit"].unique().to_list() == [0, 1, 2]
    row = final(means(table)).row(0, named=True)
    assert (row["units"], row["regret"]) == (3, 4.0)
    assert row["regret"] - half_width(row["regret_error"], 3) == pytest.approx(
        interval(np.array([1.0, 3.0, 8.0]), 0.95)[1]
    )
    alone = final(means(runs({("a", 0, 0): 1.0}))).row(0, named=True)
    assert alone["regret_error"] is None
    assert math.isnan(half_width(None, 1))


def study(reference: str = "") -> Study:
    other = {"clicks": "document_based"}
    cases = (
        Case("CascadeTS", "other"),
        Case("CascadeTS", "apart", user=other),
        Case("CascadeUCB1", "apart too", user=other),
    )
    user = {"attraction": [0.5, 0.4, 0.1]}
    return Study("s", user, ("CascadeUCB1",), cases, k=2, users=1, repeats=3, steps=100, reference=reference)


REGRET = {
    (case, 0, repeat): level + noise
    for case, level in (("CascadeUCB1", 10.0), ("other", 7.0), ("apart", 1.0), ("apart too", 2.5))
    for repeat, noise in enumerate((0.0, 5.0, -3.0))
}


def test_cases_are_compared_with_the_reference_on_the_same_users_pair_by_pair() -> None:
    table = runs(REGRET)
    found = differences(plan(study()), table)
    assert [(each.case, each.reference, each.estimate, each.units) for each in found] == [
        ("other", "CascadeUCB1", -3.0, 3),
        ("apart too", "apart", 1.5, 3),
    ]
    assert found[0].low == found[0].high == -3.0  # what users have in common cancels
    turned = differences(plan(study("CascadeTS")), table)
    assert [(each.case, each.reference) for each in turned] == [("CascadeUCB1", "other"), ("apart too", "apart")]
    by_label = differences(plan(study("apart too")), table)
    assert [(each.case, each.reference) for each in by_label] == [("other", "CascadeUCB1"), ("apart", "apart too")]


def test_cases_alone_on_their_users_are_compared_with_nothing() -> None:
    laid = plan(OF_MANY_KINDS)
    table = runs({(case.label, 0, r): 1.0 + r for case in OF_MANY_KINDS.all_cases for r in range(3)})
    assert [(each.case, each.reference) for each in differences(laid, table)] == [("CascadeKLUCB", "CascadeUCB1")]


def test_the_slope_needs_three_points_above_nothing() -> None:
    assert slope([(10, 0.0), (50, 1.0), (100, 2.0)], 100) is None
    assert slope([(step, 3.0 * step) for step in (1, 20, 50, 100)], 100) == pytest.approx(1.0)


def test_runs_that_are_none_are_refused() -> None:
    table = runs(REGRET)
    with pytest.raises(ProblemError, match="no column regret"):
        checked(table.drop("regret"))
    with pytest.raises(ProblemError, match="no rows"):
        checked(table.clear())
