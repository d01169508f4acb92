"""One list made of the lists of several rankers, such that clicks on it say which ranker is preferred."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from rankfall.arrays import FloatArray, finite, frozen, whole
from rankfall.errors import FeedbackError, RankError, short
from rankfall.item_names import Id
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.settings import PolicySettings, real

Lists = Mapping[str, Iterable[Id]]
"""The list of each ranker, best first, by the name of the ranker."""


@dataclass(frozen=True, eq=False, repr=False)
class Interleaved:
    """The list shown, and what a click at each position says for each ranker.

    Attributes
    ----------
    items : the ids, best first.
    rankers : the names of those whose lists it is made of.
    credit : (rankers, items) the probability that the item at a position was contributed by the ranker, given the list.

    >>> shown = TeamDraft().interleave({"old": ["a", "b"], "new": ["b", "c"]}, 2, np.random.default_rng(1))
    >>> shown, shown.credit
    (Interleaved('a', 'b' of old, new), array([[1., 0.],
           [0., 1.]]))
    >>> shown.preference("old", "new", [0])
    1.0
    >>> Interleaved.decode(shown.encode()).items
    ('a', 'b')
    """

    items: tuple[Id, ...]
    rankers: tuple[str, ...]
    credit: FloatArray

    def __repr__(self) -> str:
        return f"Interleaved({', '.join(map(repr, self.items))} of {', '.join(self.rankers)})"

    def __len__(self) -> int:
        return len(self.items)

    def preference(self, first: str, second: str, click: Click) -> float:
        """The probability that the clicks speak for one ranker rather than for another, a tie counting half.

        Each position was contributed by one ranker, which has the credit for a click there; of two rankers the one with
        more clicks is preferred. Where the list does not show who contributed what, this is the probability over all
        ways it can have been: ``P(first has more) + P(both have as many) / 2``.
        """
        clicks = all_clicks(click, len(self))
        lead = [1.0]  # the probability of each difference of clicks so far: -n, ..., 0, ..., n after n clicks
        for mine, theirs in zip(self._credit_of(first, clicks), self._credit_of(second, clicks), strict=True):
            padded = [0.0, 0.0, *lead, 0.0, 0.0]
            neither = 1.0 - mine - theirs
            lead = [
                mine * below + neither * same + theirs * above
                for below, same, above in zip(padded, padded[1:], padded[2:], strict=False)
            ]
        return sum(lead[len(clicks) + 1 :]) + lead[len(clicks)] / 2.0

    def _credit_of(self, ranker: str, positions: list[int]) -> list[float]:
        if ranker not in self.rankers:
            raise FeedbackError(f"the list was made of the lists of {', '.join(self.rankers)}, not of {ranker!r}")
        credit: list[float] = self.credit[self.rankers.index(ranker), positions].tolist()
        return credit

    def encode(self) -> str:
        """The list as JSON, to be kept until its clicks are known."""
        return json.dumps({"items": self.items, "rankers": self.rankers, "credit": self.credit.tolist()})

    @classmethod
    def decode(cls, text: str) -> Interleaved:
        """What :meth:`encode` made JSON of."""
        try:
            given = json.loads(text)
            items, rankers = tuple(given["items"]), tuple(given["rankers"])
            credit = finite("credit", given["credit"], 2, FeedbackError)
        except (ValueError, TypeError, KeyError) as problem:
            raise FeedbackError(f"this is no list that Interleaved.encode() gave: {problem!r}") from None
        if credit.shape != (len(rankers), len(items)):
            raise FeedbackError(f"{len(rankers)} rankers and {len(items)} items with credit of shape {credit.shape}")
        if (credit < 0.0).any() or (credit.sum(axis=0) > 1.0 + 1e-9).any():
            raise FeedbackError(f"credit must be a probability of each ranker at each position, got {credit.tolist()}")
        return cls(items, rankers, credit)


@dataclass(frozen=True)
class Interleaving(PolicySettings):
    """How one list is made of several: a frozen value."""

    def interleave(self, lists: Lists, k: int, rng: np.random.Generator) -> Interleaved:
        """One list of ``k`` items, or of all there are if these are fewer, out of the lists of one or more rankers."""
        k = whole("k", k, RankError, low=1)
        known = {name: _checked(name, items) for name, items in lists.items()}
        if not known:
            raise RankError("there is no list to interleave; give one for each ranker, by its name")
        items, credit = self.mix(list(known.values()), k, rng)
        return Interleaved(tuple(items), tuple(known), frozen(credit))

    @abstractmethod
    def mix(self, lists: list[list[Id]], k: int, rng: np.random.Generator) -> tuple[list[Id], FloatArray]:
        """The items, and the credit (lists, items)."""


def _checked(name: str, items: Iterable[Id]) -> list[Id]:
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise RankError(f"the list of {name!r} must be ids, best first, got {short(items)}")
    listed = [one.item() if isinstance(one, np.generic) else one for one in items]
    strange = [one for one in listed if isinstance(one, bool) or not isinstance(one, int | str)]
    if strange:
        raise RankError(f"the list of {name!r} holds {strange[0]!r}; ids are whole numbers or strings")
    if not listed:
        raise RankError(f"the list of {name!r} is empty")
    if len(set(listed)) < len(listed):
        raise RankError(f"the list of {name!r} has an item twice: {listed}")
    return listed


@dataclass(frozen=True)
class TeamDraft(Interleaving):
    """Rankers take turns, in an order drawn anew for each round; each puts its best item that is not there yet.

    Radlinski, Kurup, Joachims: How Does Clickthrough Data Reflect Retrieval Quality?, CIKM 2008, for two rankers;
    Schuth, Sietsma, Whiteson, Lefortier, de Rijke: Multileaved Comparisons for Fast Online Evaluation, CIKM 2014, for
    several (both from memory; the form agrees with the public package ``interleaving`` of Kato). A click counts for the
    ranker whose turn it was.

    Which positions belong to whom does not depend on the items, and is drawn evenly: whoever clicks without regard to
    the items prefers every ranker equally often. Where our form differs: a ranker without items left loses its turn.

    >>> TeamDraft().interleave({"old": [1, 2, 3], "new": [3, 2, 1]}, 2, np.random.default_rng(0)).items
    (1, 3)
    """

    def mix(self, lists: list[list[Id]], k: int, rng: np.random.Generator) -> tuple[list[Id], FloatArray]:
        """The items, and 1 for the ranker whose turn it was."""
        return draft(lists, k, self._turns(len(lists), rng))

    def _turns(self, rankers: int, rng: np.random.Generator) -> Iterator[int]:
        while True:
            yield from rng.permutation(rankers).tolist()


def draft(lists: list[list[Id]], k: int, turns: Iterable[int]) -> tuple[list[Id], FloatArray]:
    """The list that comes of these turns (numbers of lists), and 1 for the list whose turn it was at each position.

    >>> draft([["a", "b"], ["a", "c"]], 3, [0, 1, 1, 0])
    (['a', 'c', 'b'], array([[1., 0., 1.],
           [0., 1., 0.]]))
    """
    length = min(k, len({item for items in lists for item in items}))
    shown: dict[Id, int] = {}
    for turn in turns:
        if len(shown) == length:
            break
        best = next((item for item in lists[turn] if item not in shown), None)
        if best is not None:
            shown[best] = turn
    credit = np.zeros((len(lists), len(shown)))
    credit[list(shown.values()), np.arange(len(shown))] = 1.0
    return list(shown), credit


@dataclass(frozen=True)
class Probabilistic(Interleaving):
    """At each position a ranker is drawn, and of its items one that is not there yet, the higher ones more likely.

    Hofmann, Whiteson, de Rijke: A Probabilistic Method for Inferring Preferences from Clicks, CIKM 2011, for two
    rankers; Schuth et al.: Probabilistic Multileave for Online Retrieval Evaluation, SIGIR 2015, for several (both from
    memory; the form agrees with the public package ``interleaving`` of Kato)::

        for each position:
            draw a ranker r, all equally likely
            draw an item d of its list that is not shown above, with P_r(d) in proportion to 1 / rank_r(d)^tau
        credit of r at the position of d = P_r(d) / sum over rankers q of P_q(d)

    with tau = 3. Any item of any list can stand anywhere, and who contributed it is not taken from the draw, but from
    all ways the list can have come about: credit is the probability given the list, and :meth:`Interleaved.preference`
    sums over them exactly (in time that grows with the square of the clicks, not with all ways to assign them). Lists
    vary more than those of :class:`TeamDraft`, and each click says more.

    Where our form differs: for several rankers the sum over assignments is exact, where Schuth et al. sample; a ranker
    none of whose items are left is not drawn.

    >>> Probabilistic().interleave({"old": [1, 2, 3], "new": [3, 2, 1]}, 2, np.random.default_rng(0)).items
    (3, 1)
    """

    tau: float = real(3.0, low=0.0, high=50.0)

    def mix(self, lists: list[list[Id]], k: int, rng: np.random.Generator) -> tuple[list[Id], FloatArray]:
        """The items, and the probability of each ranker to have contributed them."""
        pool = list(dict.fromkeys(item for items in lists for item in items))
        weights = self.weights(lists, pool)
        length = min(k, len(pool))
        items, credit = [], np.empty((len(lists), length))
        for position in range(length):
            chances = draw_chances(weights)
            of_item = chances.sum(axis=0)
            row = int(rng.choice(len(pool), p=of_item / of_item.sum()))
            items.append(pool[row])
            credit[:, position] = chances[:, row] / of_item[row]
            weights[:, row] = 0.0
        return items, credit

    def weights(self, lists: list[list[Id]], pool: list[Id]) -> FloatArray:
        """(lists, pool) ``1 / rank^tau`` of each item in each list, 0 where it is not in it."""
        row_of = {item: row for row, item in enumerate(pool)}
        weights = np.zeros((len(lists), len(pool)))
        for number, items in enumerate(lists):
            for rank, item in enumerate(items, 1):
                weights[number, row_of[item]] = float(rank) ** -self.tau
        return weights


def draw_chances(weights: FloatArray) -> FloatArray:
    """(lists, pool) the probability that the next item is this one, drawn from this list, given what is left."""
    totals = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    chances: FloatArray = shares / np.count_nonzero(totals)
    return chances


def first_of(name: str, items: Iterable[Id], k: int) -> Interleaved:
    """The list of one ranker, which has nobody to be compared with.

    >>> first_of("old", [3, 1, 2], 2)
    Interleaved(3, 1 of old)
    """
    shown = tuple(islice(_checked(name, items), whole("k", k, RankError, low=1)))
    return Interleaved(shown, (name,), frozen(np.ones((1, len(shown)))))
