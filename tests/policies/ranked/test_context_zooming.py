"""Contextual zooming against a plain form that looks at every ball and every pair."""

import math

import numpy as np
import pytest

from rankfall import Catalog, Intents, RankedContextZooming, RankedZooming, check_policy, simulate
from rankfall.errors import FeedbackError, ProblemError

LINE = Catalog(relevance=np.linspace(0.0, 1.0, 8)[:, None])


class PlainPosition:
    """Algorithm 1 with a list of balls: each a context, an item, a radius and what was earned."""

    def __init__(self, distances: np.ndarray, above: int, weight: float, radius: float) -> None:
        self.D, self.weight, self.radius = distances, weight, radius
        self.balls: list[tuple[tuple[int, ...], int, float, list[float]]] = [((0,) * above, 0, 1.0, [])]

    def distance(self, a: tuple[tuple[int, ...], int], b: tuple[tuple[int, ...], int]) -> float:
        contexts = sum(self.D[x, y] for x, y in zip(a[0], b[0], strict=True))
        return min(1.0, self.D[a[1], b[1]] + self.weight * contexts)

    def conf(self, earned: list[float]) -> float:
        return math.sqrt(self.radius / (1 + len(earned)))

    def index(self, ball: int) -> float:
        def pre(r: float, earned: list[float]) -> float:
            return (sum(earned) / len(earned) if earned else 0.0) + r + self.conf(earned)

        context, item, radius, _ = self.balls[ball]
        return radius + min(pre(r, e) + self.distance((context, item), (c, x)) for c, x, r, e in self.balls)

    def ball(self, context: tuple[int, ...], item: int) -> int:
        holding = [
            (r, number) for number, (c, x, r, _) in enumerate(self.balls) if self.distance((context, item), (c, x)) <= r
        ]
        return min(holding)[1]

    def tell(self, context: tuple[int, ...], item: int, reward: float) -> None:
        _, _, radius, earned = self.balls[self.ball(context, item)]
        earned.append(reward)
        if self.conf(earned) <= radius:
            self.balls.append((context, item, radius / 2, []))


@pytest.mark.parametrize("correlated", [True, False])
@pytest.mark.parametrize(("weight", "radius"), [(1.0, 0.3), (0.2, 1.0), (0.0, 0.25)])
def test_it_does_what_the_plain_form_does(weight: float, radius: float, correlated: bool) -> None:
    rng = np.random.default_rng(3)
    points, k = rng.random((7, 2)), 3
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    policy = RankedContextZooming(7, k=k, distances=distances, radius=radius, weight=weight, correlated=correlated)
    plain = [PlainPosition(distances, above, weight, radius) for above in range(k)]
    for _ in range(250):
        ranking = policy.rank(k, rng=rng)
        items = ranking.items.tolist()
        for position, item in enumerate(items):
            above = tuple(items[:position])
            index = {}
            for other in set(range(7)) - set(above):
                index[other] = plain[position].index(plain[position].ball(above, other))
                if correlated and above:
                    index[other] = min(index[other], min(distances[other, y] for y in above))
            assert index[item] == pytest.approx(max(index.values()), abs=1e-12)
        click = next((p for p, item in enumerate(items) if rng.random() < 0.6 * points[item, 0]), None)
        policy.update(ranking, click)
        for position, item in enumerate(items):
            if click is None or position <= click:
                plain[position].tell(tuple(items[:position]), item, float(position == click))
    assert policy.n_balls == tuple(len(each.balls) for each in plain)
    assert min(policy.n_balls) > 5
    state = policy.state()
    for position, each in enumerate(plain):
        assert state[f"counts.{position}"].tolist() == [len(earned) for *_, earned in each.balls]
        assert state[f"radii.{position}"].tolist() == [radius for _, _, radius, _ in each.balls]


def test_the_contract_holds() -> None:
    check_policy(RankedContextZooming(LINE, k=3, radius=0.5))
    check_policy(RankedContextZooming(LINE, k=2, steps=100, correlated=False, weight=0.5))


def test_it_learns_what_goes_with_what() -> None:
    """Two kinds of users, one twice as many: whichever group is on top, the other one is to stand below it."""
    group = np.repeat([0.0, 1.0], 10)
    distances = np.abs(group[:, None] - group[None])
    user = Intents(np.stack([group == 0, group == 0, group == 1]))
    runs = {
        name: simulate(
            make(20, k=2, steps=3000, distances=distances, radius=0.25, correlated=False), user, 3000, 2, seed=1
        )
        for name, make in {"context": RankedContextZooming, "plain": RankedZooming}.items()
    }
    late = {name: (run.regret[-1] - run.regret[len(run.regret) // 2]) / 1500 for name, run in runs.items()}
    assert late["context"] < 0.05  # of 1/3 for a list of one group
    assert runs["context"].regret[-1] < 1.5 * runs["plain"].regret[-1]


def test_what_does_not_fit_is_refused() -> None:
    policy = RankedContextZooming(LINE, k=2, radius=0.5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        policy.update(policy.rank(2, rng=rng), 0)
    with pytest.raises(FeedbackError, match="one that RankedContextZooming made"):
        policy.update(policy.rank(2).replace(note=None), 0)
    state = policy.state()
    for name, wrong, said in (
        ("centres.0", state["centres.0"] + 9, "not there"),
        ("contexts.1", state["contexts.1"][:, :0], "contexts.1 is"),
        ("radii.1", -state["radii.1"], "cannot be"),
    ):
        with pytest.raises(ValueError, match=said):
            policy.restore({**state, name: wrong})
    with pytest.raises(ValueError, match="needs the arrays"):
        policy.restore({"n_updates": state["n_updates"]})
    with pytest.raises(ProblemError, match="weight must be"):
        RankedContextZooming(LINE, weight=-1.0)
