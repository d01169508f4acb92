"""The linear policy: one ridge model over item features, of which some columns diminish."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, finite, frozen
from rankfall.catalog import Catalog, check_fits
from rankfall.errors import FeedbackError, ProblemError, RankError
from rankfall.kernels import thompson
from rankfall.kernels.policy_arrays import PolicyArrays
from rankfall.kernels.ridge import State
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.context import Context
from rankfall.policies.explanation import Explanation, Weight
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.candidate_features import by_row
from rankfall.policies.linear.columns import LARGEST, Block, check_size
from rankfall.policies.linear.crosses import Crosses
from rankfall.policies.linear.explain import explanations
from rankfall.policies.linear.greedy_lists import GreedyLists, Shelf
from rankfall.policies.linear.policy_columns import PolicyColumns
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge
from rankfall.policies.linear.seen_items import earned_by
from rankfall.policies.linear.settings import EpsilonSettings, Exploration, Feedback, LinearSettings
from rankfall.policies.list_rules import NO_RULES, RulesKept
from rankfall.policies.policy import Need, Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request

_NO_CONTEXT: FloatArray = frozen(np.empty(0))


class LinearPolicy(Policy):
    """Ranks greedily by upper confidence bounds or drawn weights, and learns from clicks by ridge regression.

    At every position it is plain LinUCB with the features ``phi_a``, scaled column by column by what the items above
    leave of each diminishing column. A linear policy is a subclass that makes three choices: which columns it uses
    (``coverage``, ``relevance``), how it explores (``exploration``), and which items count as seen (``feedback``).

    Attributes
    ----------
    coverage, relevance : for each block of columns, ``"absent"``, ``"constant"``, or ``"diminishing"``: the items
        above take away from what the column still has to give.
    exploration : what items are ordered by. ``"ucb"``: mean + gamma * width. ``"thompson"``: the mean under weights
        drawn from N(w, gamma^2 O^-1). ``"greedy"``: the mean. ``"epsilon"``: the mean, but a share of the lists is
        drawn at random.
    feedback : which items were seen. ``"cascade"``: those down to the first click, which alone is positive.
        ``"last_click"``: those down to the last click; all that were clicked are positive. ``"all"``: every item.
        In the first two, all items if none was clicked.
    constant : whether there is a column beside, after those of relevance, that is 1 for every item.

    With Thompson sampling one draw of weights ``v`` from N(w, gamma^2 O^-1) makes the whole list, which is the greedy
    one for ``v``; ``gamma`` 1 is the posterior of the ridge model if clicks had noise of variance 1.

    >>> class Mine(LinearPolicy):
    ...     coverage, relevance = "constant", "diminishing"
    ...     exploration, feedback = "thompson", "last_click"
    >>> Mine(Catalog(coverage=[[0.5], [0.2]], relevance=[[1], [0]]), gamma=0.1)
    Mine(Catalog(2 items, 1 topics, 1 features), gamma=0.1, 0 updates)
    """

    Settings = LinearSettings
    coverage: ClassVar[Block] = "absent"
    relevance: ClassVar[Block] = "absent"
    exploration: ClassVar[Exploration] = "ucb"
    feedback: ClassVar[Feedback] = "cascade"
    constant: ClassVar[bool] = False
    needs = frozenset({"coverage", "relevance"})
    why_not_served: ClassVar[str | None] = None
    why_not_rewarded: ClassVar[str | None] = None
    why_not_ruled = None

    settings: LinearSettings

    def __init_subclass__(cls, **options: Any) -> None:
        allowed = {"coverage": Block, "relevance": Block, "exploration": Exploration, "feedback": Feedback}
        for name, choices in allowed.items():
            if getattr(cls, name) not in get_args(choices):
                names = ", ".join(get_args(choices))
                raise ProblemError(f"{name} of {cls.__name__} is {getattr(cls, name)!r}; choose {names}")
        if cls.coverage == cls.relevance == "absent":
            raise ProblemError(f"{cls.__name__} uses neither coverage nor relevance; it needs one")
        blocks: dict[Need, Block] = {"coverage": cls.coverage, "relevance": cls.relevance}
        cls.needs = frozenset(name for name, block in blocks.items() if block != "absent")
        cls.randomised = cls.exploration in ("thompson", "epsilon")
        if cls.exploration == "epsilon" and not issubclass(cls.Settings, EpsilonSettings):
            cls.Settings = EpsilonSettings
        super().__init_subclass__(**options)

    def prepare(self) -> None:
        """Lay out the columns."""
        self._prior: Prior | None = None
        self._lineages = frozenset({self.catalog.lineage})
        more = self.settings.request_features
        self._columns = PolicyColumns(
            policy=type(self).__name__,
            catalog=self.catalog,
            coverage=self.coverage,
            relevance=self.relevance,
            constant=self.constant,
            more=() if more is None else more.names,
            context=self.context,
        )
        self._layout, self._n_columns = self._columns.layout, self._columns.count

    def begin(self) -> None:
        """A ridge model that has seen nothing."""
        self._begin_with(Ridge(self._n_columns * self._columns.blocks, self.forgetting, self._prior))

    @property
    def context(self) -> Context | None:
        """What requests may say beside who asks, if anything was declared."""
        return self.settings.context

    def _begin_with(self, model: Ridge) -> None:
        """Rank by this model from now on; what is known of crosses with a context is known anew."""
        crosses = None
        if self.context is not None:
            crosses = Crosses(self.context, self._n_columns, model, self.settings.context_variance)
        self._on(model, crosses)

    def _on(self, model: Ridge, crosses: Crosses | None) -> None:
        """Rank by this model from now on, and learn into it."""
        self._model, self._crosses, self._prior = model, crosses, model.prior
        self._lists = GreedyLists(self._layout, self._n_columns)

    def __repr__(self) -> str:
        forgetting = "" if self.forgetting is None else f"{self.forgetting!r}, "
        return f"{type(self).__name__}({self.catalog!r}, gamma={self.gamma:g}, {forgetting}{self.n_updates} updates)"

    @property
    def gamma(self) -> float:
        """Exploration: how many widths above its mean an item is judged. May be changed at any time."""
        return self.settings.gamma

    @gamma.setter
    def gamma(self, gamma: float) -> None:
        self.settings = self.Settings.of(type(self).__name__, {**vars(self.settings), "gamma": gamma})
        self._lists = self._lists.without_shortlists()

    @property
    def pruning(self) -> bool:
        """Whether it keeps shortlists, which take memory and save time; the lists are the same."""
        return not self.compact

    @pruning.setter
    def pruning(self, pruning: bool) -> None:
        self.compact = not pruning

    @property
    def _bonus(self) -> float:
        """How many widths are added to a mean."""
        return self.gamma if self.exploration == "ucb" else 0.0

    @property
    def forgetting(self) -> Forgetting | None:
        """How old lists fade: a Discount, a Window, or None for not at all."""
        return self.settings.forgetting

    @property
    def learns_from(self) -> Feedback:
        """Which items count as seen: the setting, or else what the class says."""
        return self.settings.feedback or self.feedback

    @property
    def n_updates(self) -> int:
        """How many lists it has learned from."""
        return self._model.n_updates

    @property
    def weights(self) -> FloatArray:
        """Estimated preferences: theta for each topic, then beta for each relevance feature.

        With a context: those on average, and then how much they change with each number of the context.
        """
        weights = self._model.weights
        return weights.copy() if self._crosses is None else weights * self._crosses.units

    @property
    def covariance(self) -> FloatArray:
        """The inverse of I (or the prior's) + sum of phi phi' over the observed items not forgotten; O^-1."""
        if self._crosses is None:
            return self._model.covariance.copy()
        return self._model.covariance * np.outer(self._crosses.units, self._crosses.units)

    @property
    def prior(self) -> Prior | None:
        """What it knows of weights before the first click, if that is more than ridge regression does."""
        return self._prior

    def with_prior(self, prior: Prior) -> Self:
        """The same policy, which has seen the same and starts from this prior; a copy of it.

        A policy that has a prior keeps what it has seen apart, so that the prior can be another one later. One that
        has learned without a prior cannot get one. ``fresh()`` starts from the prior too.

        >>> from rankfall import CascadeLinUCB
        >>> policy = CascadeLinUCB(Catalog(relevance=[[1.0, 0.0], [0.0, 1.0]])).with_prior(Prior([0.1, 0.9], np.eye(2)))
        >>> policy.rank(1), policy.weights
        (Ranking(1), array([0.1, 0.9]))
        """
        twin = copy.copy(self)
        with self._model.lock:
            twin._begin_with(self._model.with_prior(prior))
        return twin

    @property
    def model(self) -> Ridge:
        """Its live model; hold its lock while you read it."""
        return self._model

    def choose(self, request: Request, rng: np.random.Generator) -> Ranking:
        """The greedy list; ties go to the lowest row.

        Policies that draw take from ``rng`` one standard normal number for each weight (Thompson sampling), or one
        coin and, if it says so, a random order of the items (epsilon).
        """
        items, kept = request.empty_list(), NO_RULES
        rules, k, c = request.rules, request.k, self._encoded(request)
        if isinstance(self.settings, EpsilonSettings) and self.randomised and rng.random() < self.settings.epsilon:
            order = rng.permutation(request.rows)
            if rules is not None:
                kept = RulesKept(rules.relaxed(rules.in_order(order, k, items).broken))
            else:
                items[items < 0] = order[: np.count_nonzero(items < 0)]
        elif rules is not None and -1 not in items:
            kept = rules.told_of(items)
        shelf = Shelf.of(request, items, self._layout)
        features, means, widths = np.empty((k, self._n_columns)), np.empty(k), np.empty(k)
        draws = self.exploration == "thompson"
        with self._model.lock:
            state = self._model.state if self._crosses is None else self._crosses.at(c, to_draw=draws)
            weights = state.weights.copy()
            believed, bonus = state, self._bonus
            if draws:
                believed = state._replace(weights=self._drawn(rng, state))
            if not shelf.free:
                self._lists.describe(shelf, believed, features, means, widths)
            else:  # forgetting widens widths, and each context and each draw has others
                lasting = self.pruning and self.forgetting is None and self._crosses is None and not draws
                kept = self._lists.fill(shelf, rules, believed, bonus, features, means, widths, lasting=lasting)
            scores = means if draws else means + bonus * widths
            if draws:  # the list was made for weights that were drawn; these are the estimates
                means = features @ state.weights
                squares = np.einsum("ij,jk,ik->i", features, state.covariance, features)
                widths = np.sqrt(np.maximum(squares, 0.0))
        check_size(float(np.abs(features).max()), RankError)
        return Ranking(
            items=shelf.in_catalog(shelf.items),
            features=features,
            means=means,
            widths=widths,
            scores=scores,
            weights=weights,
            space=self._columns.space(self.catalog.lineage),
            catalog=self.catalog,
            kept=kept,
            context=c,
        )

    def within(self, request: Request, candidates: Any, context: Mapping[str, Any] | None, features: Any) -> Request:
        """The request with the numbers of its context and of the features of its candidates."""
        name, declared = type(self).__name__, self.settings.request_features
        if context is not None and self.context is None:
            raise RankError(f"this {name} takes no context; declare its factors: {name}(catalog, context=...)")
        if features is not None and declared is None:
            raise RankError(f"this {name} takes no features of candidates; declare them as request_features")
        c = None if self.context is None else self.context.encode(context)
        given = None
        if features is not None and declared is not None:
            given = by_row(declared, self.catalog, candidates, features)
        return request.within(c, given)

    def _encoded(self, request: Request) -> FloatArray:
        """The numbers of the context of a request; none where no context is declared."""
        if self.context is None:
            return _NO_CONTEXT
        return self.context.encode(None) if request.context is None else request.context

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Weights drawn from N(w, gamma^2 O^-1), through a Cholesky factor of O."""
        with self._model.lock:
            drawn = self._drawn(rng, self._model.state)
            return drawn if self._crosses is None else drawn * self._crosses.units

    def _drawn(self, rng: np.random.Generator, state: State) -> FloatArray:
        columns = len(state.weights)
        drawn, upper = np.empty(columns), np.empty((columns, columns))
        thompson.draw(state, self.gamma, rng.standard_normal(columns), upper, drawn)
        return drawn

    # What the compiled episodes of a simulation take.

    def compiled(self, k: int) -> PolicyArrays:
        """What the kernels take to make lists of ``k`` items and learn from them."""
        return PolicyArrays(
            items=self._layout.items,
            vectors=self._layout.vectors,
            state=self._model.state,
            gamma=self.gamma if self.exploration == "thompson" else self._bonus,
            lists=self._lists.shortlists_for(k),
            pruning=self.pruning,
            whole=self.learns_from == "all",
            largest=LARGEST,
        )

    def count(self, scored: int) -> None:
        """Add items scored on behalf of this policy; see :attr:`scored`."""
        self._lists.count(scored)

    @property
    def scored(self) -> int:
        """Items whose score was computed exactly since the policy was made, for whoever measures speed."""
        return self._lists.scored

    # Learning.

    def check_ranking(self, ranking: Ranking) -> None:
        """Refuse rankings whose features mean something else here than when the list was shown."""
        if not isinstance(ranking, Ranking):
            raise FeedbackError(f"expected the Ranking that was shown, got {type(ranking).__name__}")
        if ranking.space not in {self._columns.space(lineage) for lineage in self._lineages}:
            raise FeedbackError(
                f"the ranking is of another policy or catalog: it was made with {ranking.space or 'no features'}; "
                f"this policy has {self._columns.space(self.catalog.lineage)}"
            )
        features = finite("the ranking's features", ranking.features, 2, FeedbackError)
        expected = (len(ranking), self._n_columns)
        if features.shape != expected:
            raise FeedbackError(f"the ranking's features have shape {features.shape}; expected {expected}")
        check_size(float(np.abs(features).max()), FeedbackError)
        wanted = 0 if self.context is None else self._columns.blocks
        if len(ranking.context) != wanted:
            raise FeedbackError(f"the ranking has a context of {len(ranking.context)} numbers; expected {wanted}")

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from the items that count as seen; see :attr:`learns_from`.

        With ``"cascade"`` items above the first click are negatives, the click is positive, and below it nothing is
        learned. Without a click all are negatives.
        """
        self._learn(_rows(ranking), ranking.context, clicks)

    def learn_rewards(self, ranking: Ranking, clicks: list[int], rewards: Mapping[int, float]) -> None:
        """Learn what the items that count as seen earned."""
        if self.why_not_rewarded is not None:
            raise self.not_rewarded()
        self._learn(_rows(ranking), ranking.context, clicks, rewards)

    def seen(self, ranking: Ranking, click: Click) -> tuple[FloatArray, FloatArray]:
        """What the model learns of items that count as seen (n, columns of the model), and what each earned (n,)."""
        self.check_ranking(ranking)
        earned = earned_by(self.learns_from, all_clicks(click, len(ranking)), len(ranking))
        features = np.array(ranking.features[: len(earned)], dtype=np.float64)
        return features if self._crosses is None else self._crosses.crossed(features, ranking.context), earned

    def _learn(
        self, features: FloatArray, c: FloatArray, clicks: list[int], rewards: Mapping[int, float] | None = None
    ) -> None:
        clicked = earned = earned_by(self.learns_from, clicks, len(features))
        if rewards is not None:
            earned = np.array([rewards.get(position, 0.0) for position in range(len(clicked))])
        with self._model.lock:
            if self._crosses is None:
                self.teach(features, earned)
            else:
                self._crosses.learn(features[: len(earned)], c, clicked, earned)

    def teach(self, features: FloatArray, earned: FloatArray) -> None:
        """Have the model learn from the features of a list (k, columns), of which the first items were seen and earned.

        Policies that are not plain ridge regression do it otherwise. Called with the lock of the model.
        """
        self._model.learn(features[: len(earned)], earned)

    def learn_outcome(
        self, ranking: Ranking, clicks: list[int], position: int, reward: float, earned: float | None = None
    ) -> None:
        """Add to what an item earned, if it counts as seen."""
        if self.why_not_rewarded is not None:
            raise self.not_rewarded()
        self._earn(_rows(ranking), ranking.context, clicks, position, reward, earned)

    def _earn(
        self,
        features: FloatArray,
        c: FloatArray,
        clicks: list[int],
        position: int,
        reward: float,
        earned: float | None,
    ) -> None:
        if position < len(earned_by(self.learns_from, clicks, len(features))):
            with self._model.lock:
                if self._crosses is not None:
                    features = self._crosses.crossed(features, c)
                self._model.earn(features[position], reward, earned)

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of the ridge model; see :mod:`rankfall.kernels.ridge`."""
        with self._model.lock:
            return self._model.arrays() | ({} if self._crosses is None else self._crosses.arrays())

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this. A state that was kept without its prior is one of the prior that this policy has."""
        model, columns = Ridge.restore(arrays, self.forgetting, self._prior), self._n_columns * self._columns.blocks
        if len(model.weights) != columns:
            raise ValueError(f"a state of {len(model.weights)} columns for a policy of {columns}")
        crosses = None
        if self.context is not None:
            crosses = Crosses(self.context, self._n_columns, model, self.settings.context_variance)
            crosses.restore(arrays)
        self._on(model, crosses)

    def with_settings(self, **changes: Any) -> Self:
        """A policy with other settings that knows all this one has learned: a copy of it."""
        twin = copy.copy(self)
        twin.settings = self._as_settings(self.settings, changes)
        for name in ("context", "context_variance", "request_features"):
            if getattr(twin.settings, name) != getattr(self.settings, name):
                raise ProblemError(f"{name} cannot change: what was learned has other columns. Make a new policy")
        twin.restore(self.state())
        return twin

    def with_catalog(self, catalog: Catalog) -> Self:
        """A policy over a newer catalog that knows all this one has learned.

        Topics and the number of relevance features must be the same; items may come, change and go. Feedback on
        rankings of the earlier catalogs is still accepted.
        """
        check_fits(catalog, self.catalog.topics, self.catalog.features)
        policy = type(self)(catalog, self.settings)
        policy.compact = self.compact
        policy.restore(self.state())
        return policy.accepting(self._lineages)

    @property
    def lineages(self) -> frozenset[str]:
        """The lines of catalogs whose rankings it accepts feedback on."""
        return self._lineages

    def accepting(self, lineages: frozenset[str]) -> Self:
        """The same policy, which also accepts feedback on rankings of these lines of catalogs."""
        twin = copy.copy(self)
        twin._lineages = self._lineages | lineages
        return twin

    # Serving.

    @classmethod
    def learns(cls, feedback: str | None = None) -> str:
        """What its state means; policies that say the same can take over from each other."""
        return f"{cls.coverage} coverage, {cls.relevance} relevance, feedback {feedback or cls.feedback}"

    @classmethod
    def served_settings(cls, gamma: float, forgetting: Forgetting | None, feedback: str | None) -> dict[str, Any]:
        """All three are settings of linear policies."""
        return {"gamma": gamma, "forgetting": forgetting, "feedback": feedback}

    def sharing(self, other: Policy) -> Self:
        """The same policy on the model of another one; the two share it from now on."""
        if self.why_not_served is not None:
            return super().sharing(other)
        if not isinstance(other, LinearPolicy) or not self._columns.like(other._columns):
            raise ProblemError(f"{self!r} cannot share the state of {other!r}: it has other columns")
        twin = copy.copy(self)
        twin._on(other._model, other._crosses)
        return twin

    def record(self, ranking: Ranking) -> bytes:
        """The features of the list as shown, and then the numbers of its context."""
        if self.why_not_served is not None:
            return super().record(ranking)
        return ranking.features.tobytes() + ranking.context.tobytes()

    def records(self, lists: IntArray) -> list[bytes]:
        """What :meth:`record` gives for each of these lists (n, k) of rows, without context."""
        if self.why_not_served is not None:
            return super().records(lists)
        c = b"" if self.context is None else self.context.encode(None).tobytes()
        return [features.tobytes() + c for features in self.features_of(lists)]

    def learn_record(
        self, record: bytes, click: Click, topics: int | None = None, rewards: Mapping[int, float] | None = None
    ) -> None:
        """Learn from the clicks on a list of which these features were kept; topics that are newer were not covered.

        >>> from rankfall import CascadeLSB, Catalog
        >>> catalog = Catalog(coverage=[[0.5], [1.0]])
        >>> policy = CascadeLSB(catalog.with_topics(["new"]))
        >>> policy.learn_record(CascadeLSB(catalog).records(np.array([[1, 0]]))[0], 0, topics=1)
        >>> policy.weights
        array([0.5, 0. ])
        """
        if self.why_not_served is not None:
            super().learn_record(record, click, topics, rewards)
        features, c = self._columns.recorded(record, topics)
        self._learn(features, c, all_clicks(click, len(features)), rewards)

    def add_outcome_to_record(
        self,
        record: bytes,
        click: Click,
        position: int,
        reward: float,
        topics: int | None = None,
        earned: float | None = None,
    ) -> None:
        """Add to what an item of such a list earned, if it counts as seen."""
        if self.why_not_served is not None:
            super().add_outcome_to_record(record, click, position, reward, topics, earned)
        features, c = self._columns.recorded(record, topics)
        self._earn(features, c, all_clicks(click, len(features)), position, reward, earned)

    def widened(self, arrays: Mapping[str, NDArray[Any]], topics: Collection[int]) -> Mapping[str, NDArray[Any]]:
        """The state with columns for topics that it does not have, which none of its lists covered."""
        return self._columns.widened(arrays, topics)

    def widened_prior(self, prior: Prior, topics: Collection[int]) -> Prior:
        """A prior with columns for topics that it does not have; ``topics`` are the numbers there may have been."""
        return self._columns.widened_prior(prior, topics)

    def described(self, prior: Prior) -> list[Weight]:
        """What a prior says: the mean of each weight and its standard deviation from user to user."""
        return self._columns.named(prior.mean, (prior.covariance.diagonal() * prior.noise) ** 0.5)

    def features_of(self, lists: IntArray) -> FloatArray:
        """The features that :meth:`rank` gives for each list that is fixed, bit for bit, without ranking one by one.

        Parameters
        ----------
        lists : (n, k) rows of the catalog.

        Returns
        -------
        features : (n, k, columns): at each position what the items above leave of a diminishing column.

        >>> from rankfall import CascadeLSB, Catalog
        >>> policy = CascadeLSB(Catalog(coverage=[[0.5], [1.0]]))
        >>> policy.features_of(np.array([[0, 1], [1, 0]])).tolist()
        [[[0.5], [0.5]], [[1.0], [0.0]]]
        """
        return self._columns.features_of(lists)

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from when the list was made: the parts sum to the score."""
        self.check_ranking(ranking)
        return explanations(ranking, self.catalog, self._columns.topics, self._columns.feature_names)

    def learned(self) -> list[Weight]:
        """Every weight with its standard deviation; with a context also how it changes with each of its numbers."""
        with self._model.lock:
            return self._columns.named(self.weights, self.covariance.diagonal() ** 0.5)


def _rows(ranking: Ranking) -> FloatArray:
    """The features of a list as shown, as kernels take them."""
    return np.ascontiguousarray(ranking.features, dtype=np.float64)
