"""What it costs to find the best of 136 rankers in millions of comparisons: the second study of docs/compare.md.

    python benchmarks/many_rankers.py --figure docs/images/many_rankers
    python benchmarks/many_rankers.py --matrix preferences.txt --steps 3000000 --repeats 1

Preferences are made up: the best ranker is ahead of the others by 0.03 and an exponential number with mean 0.45, in
log-odds, and any two others by the difference of theirs with normal noise of 0.1, so that some go round in circles.
That is about as spread as the preferences that the authors of MergeDTS published for 136 rankers of the data MSLR.
``--matrix`` takes others from a file: a row of numbers for each ranker, how likely it is preferred to each other one.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from matplotlib.figure import Figure

from rankfall.arrays import FloatArray
from rankfall.compare import DoubleThompson, Duels, MergeDTS, Method, SelfSparring
from rankfall.experiments.dueling import best_ranker, simulate_duels
from rankfall.experiments.figures.look import markers, styles
from rankfall.experiments.figures.saving import save

RANKERS = 136
METHODS: dict[str, Method] = {
    "MergeDTS": MergeDTS(),
    "MergeDTS, for practice": MergeDTS(batch=16, alpha=0.8**6, c=400_000.0),
    "DoubleThompson": DoubleThompson(),
    "DoubleThompson, alpha 0.21": DoubleThompson(alpha=0.8**7),
    "SelfSparring": SelfSparring(),
}
AT_RANDOM = "pairs at random"


def made_up(seed: int) -> FloatArray:
    """Preferences of many rankers, the first of which is preferred to every other one."""
    rng = np.random.default_rng(seed)
    behind = np.append(0.0, 0.03 + rng.exponential(0.45, RANKERS - 1))
    noise = np.triu(rng.normal(scale=0.1, size=(RANKERS, RANKERS)), 1)
    noise[0] = 0.0
    odds = behind[None, :] - behind[:, None] + noise - noise.T
    preferences: FloatArray = 1.0 / (1.0 + np.exp(-odds))
    return (preferences + 1.0 - preferences.T) / 2.0


def regrets(
    problems: list[FloatArray], steps: int, methods: list[str]
) -> tuple[FloatArray, dict[str, FloatArray], dict[str, int]]:
    """Checkpoints, (problems, checkpoints) regret of each method, and how often the best one is shown in the end."""
    marks = np.unique(np.append(np.geomspace(1_000, steps, 61).round(), _told(steps)).astype(np.int64))
    found: dict[str, list[FloatArray]] = {name: [] for name in methods}
    right = dict.fromkeys(methods, 0)
    for number, preferences in enumerate(problems):
        order = np.random.default_rng([number, 1]).permutation(len(preferences))
        known = preferences[np.ix_(order, order)]
        for name in methods:
            run = simulate_duels(Duels(len(known), METHODS[name]), known, steps, seed=number, checkpoints=marks)
            found[name].append(run.regret)
            right[name] += bool(run.found[-1] > 0.9)
            click.echo(f"{number}: {name}: {run.regret[-1]:,.0f}", err=True)
        gap = known[best_ranker(known)] - 0.5
        found.setdefault(AT_RANDOM, []).append(gap.mean() * marks)
    return marks, {name: np.array(each) for name, each in found.items()}, right


def _told(steps: int) -> list[int]:
    """The checkpoints of the table."""
    return [*(at for at in (10_000, 100_000, 1_000_000, 3_000_000) if at < steps), steps]


def table(marks: FloatArray, found: dict[str, FloatArray], right: dict[str, int]) -> list[str]:
    """Regret on the way and in the end: the mean, and its standard error if there is one."""
    places = np.searchsorted(marks, _told(int(marks[-1]))).tolist()
    lines = ["| | " + " | ".join(f"{marks[place]:,}" for place in places) + " | best shown in the end |"]
    lines.append("|---|" + "---:|" * (len(places) + 1))
    for name, each in found.items():
        n = len(each)
        cells = [
            f"{each[:, place].mean():,.0f}" + (f" ± {each[:, place].std(ddof=1) / n**0.5:,.0f}" if n > 1 else "")
            for place in places
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | {f'{right[name]} of {n}' if name in right else ''} |")
    return lines


def figure(marks: FloatArray, found: dict[str, FloatArray]) -> Figure:
    """Regret over comparisons, both on logarithmic axes."""
    drawn = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = drawn.subplots()
    names = list(found)
    colours, shapes = styles(names), markers(names)
    for name, each in found.items():
        axes.plot(marks, each.mean(axis=0), color=colours[name][0], marker=shapes[name], markevery=10, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("comparisons")
    axes.set_ylabel("regret")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return drawn


@click.command()
@click.option("--steps", default=1_000_000, show_default=True)
@click.option("--repeats", default=3, show_default=True, help="Problems, or runs on one matrix.")
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), help="Only these.")
@click.option("--matrix", type=click.Path(path_type=Path, exists=True), help="Preferences to play on instead.")
@click.option("--figure", "drawn", type=click.Path(path_type=Path), help="Where to draw it, without suffix.")
def main(steps: int, repeats: int, methods: tuple[str, ...], matrix: Path | None, drawn: Path | None) -> None:
    """Regret of each method."""
    given = None if matrix is None else np.loadtxt(matrix)
    problems = [made_up(number) if given is None else given for number in range(repeats)]
    found = regrets(problems, steps, list(methods or METHODS))
    for line in table(*found):
        click.echo(line)
    if drawn is not None:
        for path in save(figure(*found[:2]), drawn, ("png",)):
            click.echo(f"Wrote {path}.")


if __name__ == "__main__":
    main()
