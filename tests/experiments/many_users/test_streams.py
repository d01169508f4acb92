"""Studies whose users come in a stream: against the same simulations made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankfall import AcrossUsers, CascadeHybrid, ClusteredUsers, ProblemError, UsersRun, generate, simulate_users
from rankfall.cli import app
from rankfall.experiments import Case, Folder, Study, Sweep, forecast, plan, run_study
from rankfall.experiments.many_users.arrivals import heavy_tailed
from rankfall.experiments.many_users.report import by_lists, part_of, write_stream_report
from rankfall.experiments.many_users.stream import LISTS, recorded
from rankfall.experiments.simulation import run_seed
from rankfall.experiments.statistics import at_common_steps, checked, differences, interval, means
from rankfall.users import Cascade, Hybrid, User

MADE = {"items": 30, "topics": 4, "features": 3, "seed": 2}
STUDY = Study(
    "a stream",
    {"generate": MADE, "arrivals": "heavy_tailed"},
    cases=(
        Case("CascadeHybrid", sharing="across_users", settings={"first": 50}),
        Case("CascadeHybrid", sharing="independent"),
        Case("CascadeHybrid", "one model", sharing="shared"),
        Case("CascadeHybrid", sharing="segments"),
        Case("CascadeHybrid", sharing="clusters", settings={"alpha": 0.5}),
    ),
    sweeps=(Sweep({"user.tradeoff": (0.3, 0.7)}),),
    k=3,
    users=6,
    repeats=2,
    steps=400,
    checkpoints=4,
    seed=3,
)


def by_hand(sharing: str, repeat: int, tradeoff: float) -> UsersRun:
    """The stream of a case, without any study."""
    world = generate(users=6, **MADE)
    x, z = world.catalog.coverage, world.catalog.relevance
    people = [User(Hybrid(x, z, t, b, tradeoff), Cascade()) for t, b in zip(world.theta, world.beta, strict=True)]
    policy = CascadeHybrid(world.catalog)
    many = AcrossUsers(policy, first=50) if sharing == "across_users" else ClusteredUsers(policy, range(6), alpha=0.5)
    seed = run_seed(3, 0, repeat)
    who = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2))
    return simulate_users(many, people, heavy_tailed(6, 400, seed=who), 3, seed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, pl.DataFrame]:
    laid, out = plan(STUDY), tmp_path_factory.mktemp("stream")
    return Folder(out, laid), run_study(laid, out, workers=1)


@pytest.mark.parametrize("sharing", ["across_users", "clusters"])
@pytest.mark.parametrize("repeat", [0, 1])
def test_a_stream_of_a_study_is_the_simulation_by_hand(
    folder: tuple[Folder, pl.DataFrame], sharing: str, repeat: int
) -> None:
    run = by_hand(sharing, repeat, 0.7)
    rows = folder[1].filter(case=sharing, repeat=repeat, point=1)
    for user in range(6):
        own = run.regret[run.user == user]
        clicked = run.clicked[run.user == user]
        mine = rows.filter(user=user)
        for step, lists, regret, clicks in mine.select("step", "lists", "regret", "clicks").iter_rows():
            assert lists == (run.user[:step] == user).sum()
            assert regret == pytest.approx(own[:lists].sum(), abs=1e-12)
            assert clicks == clicked[:lists].sum()
        assert {100, 200, 300, 400} <= set(mine["step"])
        assert {n for n in LISTS if n <= len(own)} <= set(mine["lists"])
        assert mine["best"].unique().to_list() == [pytest.approx(run.best[user])]


def test_parts_of_what_users_see(folder: tuple[Folder, pl.DataFrame]) -> None:
    run = by_hand("across_users", 0, 0.3)
    rows = folder[1].filter(case="across_users", repeat=0, point=0)
    for after, lists in ((0, 10), (0, 30), (30, 50)):
        expected = run.by_user(lists, after)
        part = part_of(rows, after, lists).sort("user")
        assert part["user"].to_list() == np.flatnonzero(~np.isnan(expected)).tolist()
        np.testing.assert_allclose(part["regret"], expected[~np.isnan(expected)], atol=1e-12)
    curve = by_lists(rows)
    steps = np.array(curve["step"])
    assert steps[-1] == max(n for n in LISTS if (run.lists >= n).sum() >= 0.6)
    at = [sum(np.nanmean(run.by_user(b, a)) for a, b in zip((0, *LISTS), LISTS, strict=False) if b <= n) for n in steps]
    np.testing.assert_allclose(curve["regret"], at, atol=1e-12)


def test_statistics_take_everybody_at_the_same_steps(folder: tuple[Folder, pl.DataFrame]) -> None:
    runs = checked(folder[1])
    assert sorted(runs["step"].unique()) == [100, 200, 300, 400]
    averages = means(runs).filter(case="across_users", point=1, step=400)
    total = np.mean([np.nan_to_num(by_hand("across_users", repeat, 0.7).by_user()) for repeat in (0, 1)], axis=0)
    assert averages["regret"].item() == pytest.approx(total.mean())
    rate = np.mean(
        [
            run.clicked[run.user == user].mean()
            for run in (by_hand("across_users", r, 0.7) for r in (0, 1))
            for user in range(6)
        ]
    )
    assert averages["click_rate"].item() == pytest.approx(rate)
    apart = {(each.point, each.case): each for each in differences(folder[0].plan, runs)}
    other = np.mean([np.nan_to_num(by_hand("clusters", repeat, 0.7).by_user()) for repeat in (0, 1)], axis=0)
    found = apart[1, "clusters"]
    assert (found.estimate, found.low, found.high) == pytest.approx(interval(other - total, 0.95))


def test_the_report_has_regret_by_lists_seen(folder: tuple[Folder, pl.DataFrame]) -> None:
    write_stream_report(*folder)
    out = folder[0].path
    page, text = (out / "report.html").read_text(), (out / "lists.md").read_text()
    assert "By lists seen" in page
    assert "over lists a user has seen" in page
    heads = "| tradeoff | across_users | independent | one model | segments | clusters |"
    assert heads in text
    assert "| tradeoff = 0.3, first 10 | " in text
    assert "first 100" in text
    assert "less that of across_users" in text
    mean = part_of(folder[1].filter(case="across_users", point=0), 0, 10).group_by("user").agg(pl.col("regret").mean())
    line = next(line for line in text.splitlines() if "0.3, first 10" in line)
    assert f"{mean['regret'].mean():.2f}" in line.split("|")[2]
    assert len(pl.read_csv(out / "lists.csv")) == text.count("tradeoff = ") * 5


def test_a_user_who_never_comes_has_no_rows() -> None:
    run = UsersRun(np.array([0, 2, 0]), np.array([0.5, 0.25, 0.25]), np.array([True, False, False]), np.full(3, 0.9))
    rows = recorded(run, [2, 3], 0)
    assert rows.select("user", "step", "lists", "regret", "clicks").rows() == [
        (0, 1, 1, 0.5, 1), (0, 2, 1, 0.5, 1), (0, 3, 2, 0.75, 1), (2, 2, 1, 0.25, 0), (2, 3, 1, 0.25, 0)
    ]  # fmt: skip
    named = rows.with_columns(sweep=pl.lit(""), point=pl.lit(0), case=pl.lit("x"))
    assert sorted(at_common_steps(named)["step"].unique()) == [2, 3]


def test_the_number_of_workers_and_a_stop_change_nothing(folder: tuple[Folder, pl.DataFrame], tmp_path: Path) -> None:
    again = run_study(folder[0].plan, tmp_path, workers=2)
    assert again.equals(folder[1])
    kept = sorted((tmp_path / "chunks").glob("*.parquet"))
    kept[0].unlink()
    assert run_study(folder[0].plan, tmp_path, workers=1).equals(folder[1])


def test_streams_can_be_forecast_and_written_as_toml(folder: tuple[Folder, pl.DataFrame]) -> None:
    assert Study.from_toml(STUDY.to_toml()) == STUDY
    laid = folder[0].plan
    assert laid.steps == 2 * 5 * 2 * 400  # points, cases, repeats, steps
    assert laid.compiled == frozenset(laid.setups)
    expected = forecast(laid, workers=1, trials=1)
    assert {trial.setup.name for trial in expected.trials} == {
        f"CascadeHybrid, {way}" for way in ("across_users", "independent", "shared", "segments", "clusters")
    }
    assert expected.seconds(laid.chunks) > 0


def test_without_sweeps_every_case_is_a_row(tmp_path: Path) -> None:
    study = replace(STUDY, sweeps=(), user={"generate": MADE, "arrivals": {"coming_and_going": {"present": 2}}})
    file = tmp_path / "study.toml"
    file.write_text(study.to_toml())
    result = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "| one model |" not in (tmp_path / "out" / "lists.md").read_text().splitlines()[0]
    assert "first 10" in (tmp_path / "out" / "lists.md").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"cases": (Case("CascadeHybrid"),)},
            "CascadeHybrid: it needs sharing, as users come in a stream; one of across",
        ),
        (
            {"user": {"generate": MADE}},
            "across_users: sharing is for users who come in a stream; give the user arrivals",
        ),
        (
            {
                "user": {"generate": MADE},
                "cases": (STUDY.cases[0], replace(STUDY.cases[1], user={"arrivals": "uniform"})),
            },
            "sharing is for users who come in a stream",
        ),
        (
            {"cases": (STUDY.cases[0], Case("CascadeUCB1", user={"drift": [{"from": 5, "tradeoff": 0.9}]}))},
            "users who come in a stream take no 'drift'",
        ),
        ({"user": {"generate": MADE, "arrivals": "sometimes"}}, "arrivals are 'sometimes'; choose from uniform, heavy"),
        ({"user": {"generate": MADE, "arrivals": 3}}, "arrivals must be a kind, or"),
        ({"user": {"generate": MADE, "arrivals": {"uniform": {"present": 2}}}}, "arrivals make no sense"),
        ({"user": {"attraction": [0.5, 0.1], "arrivals": "uniform"}}, "a user with 'attraction' takes no 'arrivals'"),
        ({"cases": (Case("CascadeUCB1", sharing="shared"),)}, "users who come in a stream need a linear policy"),
        (
            {"user": {"generate": {**MADE, "topics": 0}, "arrivals": "uniform"}, "cases": (STUDY.cases[3],)},
            "segments are by the topic",
        ),
        (
            {"cases": (Case("CascadeHybrid", sharing="shared", settings={"alpha": 1.0}),)},
            "shared: CascadeHybrid has no setting 'alpha'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        plan(replace(STUDY, sweeps=(), **change))  # type: ignore[arg-type]


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ProblemError, match="sharing is 'everybody'; choose from across_users, independent, shared"):
        Case("CascadeHybrid", sharing="everybody")
