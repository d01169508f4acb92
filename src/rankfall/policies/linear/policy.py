"""The linear policy: one ridge model over item features, of which some columns diminish."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, finite
from rankfall.catalog import Catalog, check_fits
from rankfall.errors import CatalogError, FeedbackError, ProblemError, RankError
from rankfall.kernels import greedy, in_background, shortlists, thompson
from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors, vectors_of
from rankfall.kernels.linear_bounds import Bounds, new_bounds
from rankfall.kernels.ridge import State
from rankfall.kernels.shortlists import PREPARED, SCORED, SHORT, Shortlists, new_shortlists
from rankfall.policies.clicks import Click, all_clicks
from rankfall.policies.explanation import Explanation, Weight
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.linear.columns import Block, Layout, check_size, features_as_shown, laid_out
from rankfall.policies.linear.explain import explanations, named_weights
from rankfall.policies.linear.prior import Prior
from rankfall.policies.linear.ridge import Ridge
from rankfall.policies.linear.settings import EpsilonSettings, Exploration, Feedback, LinearSettings
from rankfall.policies.policy import Need, Policy
from rankfall.policies.ranking import Ranking
from rankfall.policies.request import Request


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
    needs = frozenset({"coverage", "relevance"})
    why_not_served = None
    why_not_rewarded = None

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
        self._items = laid_out(self.catalog, self.coverage, self.relevance)
        self._layout = Layout(self._items)
        self._n_topics = 0 if self.coverage == "absent" else self.catalog.n_topics
        self._n_columns = self._n_topics + self._items.dense.shape[1]
        if not self._n_columns:
            words = {"coverage": "topics", "relevance": "relevance features"}
            needs = " or ".join(words[name] for name in sorted(self.needs))
            raise CatalogError(f"{type(self).__name__} needs {needs}, and {self.catalog!r} has none")

    def begin(self) -> None:
        """A ridge model that has seen nothing."""
        self._on(Ridge(self._n_columns, self.forgetting, self._prior))

    def _on(self, model: Ridge) -> None:
        """Rank by this model from now on, and learn into it."""
        self._model, self._prior = model, model.prior
        self._shortlists: Shortlists | None = None
        self._scored = 0
        self._lists = 0  # made in a way that may use shortlists

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
        self._scored, self._shortlists = self.scored, None  # they hold bounds for the old one

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
        """Estimated preferences: theta for each topic, then beta for each relevance feature."""
        return self._model.weights.copy()

    @property
    def covariance(self) -> FloatArray:
        """The inverse of I (or the prior's) + sum of phi phi' over the observed items not forgotten; O^-1."""
        return self._model.covariance.copy()

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
            twin._on(self._model.with_prior(prior))
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
        items, k = request.empty_list(), request.k
        own = rng if self.randomised else None
        every = self.pruning and request.everything
        if own is not None and isinstance(self.settings, EpsilonSettings) and own.random() < self.settings.epsilon:
            free = items < 0
            items[free] = own.permutation(request.rows)[: np.count_nonzero(free)]
            every = False
        features = np.empty((k, self._n_columns))
        means, widths, scores = np.empty(k), np.empty(k), np.empty(k)
        with self._model.lock:
            weights = self._model.weights.copy()
            state, bonus = self._model.state, self._bonus
            if own is not None and self.exploration == "thompson":
                self._choose_by_draw(own, request, items, features, means, widths, scores)
            else:
                # Shortlists rely on widths that only shrink; forgetting widens them. They are much to compile, and a
                # model ranks plainly at first anyway.
                done = False
                self._lists += every
                if every and self._lists > SHORT and self.forgetting is None and not in_background.working():
                    done = shortlists.rank(*self.compiled(k), items, features, means, widths)
                    if not done:
                        items[:] = -1
                if not done:
                    self._scored += self._rank_plainly(state, bonus, request, items, features, means, widths)
                scores = means + bonus * widths
        check_size(float(np.abs(features).max()), RankError)
        return Ranking(
            items=items,
            features=features,
            means=means,
            widths=widths,
            scores=scores,
            weights=weights,
            space=self._space(self.catalog.lineage),
            catalog=self.catalog,
        )

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Weights drawn from N(w, gamma^2 O^-1), through a Cholesky factor of O."""
        with self._model.lock:
            return self._drawn(rng)

    def _drawn(self, rng: np.random.Generator) -> FloatArray:
        columns = self._n_columns
        drawn, upper = np.empty(columns), np.empty((columns, columns))
        thompson.draw(self._model.state, self.gamma, rng.standard_normal(columns), upper, drawn)
        return drawn

    def _choose_by_draw(
        self,
        rng: np.random.Generator,
        request: Request,
        items: IntArray,
        features: FloatArray,
        means: FloatArray,
        widths: FloatArray,
        scores: FloatArray,
    ) -> None:
        """The list for drawn weights: ``scores`` are its means under them, ``means`` those under the estimate."""
        drawn, state = self._drawn(rng), self._model.state
        if self.pruning and request.everything:
            self._scored += thompson.rank(self._items, self._layout.vectors, drawn, items, features, scores)
        else:
            believed = state._replace(weights=drawn)
            self._scored += self._rank_plainly(believed, 0.0, request, items, features, scores, widths)
        means[:] = features @ state.weights
        widths[:] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", features, state.covariance, features), 0.0))

    def _rank_plainly(
        self,
        state: State,
        bonus: float,
        request: Request,
        items: IntArray,
        features: FloatArray,
        means: FloatArray,
        widths: FloatArray,
    ) -> int:
        """The greedy list for a request, without shortlists; how many scores it took."""
        if -1 not in items.tolist():
            return greedy.describe(self._items, state, items, features, means, widths)
        some, blocked, kept = request.candidates, request.barred, self._shortlists
        if some is not None and 2 * len(some) < self.n_items:
            vectors, blocked, kept = vectors_of(self._items, some), some[:0], None
        else:
            vectors = self._layout.vectors
            if some is not None:
                blocked = np.flatnonzero(~request.allowed)
        bounds = new_bounds(vectors) if kept is None else kept.bounds
        if kept is not None:
            kept.counts[PREPARED] = 0  # the bounds will be those of the model of today, not of the epoch's
        room = greedy.new_room(self._items, vectors, self._n_columns, len(items))
        return greedy.rank_in(room, self._items, vectors, blocked, state, bonus, bounds, items, features, means, widths)

    # What the compiled episodes of a simulation take.

    def drawing(self) -> tuple[Items, ItemVectors, State, float, Bounds]:
        """What the kernels of Thompson sampling take: views of this policy, not copies, and work space."""
        vectors = self._layout.vectors
        return self._items, vectors, self._model.state, self.gamma, new_bounds(vectors)

    def count(self, scored: int) -> None:
        """Add items scored on behalf of this policy; see :attr:`scored`."""
        self._scored += scored

    def compiled(self, k: int) -> tuple[Items, ItemVectors, State, float, Shortlists]:
        """What the kernels take to rank ``k`` items: views of this policy, not copies."""
        vectors = self._layout.vectors
        if self._shortlists is None or shortlists.room_for(self._shortlists) < k:
            self._scored = self.scored
            self._shortlists = new_shortlists(self._items, vectors, self._n_columns, k)
        return self._items, vectors, self._model.state, self._bonus, self._shortlists

    @property
    def scored(self) -> int:
        """Items whose score was computed exactly since the policy was made, for whoever measures speed."""
        return self._scored + (0 if self._shortlists is None else int(self._shortlists.counts[SCORED]))

    # Learning.

    def check_ranking(self, ranking: Ranking) -> None:
        """Refuse rankings whose features mean something else here than when the list was shown."""
        if not isinstance(ranking, Ranking):
            raise FeedbackError(f"expected the Ranking that was shown, got {type(ranking).__name__}")
        if ranking.space not in {self._space(lineage) for lineage in self._lineages}:
            raise FeedbackError(
                f"the ranking is of another policy or catalog: it was made with {ranking.space or 'no features'}; "
                f"this policy has {self._space(self.catalog.lineage)}"
            )
        features = finite("the ranking's features", ranking.features, 2, FeedbackError)
        expected = (len(ranking), self._n_columns)
        if features.shape != expected:
            raise FeedbackError(f"the ranking's features have shape {features.shape}; expected {expected}")
        check_size(float(np.abs(features).max()), FeedbackError)

    def _space(self, lineage: str) -> str:
        return f"{self.coverage} coverage, {self.relevance} relevance, catalog {lineage}"

    def learn(self, ranking: Ranking, clicks: list[int]) -> None:
        """Learn from the items that count as seen; see :attr:`learns_from`.

        With ``"cascade"`` items above the first click are negatives, the click is positive, and below it nothing is
        learned. Without a click all are negatives.
        """
        self._learn(_rows(ranking), clicks)

    def learn_rewards(self, ranking: Ranking, clicks: list[int], rewards: Mapping[int, float]) -> None:
        """Learn what the items that count as seen earned."""
        self._learn(_rows(ranking), clicks, rewards)

    def seen(self, ranking: Ranking, click: Click) -> tuple[FloatArray, FloatArray]:
        """Features (n, columns) of the items that count as seen, and what each of them earned (n,)."""
        self.check_ranking(ranking)
        earned = _earned(self.learns_from, all_clicks(click, len(ranking)), len(ranking))
        return np.array(ranking.features[: len(earned)], dtype=np.float64), earned

    def _learn(self, features: FloatArray, clicks: list[int], rewards: Mapping[int, float] | None = None) -> None:
        earned = _earned(self.learns_from, clicks, len(features))
        if rewards is not None:
            earned[:] = [rewards.get(position, 0.0) for position in range(len(earned))]
        with self._model.lock:
            self._model.learn(features[: len(earned)], earned)

    def learn_outcome(self, ranking: Ranking, clicks: list[int], position: int, reward: float) -> None:
        """Add to what an item earned, if it counts as seen."""
        self._earn(_rows(ranking), clicks, position, reward)

    def _earn(self, features: FloatArray, clicks: list[int], position: int, reward: float) -> None:
        if position < len(_earned(self.learns_from, clicks, len(features))):
            with self._model.lock:
                self._model.earn(features[position], reward)

    # State.

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of the ridge model; see :mod:`rankfall.kernels.ridge`."""
        with self._model.lock:
            return self._model.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know exactly this."""
        model = Ridge.restore(arrays, self.forgetting)
        self._check_columns(model)
        self._on(model)

    def _check_columns(self, model: Ridge) -> None:
        if len(model.weights) != self._n_columns:
            raise ValueError(f"a state of {len(model.weights)} columns for a policy of {self._n_columns}")

    def with_settings(self, **changes: Any) -> Self:
        """A policy with other settings that knows all this one has learned: a copy of it."""
        twin = copy.copy(self)
        twin.settings = self._as_settings(self.settings, changes)
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
        if not isinstance(other, LinearPolicy) or other._n_columns != self._n_columns:
            raise ProblemError(f"{self!r} cannot share the state of {other!r}: it has other columns")
        twin = copy.copy(self)
        twin._on(other._model)
        return twin

    def record(self, ranking: Ranking) -> bytes:
        """The features of the list as shown."""
        return ranking.features.tobytes()

    def records(self, lists: IntArray) -> list[bytes]:
        """What :meth:`record` gives for each of these lists (n, k) of rows."""
        return [features.tobytes() for features in self.features_of(lists)]

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
        features = self._recorded(record, topics)
        self._learn(features, all_clicks(click, len(features)), rewards)

    def add_outcome_to_record(
        self, record: bytes, click: Click, position: int, reward: float, topics: int | None = None
    ) -> None:
        """Add to what an item of such a list earned, if it counts as seen."""
        features = self._recorded(record, topics)
        self._earn(features, all_clicks(click, len(features)), position, reward)

    def _recorded(self, record: bytes, topics: int | None) -> FloatArray:
        """The features that were kept, with a column for each topic there is now."""
        missing = 0 if topics is None else max(0, self._n_topics - topics)
        features = np.frombuffer(record).reshape(-1, self._n_columns - missing).copy()  # kernels want to write
        return np.insert(features, [self._n_topics - missing] * missing, 0.0, axis=1) if missing else features

    def widened(self, arrays: Mapping[str, NDArray[Any]], topics: Collection[int]) -> Mapping[str, NDArray[Any]]:
        """The state with columns for topics that it does not have, which none of its lists covered."""
        missing = self._n_columns - int(arrays["moment"].size)
        if missing <= 0 or self._n_topics - missing not in topics:
            return arrays
        return Ridge.widened(arrays, self._n_topics - missing, missing)

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
        return features_as_shown(self.catalog, self.coverage, self.relevance, lists)

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from when the list was made: the parts sum to the score."""
        self.check_ranking(ranking)
        return explanations(ranking, self.catalog, self._n_topics)

    def learned(self) -> list[Weight]:
        """Every weight with its standard deviation."""
        with self._model.lock:
            weights, spread = self.weights, self.covariance.diagonal() ** 0.5
        features = self.catalog.features[: len(weights) - self._n_topics]
        return named_weights(weights, spread, self.catalog.topics[: self._n_topics], features)


def _rows(ranking: Ranking) -> FloatArray:
    """The features of a list as shown, as kernels take them."""
    return np.ascontiguousarray(ranking.features, dtype=np.float64)


def _earned(feedback: Feedback, clicks: list[int], length: int) -> FloatArray:
    """What each item earned that was seen, from the top: 1 for a click that counts, otherwise 0."""
    if feedback == "cascade":
        clicks = clicks[:1]
    earned = np.zeros(length if feedback == "all" or not clicks else clicks[-1] + 1)
    earned[clicks] = 1.0
    return earned
