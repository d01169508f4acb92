"""The contract of policies, and what all of them share."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import fill, whole
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, FeedbackError, ProblemError, RankError
from rankfall.frames import html_table
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.context import Context, RequestFeatures
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.list_rules import NO_RULES, ListRules
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request, check_request, rows_named
from rankfall.policies.rewards import checked_rewards
from rankfall.policies.serving import Serving
from rankfall.policies.settings import PolicySettings, signature_of
from rankfall.wire.rules import Rule

Need = Literal["coverage", "relevance"]


@runtime_checkable
class PolicyLike(Protocol):
    """The least that can be simulated: anything that ranks and learns. :class:`Policy` has more."""

    @property
    def n_items(self) -> int:
        """How many items there are to rank."""
        ...

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
    ) -> Ranking:
        """Show ``k`` items, best first, out of ``candidates`` (all) without ``exclude`` (none)."""
        ...

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from the clicks on ``ranking``."""
        ...


class Policy(Serving, ABC):
    """Ranks and learns: *catalog + settings + state*.

    A policy says by :meth:`begin` what its state is before the first list, by :meth:`choose` what to show, and by
    :meth:`learn` what clicks mean. Everything else is here: checks, copies, saving and loading. The contract, which
    :func:`rankfall.check_policy` tries out:

    - ``rank`` never changes what was learned, and draws randomness only from the generator it is given.
    - ``update`` gets back the ranking it is about; feedback may come late, out of order, or never.
    - The state is plain arrays by name; a policy restored from them goes on bit for bit.

    Parameters
    ----------
    catalog : the items; for policies that need no features, also how many there are.
    settings : a value of the class's ``Settings``; or its fields by name.

    Attributes
    ----------
    catalog, n_items, settings : what it ranks, how many items that are, and how.
    arrays : the live state of policies that keep it as plain arrays; :meth:`state` gives copies.
    compact : whether to take less memory and more time; its lists are the same.
    summary, paper : of the class: what it is in a line, and where it comes from.
    needs : of the class: the features of a catalog that it uses.
    randomised : of the class: whether it may rank differently each time it is asked.
    why_not_served : of the class: why no service can learn with it, or None.
    why_not_fixed : of the class: why no position of its lists can be fixed, or None.
    why_not_rewarded : of the class: why it cannot learn rewards other than a click, or None.
    why_not_ruled : of the class: why its lists cannot keep rules, or None.

    >>> class InOrder(Policy):
    ...     def choose(self, request, rng):
    ...         return Ranking(request.rows[: request.k])
    ...     def learn(self, ranking, clicks):
    ...         pass
    >>> policy = InOrder(4)
    >>> policy, policy.rank(2, exclude=[0])
    (InOrder(4 items), Ranking(1, 2))
    """

    Settings: ClassVar[type[PolicySettings]] = PolicySettings
    summary: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    needs: ClassVar[frozenset[Need]] = frozenset()
    randomised: ClassVar[bool] = False
    why_not_fixed: ClassVar[str | None] = None
    why_not_rewarded: ClassVar[str | None] = "it learns what was clicked, and not what a click is worth"
    why_not_ruled: ClassVar[str | None] = "it does not choose position by position, by scores"

    settings: Any
    arrays: dict[str, NDArray[Any]]
    _rng: np.random.Generator | None = None
    _last_rules: ListRules | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            cls.__signature__ = signature_of(cls.Settings)  # type: ignore[attr-defined]

    def __init__(self, catalog: Catalog | int, settings: PolicySettings | None = None, **named: Any) -> None:
        self.catalog = self._as_catalog(catalog)
        self.n_items = len(self.catalog)
        self.settings = self._as_settings(settings, named)
        self._unlimited: Request | None = None
        self._n_updates = 0
        self.compact = False
        self.prepare()
        self.begin()

    @classmethod
    def _as_catalog(cls, items: Catalog | int) -> Catalog:
        if isinstance(items, Catalog):
            if not len(items) and cls.why_not_served is not None:
                raise ProblemError(f"{cls.__name__} needs items to rank, and {items!r} has none")
            return items
        if cls.needs:
            raise CatalogError(f"catalog must be a Catalog, got {type(items).__name__}")
        return Catalog(ids=range(whole("items", items, ProblemError, low=1)))

    @classmethod
    def _as_settings(cls, settings: PolicySettings | None, named: Mapping[str, Any]) -> Any:
        if settings is not None and not isinstance(settings, cls.Settings):
            raise ProblemError(f"settings of {cls.__name__} must be its Settings, or given by name; got {settings!r}")
        given = {} if settings is None else vars(settings)
        return cls.Settings.of(cls.__name__, {**given, **named})

    # What a policy of its own implements.

    def prepare(self) -> None:
        """Work out what follows from catalog and settings and never changes; called once."""

    def begin(self) -> None:
        """Set all that learning changes to what it is before the first list; by default nothing.

        Whatever is put into ``self.arrays`` is saved, restored and copied without further work.
        """
        self.arrays = {}

    @abstractmethod
    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """Make the list for a checked request, drawing from ``rng`` only; must not change what was learned."""

    @abstractmethod
    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from the positions clicked, from the top; all of it was checked. Called by :meth:`update`."""

    # What a policy that learns rewards implements too.

    def learn_rewards(self, ranking: Ranking, clicks: list[int], rewards: Mapping[int, float]) -> None:  # noqa: ARG002
        """Learn from the positions clicked and what items earned, by position. Called by :meth:`update`."""
        raise self.not_rewarded()

    def learn_outcome(
        self,
        ranking: Ranking,  # noqa: ARG002
        clicks: list[int],  # noqa: ARG002
        position: int,  # noqa: ARG002
        reward: float,  # noqa: ARG002
        earned: float | None = None,  # noqa: ARG002
    ) -> None:
        """Learn that the item at a position earned more since. Called by :meth:`add_outcome`."""
        raise self.not_rewarded()

    @classmethod
    def not_rewarded(cls) -> ProblemError:
        """The error for rewards that the policy cannot learn."""
        return ProblemError(f"{cls.__name__} cannot learn rewards: {cls.why_not_rewarded}")

    # What a policy with compiled steps implements too, so that simulations run it without the interpreter.

    def compiled_state(self, k: int, rng: np.random.Generator) -> Any:  # noqa: ARG002
        """Its live state as a named tuple of :func:`rankfall.kernels.policy_steps.steps`; None, if it has no such form.

        The kernels change the arrays, and :meth:`after_compiled` is told how many lists of ``k`` they learned from.
        """
        return None

    def numbers_drawn(self, k: int) -> int:  # noqa: ARG002
        """How many numbers ``choose`` draws by ``rng.random`` for a list of ``k``, of a policy with compiled steps."""
        return 0

    def after_compiled(self, lists: int) -> None:
        """Take note of lists that compiled steps learned from, and do what they left to do."""
        self._n_updates += lists

    # What callers use.

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items)"

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        return self._n_updates

    def _repr_html_(self) -> str:
        """What it is, and the most it has learned, for notebooks."""
        if self.why_not_served is not None:
            return html_table(repr(self), (), ())
        most = sorted(self.learned(), key=lambda weight: -abs(weight.weight))[:10]
        rows = [(one.name, one.block, one.weight, one.sd) for one in most]
        return html_table(repr(self), ("learned", "", "weight", "sd"), rows)

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | Iterable[str] | None = None,
        exclude: Iterable[int] | Iterable[str] | None = None,
        fixed: Mapping[int, int] | None = None,
        rules: Iterable[Rule] | ListRules | None = None,
        now: float | None = None,
        context: Mapping[str, Any] | None = None,
        features: Any = None,
    ) -> Ranking:
        """Make a list of ``k`` rows out of ``candidates`` (all) without ``exclude`` (none), best first.

        Both are rows; where ids are text, they may be ids. Whole numbers are always rows: ``catalog.rows(ids)`` gives
        those of ids.

        ``fixed`` holds rows at 0-based positions, whether they are candidates or not, and shows them nowhere else;
        the rest is chosen around them. With every position fixed, this is what the policy makes of a given list.

        ``rules`` say which items may stand where, by their attributes; the most important come first. ``relaxed`` of
        the ranking says which of them could not be kept where. ``now``, in seconds since 1970, is for those that look
        at the time. docs/rules.md explains them.

        ``context`` is that of the request, by the names of the factors that the policy was given as its ``context``.
        ``features`` are those that candidates have in this request alone: for each of them, in their order, an array
        (n, features); or by row or id a mapping of names to numbers. Candidates that are not named have 0.

        Policies that draw take their random numbers from ``rng``; without it, from a generator of their own, which
        starts with fresh entropy. For a list that can be made again, give ``rng``.

        >>> from rankfall import Catalog, CascadeLinUCB
        >>> policy = CascadeLinUCB(Catalog(relevance=[[1.0], [3.0], [2.0]]))
        >>> policy.rank(2)
        Ranking(1, 2)
        >>> policy.rank(2, fixed={0: 0})
        Ranking(0, 1)
        >>> CascadeLinUCB(Catalog(relevance=[[1.0], [3.0]], ids=["a", "b"])).rank(1, exclude=["b"])
        Ranking('a')
        >>> from rankfall import AtMost
        >>> brands = Catalog(relevance=[[1.0], [3.0], [2.0]], attributes={"brand": ["Lego", "Duplo", "Duplo"]})
        >>> CascadeLinUCB(brands).rank(2, rules=[AtMost(n=1, attribute="brand")])
        Ranking(1, 0)
        """
        request = self._unlimited
        if candidates is not None or exclude is not None or fixed is not None:
            candidates = rows_named(self.catalog, candidates)
            request = check_request(k, self.n_items, candidates, rows_named(self.catalog, exclude), fixed)
            if fixed and self.why_not_fixed is not None:
                raise RankError(f"{type(self).__name__} cannot hold rows at fixed positions: {self.why_not_fixed}")
        elif request is None or type(k) is not int or k != request.k:
            request = self._unlimited = check_request(k, self.n_items)
        if context is not None or features is not None:
            request = self.within(request, candidates, context, features)
        if rules is None:
            return self.choose(request, self._generator(rng))
        if self.why_not_ruled is not None:
            raise RankError(f"the lists of {type(self).__name__} cannot keep rules: {self.why_not_ruled}")
        over_items = ListRules.over(self.catalog, rules, now, self._last_rules)
        if over_items is not rules:
            self._last_rules = over_items
        if not len(over_items):
            return self.choose(request, self._generator(rng))
        ranking = self.choose(request.under(over_items), self._generator(rng))
        return ranking if ranking.kept is not NO_RULES else ranking.replace(kept=over_items.told_of(ranking.items))

    def within(
        self,
        request: Request,  # noqa: ARG002
        candidates: Any,  # noqa: ARG002
        context: Mapping[str, Any] | None,
        features: Any,  # noqa: ARG002
    ) -> Request:
        """The request with the numbers of its context and of the features of its candidates, as the policy has them."""
        what = "features of candidates" if context is None else "context"
        raise RankError(f"{type(self).__name__} takes no {what}; linear policies do, if they are declared")

    def _generator(self, rng: np.random.Generator | None) -> np.random.Generator:
        """The caller's generator, or the policy's own; that is no part of the state, and is not saved."""
        if rng is None:
            if self._rng is None:
                self._rng = np.random.default_rng()
            return self._rng
        if not isinstance(rng, np.random.Generator):
            raise RankError(f"rng must be a numpy.random.Generator or None, got {type(rng).__name__}")
        return rng

    def update(self, ranking: Ranking, click: Click, rewards: Mapping[int, float] | None = None) -> None:
        """Learn from clicks at 0-based positions, or from None for no click; the ranking may be an old one.

        What was seen follows from the clicks. ``rewards`` says what items earned, by position, in place of the 1 for a
        click; other items earned nothing, and items that were not seen are passed over. Rewards of about 1 leave
        ``gamma`` its meaning: :class:`rankfall.Rewards` divides them.
        """
        self.check_ranking(ranking)
        clicks = all_clicks(click, len(ranking.items))
        if rewards is None:
            self.learn(ranking, clicks)
        else:
            self.learn_rewards(ranking, clicks, checked_rewards(rewards, len(ranking.items)))
        self._n_updates += 1

    def add_outcome(
        self, ranking: Ranking, click: Click, position: int, reward: float, earned: float | None = None
    ) -> None:
        """Learn that an item of a list which was learned from before, with this ``click``, earned more since.

        It adds to what the item earned and to nothing else; nothing, if the clicks say that it was not seen. Outcomes
        may come in any order: the state is the same but for rounding. A policy with a prior must be told what the item
        had ``earned`` until now, its click included.

        >>> from rankfall import CascadeLinUCB, Catalog
        >>> policy = CascadeLinUCB(Catalog(relevance=[[1.0], [3.0], [2.0]]))
        >>> ranking = policy.rank(2)
        >>> policy.update(ranking, 0)
        >>> policy.add_outcome(ranking, 0, position=0, reward=2.0)
        >>> policy.weights
        array([0.9])
        """
        self.check_ranking(ranking)
        ((position, reward),) = checked_rewards({position: reward}, len(ranking.items)).items()
        if earned is not None:
            (earned,) = checked_rewards({position: earned}, len(ranking.items)).values()
        self.learn_outcome(ranking, all_clicks(click, len(ranking.items)), position, reward, earned)

    def check_ranking(self, ranking: Ranking) -> None:
        """Raise :class:`FeedbackError` unless this policy can learn from the ranking."""
        if not isinstance(ranking, Ranking):
            raise FeedbackError(f"expected the Ranking that was shown, got {type(ranking).__name__}")
        rows = ranking.items.tolist()
        if not rows or max(rows) >= self.n_items:
            self.refuse(ranking)

    def refuse(self, ranking: Ranking) -> None:
        """Raise :class:`FeedbackError` for a ranking without items, or with rows that are not there."""
        said = f"row {ranking.items.max()} of {self.n_items} items" if len(ranking) else "no items"
        raise FeedbackError(
            f"the ranking shows {said}; give back one that rank() made, "
            f"with rows from 0 to {self.n_items - 1} and its note"
        )

    def foreign(self, ranking: Ranking) -> FeedbackError:
        """The error for a ranking whose note is not one that this policy writes."""
        name = type(self).__name__
        return FeedbackError(f"the ranking must be one that {name} made, got one with the note {ranking.note!r}")

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that was learned, as arrays by name: a copy."""
        return {"n_updates": np.array(self._n_updates), **{name: array.copy() for name, array in self.arrays.items()}}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this, as :meth:`state` gave it; raises ValueError, and changes nothing, where that cannot be."""
        expected = self.state()
        if arrays.keys() != expected.keys():
            raise ValueError(f"{type(self).__name__} needs the arrays {', '.join(expected)}; got {', '.join(arrays)}")
        for name, own in expected.items():
            fill(own, name, arrays[name])
        self._n_updates = int(expected.pop("n_updates"))
        self.arrays = expected

    def fresh(self) -> Self:
        """The same policy before it has learned anything; the two share what never changes."""
        twin = copy.copy(self)
        twin._n_updates, twin._rng = 0, None
        twin.begin()
        return twin

    def with_state(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The same policy with another state; raises ValueError where the arrays cannot be one."""
        twin = self.fresh()
        twin.restore(arrays)
        return twin

    def with_settings(self, **changes: Any) -> Self:
        """A policy with other settings that knows all this one has learned: a copy of it.

        >>> from rankfall import CascadeUCB1
        >>> CascadeUCB1(4).with_settings(exploration=0.5).settings.exploration
        0.5
        """
        twin = copy.copy(self)
        twin.settings = self._as_settings(self.settings, changes)
        twin.prepare()
        twin.begin()
        twin.restore(self.state())
        return twin

    def with_catalog(self, catalog: Catalog) -> Self:
        """A policy over a newer catalog that knows all this one has learned; not every policy can."""
        raise CatalogError(
            f"{type(self).__name__} learns about the rows of one catalog, and cannot go on with {catalog!r}; "
            "make a new policy"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A policy that learns on its own from here; what never changes is shared."""
        twin = memo[id(self)] = self.with_state(self.state())
        return twin

    def save(self, path: str | Path) -> None:
        """Write policy and catalog to one file; :func:`rankfall.load` restores them bit for bit.

        Plain arrays and one JSON text (:mod:`rankfall.array_container`); nothing in it is ever executed. The file
        appears whole or not at all.
        """
        from rankfall.policies.saving import save

        save(self, path)

    # What a service makes of it; the rest of what it asks is in :class:`Serving`.

    @classmethod
    def serve(
        cls,
        catalog: Catalog,
        *,
        gamma: float = 1.0,
        forgetting: Forgetting | None = None,
        feedback: str | None = None,
        shared: bool = True,
        context: Context | None = None,
        request_features: RequestFeatures | None = None,
    ) -> Self:
        """A policy for a service, before it has learned anything; raises :class:`ProblemError` for what it lacks.

        Parameters
        ----------
        gamma : exploration; 1 for policies without such a setting.
        forgetting, feedback : how old lists fade, and which items count as seen, if not as the policy has it.
        shared : whether one state serves many callers. Where each has one of their own, states take less memory and
            lists more time; the lists are the same.
        context, request_features : what is declared of requests, for policies that have settings for them.
        """
        if cls.why_not_served is not None:
            raise ProblemError(f"{cls.__name__} cannot be served: {cls.why_not_served}")
        given = {"context": context, "request_features": request_features}
        declared: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        for name in declared:
            if name not in {each.name for each in fields(cls.Settings)}:
                raise ProblemError(f"{cls.__name__} takes no {name}; linear policies do")
        policy = cls(catalog, **cls.served_settings(gamma, forgetting, feedback), **declared)
        policy.compact = not shared
        return policy.fresh()
