from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from studies import made

from rankfall import ProblemError, Run
from rankfall.experiments import figures
from rankfall.experiments.results import summary
from rankfall.policies import PAPER


def table(names: list[str], runs: int = 3) -> pl.DataFrame:
    steps = np.array([10, 20, 30])
    frames = [
        Run(steps, np.sqrt(steps) * (i + 1 + r / 9), steps // 2, steps * 2.0, steps * 1.0, best=0.5).frame(
            policy=name, user=r
        )
        for i, name in enumerate(names)
        for r in range(runs)
    ]
    return summary(pl.concat(frames))


def test_every_policy_has_its_own_colour_and_dashes_in_every_figure() -> None:
    names = list(PAPER)
    looks = figures.styles(names)
    assert len({colour for colour, _ in looks.values()}) == len(names)
    assert len({str(dashes) for _, dashes in looks.values()}) == len(names)
    assert all(figures.styles([name, "Mine"])[name] == looks[name] for name in names)


def test_lines_show_the_means_and_shades_the_errors() -> None:
    data = table(["CascadeHybrid", "Mine"])
    axes = figures.regret(data, title="t").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["CascadeHybrid", "Mine"]
    for name, line, shade in zip(["CascadeHybrid", "Mine"], axes.lines, axes.collections, strict=True):
        rows = data.filter(policy=name)
        np.testing.assert_array_equal(line.get_ydata(), rows["regret"])
        top = shade.get_paths()[0].vertices[:, 1].max()
        assert top == (rows["regret"] + rows["regret_error"]).max()
        assert to_rgb(line.get_color()) == tuple(shade.get_facecolor()[0][:3])


def test_a_single_run_is_drawn_without_shades() -> None:
    figure = figures.regret(table(["Mine"], runs=1))
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [10, 20, 30])


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    first = figures.save(figures.regret(table(["a"])), tmp_path / "first", ["png", "svg", "pdf"])
    again = figures.save(figures.regret(table(["a"])), tmp_path / "again", ["png", "svg", "pdf"])
    assert [path.name for path in first] == ["first.png", "first.svg", "first.pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert ElementTree.parse(tmp_path / "first.svg").getroot().tag.endswith("svg")


def test_the_figure_of_the_paper_has_twelve_panels_and_one_legend() -> None:
    figure = figures.paper_figure(made(users=2))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:4] == ["(a) λ = 0.1", "(b) λ = 0.5", "(c) λ = 0.9", "(d) all λ"]
    assert titles[4:] == [
        *("(e) d = 5", "(f) d = 10", "(g) d = 20", "(h) all d"),
        *("(i) K = 5", "(j) K = 10", "(k) K = 20", "(l) all K"),
    ]
    assert len(figure.legends) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(PAPER)
    looks = figures.styles(list(PAPER))
    for axes in figure.axes:
        colours = [
            line.get_color() for line in axes.lines if line.get_marker() in figures.markers(list(PAPER)).values()
        ]
        assert colours == [colour for colour, _ in looks.values()]
        assert axes.get_ylim()[0] == 0


def test_the_panels_show_means_over_users_and_their_standard_errors() -> None:
    runs = made(users=4, repeats=3)
    panel = figures.paper_figure(runs).axes[1]
    users = (
        runs.filter(study="tradeoff", value=0.5, policy="CascadeHybrid").group_by("user", "step").agg(pl.mean("regret"))
    )
    last = users.filter(step=1000)["regret"].to_numpy()
    assert panel.lines[0].get_ydata()[-1] == pytest.approx(last.mean())
    top = panel.collections[0].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(last.mean() + last.std(ddof=1) / 2)


def test_markers_tell_policies_apart() -> None:
    names = [*PAPER, "Mine", "Yours"]
    assert len(set(figures.markers(names).values())) == len(names)


def test_missing_studies_settings_policies_and_users_leave_a_smaller_figure() -> None:
    grid = [("topics", 5.0), ("topics", 18.0)]
    figure = figures.paper_figure(made(users=1, repeats=1, grid=grid, policies=["Mine", "CascadeLSB"]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["(a) d = 5", "(b) d = 18", "", "(c) all d"]
    assert [axes.axison for axes in figure.axes] == [True, True, False, True]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["CascadeLSB", "Mine"]
    with pytest.raises(ProblemError, match="studies mine; known are tradeoff"):
        figures.paper_figure(made(users=1, grid=[("mine", 1.0)]))
