"""The sentence that opens a report, from tables of means made up for it."""

import polars as pl

from rankfall.experiments import Case, Study, Sweep, plan
from rankfall.experiments.paper.report import as_the_paper_says
from rankfall.experiments.report.conclusion import conclusion

USER = {"generate": {"items": 6, "topics": 2, "features": 2}}


def means(rows: dict[tuple[str, int], dict[str, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"sweep": sweep, "point": point, "case": case, "step": 50, "regret": regret}
            for (sweep, point), regrets in rows.items()
            for case, regret in regrets.items()
        ]
    )


def study(*sweeps: Sweep, cases: tuple[Case, ...] = ()) -> Study:
    return Study("s", USER, ("CascadeHybrid", "CascadeLSB"), cases=cases, sweeps=sweeps, k=2, users=2, steps=50)


def test_the_leader_and_where_others_were_ahead() -> None:
    laid = plan(study(Sweep({"user.tradeoff": (0.0, 0.5, 1.0)}), Sweep({"k": (1, 3)})))
    table = means(
        {
            ("tradeoff", 0): {"CascadeHybrid": 3.0, "CascadeLSB": 2.0},
            ("tradeoff", 1): {"CascadeHybrid": 3.0, "CascadeLSB": 4.0},
            ("tradeoff", 2): {"CascadeHybrid": 3.0, "CascadeLSB": 9.0},
            ("k", 0): {"CascadeHybrid": 1.0, "CascadeLSB": 4.0},
            ("k", 1): {"CascadeHybrid": 3.0, "CascadeLSB": 1.0},
        }
    )
    assert conclusion(laid, table, named={"tradeoff": "tradeoffs"}, remark=as_the_paper_says) == (
        "CascadeHybrid had the lowest mean regret in 2 of 3 tradeoffs and 1 of 2 points of k; "
        "at tradeoff = 0 CascadeLSB was ahead, as the paper says; at k = 3 CascadeLSB was ahead."
    )


def test_without_sweeps_the_lowest_and_the_next() -> None:
    laid = plan(study(cases=(Case("CascadeUCB1", "other users", user={"tradeoff": 0.9}),)))
    table = means({("", 0): {"CascadeHybrid": 20.0, "CascadeLSB": 25.0, "other users": 1.0}})
    assert conclusion(laid, table) == (
        "Lowest mean regret after 50 steps: CascadeHybrid (20.0), then CascadeLSB (25.0, 25% more)."
    )


def test_one_case_alone() -> None:
    laid = plan(Study("s", USER, ("CascadeHybrid",), k=2, users=2, steps=50))
    table = means({("", 0): {"CascadeHybrid": 20.0}})
    assert conclusion(laid, table) == "CascadeHybrid had a mean regret of 20.0 after 50 steps."


def test_one_case_alone_in_a_sweep() -> None:
    sweep = Sweep({"settings.gamma": (0.1, 0.5, 1.0)})
    laid = plan(Study("s", USER, ("CascadeHybrid",), sweeps=(sweep,), k=2, users=2, steps=50))
    table = means({("gamma", n): {"CascadeHybrid": regret} for n, regret in enumerate((20.0, 8.0, 30.0))})
    assert conclusion(laid, table) == (
        "CascadeHybrid had a mean regret after 50 steps from 8.00 at gamma = 0.5 to 30.0 at gamma = 1."
    )
