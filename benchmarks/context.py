"""What telling a model about the context gains, and what it costs where the context does not matter: docs/context.md.

    python benchmarks/context.py movielens-small --out out/context
    python benchmarks/context.py movielens-small --out out/context --write docs

The first writes its table and its figure into ``out/context``; ``--write`` puts both into the page, too. What was
simulated before with the same settings is read from the folder, so that a study that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import matplotlib.pyplot as plt
import numpy as np

from rankfall import (
    CascadeHybrid,
    CascadeUser,
    Category,
    Context,
    Hour,
    ManyUsers,
    Prepared,
    Segments,
    SharedModel,
    prepare,
    simulate_users,
)
from rankfall.data import find
from rankfall.experiments.figures.look import markers, styles
from rankfall.experiments.figures.saving import save
from rankfall.experiments.statistics import interval
from rankfall.users import moved_tastes, situations_of

K = 10
WAYS = ("one model", "segments", "context", "segment as context", "context, variance 1")
CONTEXT = Context({"hour": Hour(), "device": Category(["phone", "tablet", "desktop"])})
SITUATIONS = situations_of(CONTEXT, hours=8)
WORLDS = {
    "matters": "tastes are those of others by hour and by device",
    "matters half": "half of a taste moves like that, half stays",
    "not additive": "another person at every part of the day on every device",
    "does not matter": "the same taste whenever and wherever",
}


@dataclass(frozen=True)
class Sizes:
    """How much is simulated."""

    people: int = 30
    lists: int = 12_000
    gamma: float = 0.5
    tradeoff: float = 0.5
    points: int = 60


def segment_of(number: Any) -> tuple[int, str]:
    """A quarter of the day, and the device: twelve segments."""
    return int(SITUATIONS[number]["hour"] // 6), SITUATIONS[number]["device"]


SEGMENT = Context({"segment": Category(sorted({str(segment_of(number)) for number in range(len(SITUATIONS))}))})
"""The same twelve segments as one factor: crossed with each other, hour and device need not add up."""


def tastes(data: Prepared, world: str, person: int) -> np.ndarray:
    """The preferences of a person in each situation."""
    every = np.hstack([data.theta, data.beta])
    if world == "not additive":
        order = np.random.default_rng(person).permutation(len(every))
        segments = sorted({segment_of(number) for number in range(len(SITUATIONS))})
        return every[[order[segments.index(segment_of(number))] for number in range(len(SITUATIONS))]]
    matters = {"matters": 1.0, "matters half": 0.5, "does not matter": 0.0}[world]
    return moved_tastes(every[person], every, CONTEXT, SITUATIONS, matters, seed=person)


def regret(data: Prepared, world: str, person: int, way: str, sizes: Sizes) -> np.ndarray:
    """Regret of one person after more and more of the lists, by one of the ways."""
    catalog, topics = data.catalog(), data.theta.shape[1]
    users = [
        CascadeUser(data.user_coverage, data.relevance, taste[:topics], taste[topics:], sizes.tradeoff)
        for taste in tastes(data, world, person)
    ]
    plain, told = partial(CascadeHybrid, catalog, gamma=sizes.gamma), SITUATIONS
    policy: ManyUsers = SharedModel(plain())
    if way == "segments":
        policy = Segments(plain(), segment_of)
    elif way == "segment as context":
        policy = SharedModel(plain(context=SEGMENT))
        told = [{"segment": str(segment_of(number))} for number in range(len(SITUATIONS))]
    elif way.startswith("context"):
        policy = SharedModel(plain(context=CONTEXT, context_variance=None if way == "context" else 1.0))
    arrivals = np.random.default_rng(person).integers(len(users), size=sizes.lists)
    run = simulate_users(policy, users, arrivals, K, seed=person, workers=1, contexts=told)
    marks = np.linspace(0, sizes.lists, sizes.points + 1).astype(int)[1:] - 1
    return np.cumsum(run.regret)[marks]


def kept(out: Path, data: Prepared, world: str, sizes: Sizes) -> dict[str, np.ndarray]:
    """Regrets (people, points) by way, from the folder where they were simulated before with the same settings."""
    said = json.dumps([data.dataset, world, asdict(sizes), CONTEXT.to_json()])
    folder = out / hashlib.sha256(said.encode()).hexdigest()[:8]
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for way in WAYS:
        for person in range(sizes.people):
            path = folder / f"{way} {person}.npy"
            if not path.exists():
                np.save(path, regret(data, world, person, way, sizes))
        click.echo(f"{world}: {way}", err=True)
        found[way] = np.array([np.load(folder / f"{way} {person}.npy") for person in range(sizes.people)])
    return found


def shown(values: np.ndarray) -> str:
    """A mean with half of its 95 % interval."""
    mean, low, _ = interval(values, 0.95)
    return f"{mean:,.0f} ± {mean - low:,.0f}"


def table(found: dict[str, dict[str, np.ndarray]], sizes: Sizes) -> Iterator[str]:
    """The lines of the table."""
    yield f"Regret of {sizes.people} people over {sizes.lists:,} lists each; in brackets that less that with context,"
    yield "paired, with 95 % intervals.\n"
    yield "| the context | lists | " + " | ".join(WAYS) + " |"
    yield "|---|---|" + "---|" * len(WAYS)
    for world, ways in found.items():
        for part in (12, 1):
            at = sizes.points // part - 1
            row = []
            for name in WAYS:
                less = ways[name][:, at] - ways["context"][:, at]
                row.append(f"{ways[name][:, at].mean():,.0f}" + ("" if name == "context" else f" ({shown(less)})"))
            yield f"| {world} | first {sizes.lists // part:,} | " + " | ".join(row) + " |"


def figure(found: dict[str, dict[str, np.ndarray]], sizes: Sizes, path: Path) -> Path:
    """Mean regret over the lists, for every way and world."""
    size = (3.4 * len(found), 3.6)
    drawn, ((*axes,),) = plt.subplots(1, len(found), figsize=size, layout="constrained", squeeze=False)
    steps = np.linspace(0, sizes.lists, sizes.points + 1)[1:]
    looks, shapes = styles(WAYS), markers(WAYS)
    for axis, (world, ways) in zip(axes, found.items(), strict=True):
        for number, (name, (colour, dashes)) in enumerate(looks.items()):
            mean = ways[name].mean(axis=0)
            error = 1.96 * ways[name].std(axis=0, ddof=1) / len(ways[name]) ** 0.5
            at = (0.02 * number, 0.2)  # so that marks of lines that coincide can be told apart
            line = {"color": colour, "linestyle": dashes, "marker": shapes[name], "markevery": at, "linewidth": 1.4}
            axis.plot(steps, mean, label=name, markersize=5, **line)
            axis.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0)
        axis.set(title=f"the context {world}" if "matter" in world else world, xlabel="lists", ylim=(0, None))
    axes[0].set_ylabel("regret; shades: 95 % intervals")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(looks), frameon=False)
    return save(drawn, path, ("png",))[0]


@click.command(help=__doc__)
@click.argument("dataset")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/context"), show_default=True)
@click.option("--people", default=Sizes.people, show_default=True)
@click.option("--lists", default=Sizes.lists, show_default=True)
@click.option("--write", type=click.Path(path_type=Path), help="The folder of the docs, to put the table there too.")
def main(dataset: str, out: Path, people: int, lists: int, write: Path | None) -> None:
    """Simulate, and write table and figure."""
    out.mkdir(parents=True, exist_ok=True)
    data, sizes = prepare(find(dataset)), Sizes(people, lists)
    found = {world: kept(out, data, world, sizes) for world in WORLDS}
    lines = "\n".join(table(found, sizes)) + "\n"
    picture = figure(found, sizes, out / f"context-{data.dataset}")
    (out / f"{data.dataset}.md").write_text(lines)
    if write is None:
        click.echo(lines)
        return
    page, mark, end = write / "context.md", f"<!-- {data.dataset} -->\n", f"<!-- end of {data.dataset} -->\n"
    text = re.sub(f"({mark}).*({end})", lambda place: place[1] + lines + place[2], page.read_text(), flags=re.S)
    page.write_text(text)
    (write / "images" / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()
