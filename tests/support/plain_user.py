"""Users with an attraction for each item, in their plainest form, to try policies on."""

from typing import Any, Literal

import numpy as np


class PlainUser:
    """Clicks by the cascade, dependent click (dcm) or position-based (pbm) model; reward is the number of clicks.

    ``chances`` are, by position: for dcm that a click satisfies the user, for pbm that the position is looked at.
    """

    def __init__(self, model: Literal["cascade", "dcm", "pbm"], attraction: Any, chances: Any = ()) -> None:
        self.model, self.attraction, self.chances = model, [float(a) for a in attraction], [float(c) for c in chances]
        self.n_items = len(self.attraction)

    def reward(self, items: Any) -> float:
        total, looks = 0.0, 1.0
        for position, item in enumerate(np.asarray(items).tolist()):
            alpha = self.attraction[item]
            if self.model == "pbm":
                looks = self.chances[position]
            total += looks * alpha
            if self.model == "cascade":
                looks *= 1.0 - alpha
            elif self.model == "dcm":
                looks *= 1.0 - alpha * self.chances[position]
        return total

    def click(self, items: Any, coins: Any) -> tuple[int, ...] | None:
        clicks = []
        for position, (item, coin) in enumerate(zip(np.asarray(items).tolist(), coins.tolist(), strict=True)):
            alpha = self.attraction[item]
            if self.model == "pbm":
                alpha *= self.chances[position]
            if coin < alpha:
                clicks.append(position)
                # The coin, given that it fell below alpha, is uniform below alpha: it serves again.
                if self.model == "cascade" or (self.model == "dcm" and coin < alpha * self.chances[position]):
                    break
        return tuple(clicks) or None

    def best(self, k: int) -> Any:
        return np.argsort(-np.array(self.attraction), kind="stable")[:k]

    def wrong_pairs(self, items: Any) -> int:
        """How many pairs of a list are in the wrong order."""
        alpha = [self.attraction[item] for item in items]
        return sum(alpha[low] > alpha[high] for low in range(len(alpha)) for high in range(low))


def users(attraction: Any, k: int) -> list[PlainUser]:
    """One of each click model."""
    return [
        PlainUser("cascade", attraction),
        PlainUser("dcm", attraction, np.linspace(0.7, 0.3, k)),
        PlainUser("pbm", attraction, 0.8 ** np.arange(k)),
    ]


def slope(runs: Any) -> float:
    """How the mean regret of some runs grows over their last decade: 1 is linearly, 0 not at all."""
    steps = runs[0].steps.tolist()
    regret = np.mean([run.regret for run in runs], axis=0)
    return float(np.log10(regret[-1] / regret[steps.index(steps[-1] // 10)]))
