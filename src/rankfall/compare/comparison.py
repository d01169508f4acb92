"""A comparison of rankers that goes on while people click."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfall.compare.double_thompson import DoubleThompson
from rankfall.compare.duels import Duels, Method, Together, UniformPairs
from rankfall.compare.interleaving import Interleaved, Interleaving, Probabilistic, TeamDraft, first_of
from rankfall.compare.merge_dts import MergeDTS
from rankfall.compare.self_sparring import SelfSparring
from rankfall.compare.standing import Standing, standing_of
from rankfall.errors import FeedbackError, ProblemError, RankError, short
from rankfall.files import load_blocks, save_blocks
from rankfall.item_names import Id
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.ranking import Ranking

FORMAT = "rankfall comparison 1"
METHODS: dict[str, type[Method]] = {
    each.__name__: each for each in (MergeDTS, DoubleThompson, SelfSparring, UniformPairs, Together)
}
INTERLEAVINGS: dict[str, type[Interleaving]] = {each.__name__: each for each in (TeamDraft, Probabilistic)}

RankerLists = Mapping[str, Iterable[Id] | Ranking] | Callable[[str], Iterable[Id] | Ranking]
"""The list of each ranker by its name: a mapping, or a function that makes it when it is needed."""


class Comparison:
    """Finds the best of several rankers from clicks on lists that are made of theirs.

    Like a policy, it never keeps what it showed: :meth:`feedback` gets back the list that it answers, so that clicks
    may come late, out of order, or never.

    Parameters
    ----------
    rankers : their names, two or more.
    method : who is compared next: :class:`MergeDTS`, :class:`DoubleThompson`,
        :class:`SelfSparring`, :class:`UniformPairs` or :class:`Together`.
    interleaving : how one list is made of several: :class:`TeamDraft` or :class:`Probabilistic`.

    >>> comparison = Comparison(["old", "new"])
    >>> rng = np.random.default_rng(1)
    >>> for _ in range(200):  # whoever comes likes "c", which the new ranker has on top
    ...     shown = comparison.next({"old": ["a", "b", "c"], "new": ["c", "a", "b"]}, k=2, rng=rng)
    ...     comparison.feedback(shown, shown.items.index("c") if "c" in shown.items else None)
    >>> print(comparison.standing())
    new is best, after ... lists (error at most 0.05)
    """

    def __init__(
        self,
        rankers: Iterable[str],
        method: Method = MergeDTS(),  # noqa: B008 - a frozen value
        interleaving: Interleaving = TeamDraft(),  # noqa: B008 - a frozen value
    ) -> None:
        self.rankers = tuple(rankers)
        if len(self.rankers) < 2 or len(set(self.rankers)) < len(self.rankers):
            raise ProblemError(f"a comparison needs two rankers or more, each name once; got {list(self.rankers)}")
        if not all(isinstance(name, str) for name in self.rankers):
            raise ProblemError(f"names of rankers must be text, got {list(self.rankers)}")
        if not isinstance(method, Method):
            raise ProblemError(f"method must be one of {', '.join(METHODS)}, such as MergeDTS(); got {method!r}")
        if not isinstance(interleaving, Interleaving):
            raise ProblemError(f"interleaving must be TeamDraft() or Probabilistic(), got {interleaving!r}")
        self.method, self.interleaving = method, interleaving
        self.duels = Duels(len(self.rankers), method)
        self._number = {name: number for number, name in enumerate(self.rankers)}
        self._rng: np.random.Generator | None = None

    def __repr__(self) -> str:
        return f"Comparison({len(self.rankers)} rankers, {self.method!r}, {self.interleaving!r})"

    def next(self, lists: RankerLists, k: int, rng: np.random.Generator | None = None) -> Interleaved:
        """The next list of ``k`` items to show. Does not change what was learned.

        ``lists`` has the list of every ranker by its name; or is a function that is called with the names of those that
        are compared, most often two. Lists are ids, best first, or rankings of policies. Random numbers come from
        ``rng``; without it, from a generator with fresh entropy.
        """
        if not isinstance(rng, np.random.Generator | None):
            raise RankError(f"rng must be a numpy.random.Generator or None, got {type(rng).__name__}")
        if rng is None:
            rng = self._rng = self._rng or np.random.default_rng()
        names = [self.rankers[number] for number in self.duels.choose(rng)]
        made = {name: self._list(lists, name) for name in names}
        if len(made) == 1:
            return first_of(names[0], made[names[0]], k)
        return self.interleaving.interleave(made, k, rng)

    def _list(self, lists: RankerLists, name: str) -> Iterable[Id]:
        if callable(lists):
            given = lists(name)
        elif not isinstance(lists, Mapping):
            raise RankError(f"lists must map names of rankers to their lists, or be a function, got {short(lists)}")
        elif name in lists:
            given = lists[name]
        else:
            raise RankError(f"there is no list of the ranker {name!r}; give one for each of {', '.join(self.rankers)}")
        if isinstance(given, Ranking):
            return given.ids or given.items.tolist()
        return given

    def feedback(self, shown: Interleaved, click: Click) -> None:
        """Learn from the clicks on a list, at 0-based positions, or from None for no click."""
        if not isinstance(shown, Interleaved):
            raise FeedbackError(f"expected the list that next() gave, got {type(shown).__name__}")
        unknown = [name for name in shown.rankers if name not in self._number]
        if unknown:
            raise FeedbackError(f"the list is of {unknown[0]!r}, which is not compared here: {', '.join(self.rankers)}")
        clicks = all_clicks(click, len(shown))
        pairs = itertools.combinations(shown.rankers, 2) if clicks else ()
        number = self._number
        self.duels.learn({(number[a], number[b]): shown.preference(a, b, clicks) for a, b in pairs})

    def standing(self, error: float = 0.05) -> Standing:
        """Who leads, and who can still be the best; true whenever one looks, but for the error.

        It takes for granted that one ranker is preferred to every other one.
        """
        return standing_of(self.duels, self.rankers, error)

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that was learned, as arrays by name: a copy."""
        return self.duels.state()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this, as :meth:`state` gave it; raises ValueError, and changes nothing, where that cannot be."""
        self.duels.restore(arrays)

    def save(self, path: str | Path) -> None:
        """Write it to a file, whole or not at all; :meth:`load` reads it."""
        parts: dict[str, Method | Interleaving] = {"method": self.method, "interleaving": self.interleaving}
        if type(self.method).__name__ not in METHODS or type(self.interleaving).__name__ not in INTERLEAVINGS:
            raise ProblemError("only comparisons with methods and interleavings of this package can be saved")
        header = {name: {"name": type(part).__name__, "settings": asdict(part)} for name, part in parts.items()}
        save_blocks(path, {"format": FORMAT, "rankers": self.rankers, **header}, self.state())

    @classmethod
    def load(cls, path: str | Path) -> Comparison:
        """The comparison in a file of :meth:`save`; it goes on bit for bit."""
        return load_blocks(path, "a comparison", FORMAT, cls._restored)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Comparison:
        method, interleaving = header["method"], header["interleaving"]
        made = cls(
            header["rankers"],
            METHODS[method["name"]].of(method["name"], method["settings"]),
            INTERLEAVINGS[interleaving["name"]].of(interleaving["name"], interleaving["settings"]),
        )
        made.restore(arrays)
        return made
