from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from studies import made

from rankfall import Run
from rankfall.experiments import figures
from rankfall.experiments.figures import Panels, sweeps_figure
from rankfall.experiments.paper import PAPER
from rankfall.experiments.results import summary
from rankfall.experiments.statistics import checked, final, means


def table(names: list[str], runs: int = 3) -> pl.DataFrame:
    steps = np.array([10, 20, 30])
    frames = [
        Run(steps, np.sqrt(steps) * (i + 1 + r / 9), steps // 2, steps * 2.0, steps * 1.0, best=0.5).frame(
            sweep="", point=0, case=name, policy=name, user=r, repeat=0
        )
        for i, name in enumerate(names)
        for r in range(runs)
    ]
    return pl.concat(frames)


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_every_line_has_its_own_colour_dashes_and_marker() -> None:
    names = [*PAPER, "Mine", "Yours"]
    looks = figures.styles(names)
    assert len({colour for colour, _ in looks.values()}) == len(names)
    assert len({str(dashes) for _, dashes in looks.values()}) == len(names)
    assert len(set(figures.markers(names).values())) == len(names)
    assert all(figures.styles(["Mine", name])[name] == looks[name] for name in PAPER)  # the same in every figure


def test_lines_show_the_means_and_shades_the_errors() -> None:
    data = summary(table(["CascadeHybrid", "Mine"]))
    axes = figures.regret(data, title="t").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["CascadeHybrid", "Mine"]
    for name, line, shade in zip(["CascadeHybrid", "Mine"], axes.lines, axes.collections, strict=True):
        rows = data.filter(policy=name)
        np.testing.assert_array_equal(line.get_ydata(), rows["regret"])
        top = shade.get_paths()[0].vertices[:, 1].max()
        assert top == (rows["regret"] + rows["regret_error"]).max()
        assert to_rgb(line.get_color()) == tuple(shade.get_facecolor()[0][:3])


def test_a_single_run_is_drawn_without_shades() -> None:
    figure = figures.regret(summary(table(["Mine"], runs=1)))
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [10, 20, 30])


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    data = means(checked(table(["a", "b"])))
    first = figures.save(figures.cases_figure(data), tmp_path / "first", ["png", "svg", "pdf"])
    again = figures.save(figures.cases_figure(data), tmp_path / "again", ["png", "svg", "pdf"])
    assert [path.name for path in first] == ["first.png", "first.svg", "first.pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert ElementTree.parse(tmp_path / "first.svg").getroot().tag.endswith("svg")


def test_cases_over_steps_and_by_name_with_published_values() -> None:
    data = means(checked(table(["b", "a"])))
    curves, ends = figures.cases_figure(data, {"a": 9.0}).axes
    assert len(curves.lines) == 2
    names = [label.get_text() for label in ends.get_yticklabels()]
    assert names == final(data)["case"].to_list()
    assert any(line.get_xdata()[0] == 9.0 for line in ends.lines if len(line.get_xdata()))
    assert curves.get_xscale() == "linear"


def test_more_cases_than_can_be_told_apart_are_put_in_order() -> None:
    names = [f"case {i}" for i in range(12)]
    data = means(checked(table(names[::-1])))
    curves, ends = figures.cases_figure(data).axes
    assert curves.get_xlim() == (data["step"].min(), data["step"].max())
    assert [label.get_text() for label in ends.get_yticklabels()] == names[::-1]
    assert (curves.get_xscale(), ends.get_xscale()) == ("log", "log")


def test_panels_show_means_over_users_and_their_standard_errors() -> None:
    runs = made(users=4, repeats=3)
    row = Panels("tradeoff", tuple(range(11)), tuple(i / 10 for i in range(11)), "λ", "tradeoff λ", (0.1, 0.5, 0.9))
    figure = figures.sweeps_figure(means(checked(runs)), [row], PAPER)
    assert titles(figure) == ["(a) λ = 0.1", "(b) λ = 0.5", "(c) λ = 0.9", "(d) by λ"]
    users = (
        runs.filter(sweep="tradeoff", value=0.5, case="CascadeHybrid").group_by("user", "step").agg(pl.mean("regret"))
    )
    last = users.filter(step=1000)["regret"].to_numpy()
    panel = figure.axes[1]
    assert panel.lines[0].get_ydata()[-1] == pytest.approx(last.mean())
    top = panel.collections[0].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(last.mean() + last.std(ddof=1) / 2)
    colours = [line.get_color() for line in panel.lines]
    assert colours == [colour for colour, _ in figures.styles(PAPER).values()]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(PAPER)


def test_few_points_fill_the_row() -> None:
    runs = made(
        users=1, repeats=1, grid=[("topics", 5.0), ("topics", 18.0), ("positions", 5.0)], policies=["Mine", "x"]
    )
    two = Panels("topics", (0, 1), (5, 18), "d", "topics", (5, 10, 20))
    one = Panels("positions", (0,), (5,), "K", "positions")
    words = Panels("topics", (0, 1), ("few", "many"), "topics", "topics", also="k = 3")
    figure = figures.sweeps_figure(means(checked(runs)), [two, one, words], ["Mine", "x"])
    assert titles(figure) == [
        *("(a) d = 5", "(b) d = 18", "(c) by d", "(d) K = 5"),
        *("k = 3\n(e) few", "(f) many", "(g) by topics"),
    ]
    assert all(axes.axison for axes in figure.axes)
    figure.draw_without_rendering()
    spans = [axes.get_subplotspec().colspan for axes in figure.axes]
    assert [len(span) for span in spans] == [4, 4, 4, 12, 4, 4, 4]  # no holes
    assert [label.get_text() for label in figure.axes[-1].get_xticklabels()] == ["few", "many"]


def test_final_regrets_far_apart_are_on_a_logarithmic_axis_that_holds_them_all() -> None:
    rows = [
        {"sweep": "k", "point": p, "case": c, "step": 10, "regret": r * (p + 1), "regret_error": 1.0, "units": 3}
        for p in (0, 1)
        for c, r in (("a", 300.0), ("b", 8700.0))
    ]
    near = [{**row, "regret": 300.0 + row["regret"] / 100} for row in rows]
    panels = [Panels("k", (0, 1), (5, 10), "k", "k", (), "", frozenset({1}))]
    for table, scale in ((rows, "log"), (near, "linear")):
        figure = sweeps_figure(pl.DataFrame(table), panels, ["a", "b"], "3 users")
        over_steps, ends = figure.axes  # the point that another row shows is not shown over steps
        assert over_steps.get_title(loc="left") == "(a) k = 5"
        assert ends.get_yscale() == scale
        low, high = ends.get_ylim()
        assert all(low < row["regret"] < high for row in table)
        assert "standard error over 3 users" in figure.get_supxlabel()


def test_values_too_near_each_other_to_be_told_apart_stand_at_even_distances() -> None:
    gammas = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
    runs = [table(["Mine"]).with_columns(sweep=pl.lit("gamma"), point=pl.lit(point)) for point in range(6)]
    data = means(checked(pl.concat(runs)))
    axes = sweeps_figure(data, [Panels("gamma", tuple(range(6)), gammas, "gamma", "gamma")], ["Mine"]).axes[-1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "0.03", "0.1", "0.3", "1", "3"]
    assert axes.get_xticks().tolist() == [0, 1, 2, 3, 4, 5]
    to_scale = Panels("gamma", tuple(range(6)), (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "gamma", "gamma")
    assert sweeps_figure(data, [to_scale], ["Mine"]).axes[-1].get_xticks().tolist() == list(to_scale.values)
