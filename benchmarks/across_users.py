"""What a learned prior gains, and where it might hurt: the second part of the study of docs/across-users.md.

    python benchmarks/across_users.py movielens-small --out out/across
    python benchmarks/across_users.py path/to/ml-1m --out out/across --write docs

The first writes its tables into ``out/across``; ``--write`` puts them into the page, too. What was simulated before
with the same settings is read from the folder, so that a study that was stopped goes on. The first part, streams of
users, is ``rankfall run studies/across_users.toml``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from rankfall import (
    AcrossUsers,
    CascadeHybrid,
    CascadeUser,
    IndependentUsers,
    Prepared,
    Prior,
    SharedModel,
    prepare,
    simulate_users,
)
from rankfall.data import find
from rankfall.experiments.statistics import interval

K = 10
Found = dict[str, np.ndarray]


@dataclass(frozen=True)
class Sizes:
    """How much is simulated."""

    tradeoffs: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    gamma: float = 1.0
    earlier: int = 80  # users before the new ones, with 20 to 200 lists each
    new: int = 150  # new users, with 200 lists each
    draws: int = 2  # of earlier and new users
    long: int = 20  # users with 5,000 lists each


class World:
    """Items and users of one data set at one tradeoff."""

    def __init__(self, data: Prepared, tradeoff: float, random: bool = False) -> None:
        theta, beta = data.theta, data.beta
        if random:  # the same sizes in any order, with any sign: nothing in common
            rng = np.random.default_rng(1)
            theta = rng.permuted(theta, axis=1) * rng.choice([-1.0, 1.0], size=theta.shape)
            turned = rng.normal(size=beta.shape)
            lengths = np.linalg.norm(beta, axis=1, keepdims=True)
            beta = lengths * turned / np.linalg.norm(turned, axis=1, keepdims=True)
        self.catalog = data.catalog()
        self.weights = np.hstack([(1 - tradeoff) * theta, tradeoff * beta])
        x, z = data.user_coverage, data.relevance
        self.users = [CascadeUser(x, z, t, b, tradeoff) for t, b in zip(theta, beta, strict=True)]

    def truth(self, noise: float) -> Prior:
        """The prior with the true mean and the true covariance of all users."""
        covariance = (np.cov(self.weights.T) + 1e-6 * np.eye(self.weights.shape[1])) / noise
        return Prior(self.weights.mean(axis=0), (covariance + covariance.T) / 2, noise, len(self.users))


def newcomers(world: World, sizes: Sizes) -> Found:
    """Users who come after others: regret of each over the first 30 and 200 lists, and over lists 101 to 200."""
    parts: dict[str, list[np.ndarray]] = {}
    for draw in range(sizes.draws):
        rng = np.random.default_rng(draw)
        order = rng.permutation(len(world.users))
        earlier = min(sizes.earlier, len(order) // 2)
        people = [world.users[u] for u in order[: earlier + sizes.new]]
        before = rng.permutation(np.repeat(np.arange(earlier), rng.integers(20, 201, earlier)))
        after = rng.permutation(np.repeat(np.arange(earlier, len(people)), 200))
        policy = CascadeHybrid(world.catalog, gamma=sizes.gamma)
        crowd, shared = AcrossUsers(policy), SharedModel(policy)
        for many in (crowd, shared):
            simulate_users(many, people, before, K, seed=3)
        ways = {
            "independent": IndependentUsers(policy),
            "learned": IndependentUsers(policy.with_prior(crowd.prior)),
            "oracle": IndependentUsers(policy.with_prior(world.truth(crowd.prior.noise))),
            "shared": shared,
        }
        for name, many in ways.items():
            run = simulate_users(many, people, after, K, seed=4)
            for what, regret in (("30", run.by_user(30)), ("200", run.by_user(200)), ("later", run.by_user(200, 100))):
                parts.setdefault(f"{name} {what}", []).append(regret[earlier:])
    return {name: np.concatenate(values) for name, values in parts.items()}


def long_run(world: World, sizes: Sizes) -> Found:
    """New users with 5,000 lists each, with the prior of earlier ones and without: regret of each, and of the end."""
    policy = CascadeHybrid(world.catalog, gamma=sizes.gamma)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(world.users))
    earlier = min(sizes.earlier, len(order) // 2)
    people = [world.users[u] for u in order[: earlier + sizes.long]]
    crowd = AcrossUsers(policy)
    simulate_users(crowd, people, np.repeat(np.arange(earlier), rng.integers(20, 201, earlier)), K, seed=3)
    after = np.repeat(np.arange(earlier, len(people)), 5000)
    found: Found = {}
    for name, start in (("independent", policy), ("learned", policy.with_prior(crowd.prior))):
        run = simulate_users(IndependentUsers(start), people, after, K, seed=4)
        found[f"{name} 5000"] = run.by_user(5000)[earlier:]
        found[f"{name} end"] = run.by_user(5000, after=4000)[earlier:]
    return found


def kept(out: Path, part: Callable[[World, Sizes], Found], data: Prepared, sizes: Sizes, tradeoff: float) -> Found:
    """What a part of the study found, from the folder if it was simulated before with the same settings."""
    random = part is newcomers and tradeoff < 0
    said = json.dumps([data.dataset, len(data.user_ids), part.__name__, tradeoff, asdict(sizes)])
    path = out / f"{data.dataset} {part.__name__} {tradeoff:g} {hashlib.sha256(said.encode()).hexdigest()[:8]}.npz"
    if not path.exists():
        click.echo(f"{data.dataset}: {part.__name__}, {'random' if random else f'tradeoff {tradeoff:g}'}", err=True)
        np.savez(path, **part(World(data, abs(tradeoff), random), sizes))  # type: ignore[arg-type]
    return dict(np.load(path))


def shown(values: np.ndarray, digits: int = 2) -> str:
    """The mean of users, with its interval, as half of its width."""
    mean, low, _ = interval(values[~np.isnan(values)], 0.95)
    return f"{mean:.{digits}f} ± {mean - low:.{digits}f}"


def share(found: Found, lists: str) -> tuple[float, float, float]:
    """Share of the distance from independent users to the true prior, with an interval by resampling users."""
    independent, learned, oracle = (found[f"{name} {lists}"] for name in ("independent", "learned", "oracle"))
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(learned), size=(2000, len(learned)))
    shares = (independent - learned)[chosen].sum(axis=1) / (independent - oracle)[chosen].sum(axis=1)
    low, high = np.quantile(shares, [0.025, 0.975])
    return float((independent - learned).sum() / (independent - oracle).sum()), float(low), float(high)


def table(out: Path, data: Prepared, sizes: Sizes) -> Iterator[str]:
    """The lines of the tables."""
    earlier = min(sizes.earlier, len(data.user_ids) // 2)
    yield f"New users after {earlier} earlier ones, with a prior learned from those alone:\n"
    yield "| tradeoff | lists | independent | learned prior | true prior | shared | share of the distance |"
    yield "|---|---|---|---|---|---|---|"
    starts = ("independent", "learned", "oracle", "shared")
    for t in sizes.tradeoffs:
        found = kept(out, newcomers, data, sizes, t)
        for lists in ("30", "200"):
            means = " | ".join(
                f"{found[f'{n} {lists}'].mean():.2f}" for n in ("independent", "learned", "oracle", "shared")
            )
            part, low, high = share(found, lists)
            yield f"| {t:g} | first {lists} | {means} | {100 * part:.0f} % ({100 * low:.0f} to {100 * high:.0f}) |"
        apart = shown(found["shared later"] - found["learned later"])
        later = " | ".join(f"{found[f'{name} later'].mean():.2f}" for name in starts)
        yield f"| {t:g} | 101 to 200 | {later} | shared less learned: {apart} |"
    yield "\nWhere a prior might hurt, learned prior less independent users, paired:\n"
    yield "| | tradeoff | independent | difference |\n|---|---|---|---|"
    for t in (0.1, 0.5, 0.9):
        found = kept(out, long_run, data, sizes, t)
        for lists, label in (("5000", "5,000 lists of a user"), ("end", "lists 4,001 to 5,000")):
            one, other = found[f"independent {lists}"], found[f"learned {lists}"]
            yield f"| {label} | {t:g} | {one.mean():.2f} | {shown(other - one)} |"
    for t in (0.1, 0.5, 0.9):
        found = kept(out, newcomers, data, sizes, -t)
        for lists in ("30", "200"):
            one, other = found[f"independent {lists}"], found[f"learned {lists}"]
            yield f"| random preferences, first {lists} lists | {t:g} | {one.mean():.2f} | {shown(other - one)} |"


@click.command(help=__doc__)
@click.argument("dataset")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/across"), show_default=True)
@click.option("--write", type=click.Path(path_type=Path), help="The folder of the docs, to put the tables there too.")
def main(dataset: str, out: Path, write: Path | None) -> None:
    """Simulate, and write tables."""
    out.mkdir(parents=True, exist_ok=True)
    data, sizes = prepare(find(dataset)), Sizes()
    lines = "\n".join(table(out, data, sizes)) + "\n"
    (out / f"{data.dataset}.md").write_text(lines)
    if write is None:
        click.echo(lines)
        return
    page, mark = write / "across-users.md", f"<!-- {data.dataset} -->\n"
    end = f"<!-- end of {data.dataset} -->\n"
    text = re.sub(f"({mark}).*({end})", lambda place: place[1] + lines + place[2], page.read_text(), flags=re.S)
    page.write_text(text)


if __name__ == "__main__":
    main()
