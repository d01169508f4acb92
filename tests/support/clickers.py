"""Simulated users in a few plain lines each, to try ranked bandits and BatchRank on."""

import math

import numpy as np


class Cascade:
    """Reads from the top, clicks the first item that attracts, and leaves; the reward is the probability of a click."""

    def __init__(self, attraction):
        self.attraction = [float(a) for a in attraction]
        self.n_items = len(self.attraction)

    def reward(self, items):
        return 1 - math.prod(1 - self.attraction[a] for a in items.tolist())

    def click(self, items, coins):
        for position, (a, coin) in enumerate(zip(items.tolist(), coins.tolist(), strict=True)):
            if coin < self.attraction[a]:
                return position
        return None

    def best(self, k):
        return np.argsort(-np.array(self.attraction), kind="stable")[:k]


class PositionBased(Cascade):
    """Looks at each position with a probability of its own, and clicks all that attracts; the reward is the clicks."""

    def __init__(self, attraction, examination):
        super().__init__(attraction)
        self.examination = examination

    def reward(self, items):
        return sum(e * self.attraction[a] for e, a in zip(self.examination, items.tolist(), strict=False))

    def click(self, items, coins):
        pairs = enumerate(zip(self.examination, items.tolist(), coins.tolist(), strict=False))
        return tuple(position for position, (e, a, coin) in pairs if coin < e * self.attraction[a])


def slope(run):
    """Of log regret over log steps, in the last decade of a run."""
    late = run.steps >= run.steps[-1] / 10
    return float(np.polyfit(np.log(run.steps[late]), np.log(run.regret[late]), 1)[0])
