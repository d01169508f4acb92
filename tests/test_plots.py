from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
from matplotlib.colors import to_rgb

from rankfall import POLICIES, Run, plots
from rankfall.results import summary


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
    names = list(POLICIES)
    looks = plots.styles(names)
    assert len({colour for colour, _ in looks.values()}) == len(names)
    assert len({str(dashes) for _, dashes in looks.values()}) == len(names)
    assert all(plots.styles([name, "Mine"])[name] == looks[name] for name in names)


def test_lines_show_the_means_and_shades_the_errors() -> None:
    data = table(["CascadeHybrid", "Mine"])
    axes = plots.regret(data, title="t").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["CascadeHybrid", "Mine"]
    for name, line, shade in zip(["CascadeHybrid", "Mine"], axes.lines, axes.collections, strict=True):
        rows = data.filter(policy=name)
        np.testing.assert_array_equal(line.get_ydata(), rows["regret"])
        top = shade.get_paths()[0].vertices[:, 1].max()
        assert top == (rows["regret"] + rows["regret_error"]).max()
        assert to_rgb(line.get_color()) == tuple(shade.get_facecolor()[0][:3])


def test_a_single_run_is_drawn_without_shades() -> None:
    figure = plots.regret(table(["Mine"], runs=1))
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [10, 20, 30])


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    first = plots.save(plots.regret(table(["a"])), tmp_path / "first", ["png", "svg", "pdf"])
    again = plots.save(plots.regret(table(["a"])), tmp_path / "again", ["png", "svg", "pdf"])
    assert [path.name for path in first] == ["first.png", "first.svg", "first.pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert ElementTree.parse(tmp_path / "first.svg").getroot().tag.endswith("svg")
