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


class Intents:
    """Users with different intents, one of them at random each time; clicks the first item relevant to it.

    ``relevant`` (intents, items). The first coin decides who comes. A relevant item is clicked with probability
    ``click`` and others with ``noise``; the reward is the probability of a click. ``best`` is the greedy list.
    """

    def __init__(self, relevant, *, click=1.0, noise=0.0):
        self.chance = np.where(np.asarray(relevant, dtype=bool), click, noise)
        self.n_items = self.chance.shape[1]
        self._rows = self.chance.tolist()

    def reward(self, items):
        none = 1.0 - self.chance[:, items[0]]
        for a in items[1:].tolist():
            none = none * (1.0 - self.chance[:, a])
        return 1.0 - float(none.sum()) / len(none)

    def click(self, items, coins):
        flips = coins.tolist()
        scaled = flips[0] * len(self._rows)
        chance = self._rows[int(scaled)]
        flips[0] = scaled - int(scaled)
        for position, a in enumerate(items.tolist()):
            if flips[position] < chance[a]:
                return position
        return None

    def best(self, k):
        none, chosen = np.ones(len(self.chance)), []
        for _ in range(k):
            gains = none @ self.chance
            gains[chosen] = -1.0
            chosen.append(int(np.argmax(gains)))
            none = none * (1.0 - self.chance[:, chosen[-1]])
        return np.array(chosen)


def restaurant(rng, *, users=20, items=50, spread=3.0):
    """Synthetic users of Radlinski, Kleinberg and Joachims (2008): topics by a Chinese restaurant process.

    Each topic gets as many random items as it has users, and they are relevant to exactly these.
    """
    topics = []
    for user in range(users):
        if rng.random() * (user + spread) < spread:
            topics.append([user])
        else:
            weights = np.array([len(topic) for topic in topics])
            topics[rng.choice(len(topics), p=weights / weights.sum())].append(user)
    relevant = np.zeros((users, items), dtype=bool)
    for topic in topics:
        relevant[np.ix_(topic, rng.choice(items, size=len(topic), replace=False))] = True
    return relevant


def slope(run):
    """Of log regret over log steps, in the last decade of a run."""
    late = run.steps >= run.steps[-1] / 10
    return float(np.polyfit(np.log(run.steps[late]), np.log(run.regret[late]), 1)[0])
