"""The linear policy: one ridge model over item features, of which some columns diminish."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfall.arrays import FloatArray, IntArray, finite, number
from rankfall.catalog import Catalog
from rankfall.errors import CatalogError, FeedbackError, ProblemError, RankError, RankfallError
from rankfall.files import save_blocks
from rankfall.kernels import greedy, shortlists, thompson
from rankfall.kernels.groups import Groups, groups_of
from rankfall.kernels.items import Items, items_of
from rankfall.kernels.ridge import State
from rankfall.kernels.shortlists import SCORED, Shortlists, new_shortlists
from rankfall.model import Forgetting, Ridge
from rankfall.policies.explaining import Explanation, Weight
from rankfall.policies.ranking import Click, Ranking, all_clicks, eligible, generator
from rankfall.policies.saving import about, catalog_of, forgetting_of

Block = Literal["absent", "constant", "diminishing"]
Exploration = Literal["ucb", "thompson", "greedy", "epsilon"]
Feedback = Literal["cascade", "last_click", "all"]

LARGEST = 1e6
"""Features as shown beyond this ruin double precision: phi phi' swamps the identity it is added to."""
LARGEST_GIVEN = 1e3
"""Features of a catalog beyond this do so in time: when two columns are nearly alike, millions of lists suffice."""


@dataclass(frozen=True)
class Recipe:
    """A row of the table of linear policies: which columns, which exploration, what feedback says.

    Calling a recipe gives a policy: ``CascadeHybrid(catalog, gamma=1.0)``.

    Attributes
    ----------
    name : what to call it in a study or a table.
    coverage, relevance : for each block of columns, ``"absent"``, ``"constant"``, or ``"diminishing"``: the items
        above take away from what the column still has to give.
    exploration : what items are ordered by. ``"ucb"``: mean + gamma * width. ``"thompson"``: the mean under weights
        drawn from N(w, gamma^2 O^-1). ``"greedy"``: the mean. ``"epsilon"``: the mean, but every now and then the list
        is drawn at random.
    feedback : which items were seen. ``"cascade"``: those down to the first click, which alone is positive.
        ``"last_click"``: those down to the last click; all that were clicked are positive. ``"all"``: every item.
        In the first two, all items if none was clicked.
    paper : where it comes from.
    summary : what it is, in a line.

    >>> Recipe("Mine", coverage="sometimes")
    Traceback (most recent call last):
    rankfall.errors.ProblemError: coverage of recipe 'Mine' is 'sometimes'; choose absent, constant, diminishing
    """

    name: str
    coverage: Block = "absent"
    relevance: Block = "absent"
    exploration: Exploration = "ucb"
    feedback: Feedback = "cascade"
    paper: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        allowed = {"coverage": Block, "relevance": Block, "exploration": Exploration, "feedback": Feedback}
        for field, choices in allowed.items():
            value = getattr(self, field)
            if value not in get_args(choices):
                names = ", ".join(get_args(choices))
                raise ProblemError(f"{field} of recipe {self.name!r} is {value!r}; choose {names}")
        if self.coverage == self.relevance == "absent":
            raise ProblemError(f"recipe {self.name!r} uses neither coverage nor relevance; it needs one")

    @property
    def needs(self) -> frozenset[str]:
        """What a catalog must have for it."""
        blocks = {"coverage": self.coverage, "relevance": self.relevance}
        return frozenset(name for name, block in blocks.items() if block != "absent")

    @property
    def randomised(self) -> bool:
        """Whether it may rank differently each time it is asked."""
        return self.exploration in ("thompson", "epsilon")

    def learns(self, feedback: str | None = None) -> str:
        """What its state means; policies that say the same can take over from each other."""
        return f"{self.coverage} coverage, {self.relevance} relevance, feedback {feedback or self.feedback}"

    def serve(
        self,
        catalog: Catalog,
        *,
        gamma: float = 1.0,
        forgetting: Forgetting | None = None,
        feedback: Feedback | None = None,
        shared: bool = True,
    ) -> LinearPolicy:
        """A policy for a service; see :class:`rankfall.policies.served.Servable`."""
        policy = self(catalog, gamma, forgetting=forgetting, feedback=feedback)
        policy.pruning = shared  # shortlists are worth their memory only then
        return policy

    def make(self, catalog: Catalog, *, gamma: float = 1.0, k: int = 10, steps: int = 10_000) -> LinearPolicy:  # noqa: ARG002
        """A policy for an experiment; see :class:`rankfall.policies.kinds.Kind`."""
        return self(catalog, gamma)

    def __call__(
        self,
        catalog: Catalog,
        gamma: float = 1.0,
        *,
        epsilon: float = 0.1,
        feedback: Feedback | None = None,
        forgetting: Forgetting | None = None,
    ) -> LinearPolicy:
        """A policy of this kind that has learned nothing yet; ``feedback`` other than the recipe's, if given.

        >>> from rankfall import CascadeHybrid, Catalog
        >>> catalog = Catalog(coverage=[[0.5], [0.2], [0.1]], relevance=[[1], [0], [0]])
        >>> policy = CascadeHybrid(catalog, feedback="last_click")
        >>> policy.update(policy.rank(3), [0, 1])  # two clicks, and the third item was not seen
        """
        recipe = self if feedback is None else replace(self, feedback=feedback)
        return LinearPolicy(catalog, recipe, gamma, epsilon=epsilon, forgetting=forgetting)


class LinearPolicy:
    """Ranks greedily by upper confidence bounds or drawn weights, and learns from clicks by ridge regression.

    Made by a :class:`Recipe`, such as ``CascadeHybrid(catalog)``. At every position it is plain LinUCB with the
    features ``phi_a``, scaled column by column by what the items above leave of each diminishing column.
    ``rank`` never changes the policy. With ``forgetting`` it follows users who change: a :class:`Discount` or a
    :class:`Window`.

    With Thompson sampling one draw of weights ``v`` from N(w, gamma^2 O^-1) makes the whole list, which is the greedy
    one for ``v``; ``gamma`` 1 is the posterior of the ridge model if clicks had noise of variance 1.
    """

    def __init__(
        self,
        catalog: Catalog,
        recipe: Recipe,
        gamma: float = 1.0,
        *,
        epsilon: float = 0.1,
        forgetting: Forgetting | None = None,
    ) -> None:
        if not isinstance(catalog, Catalog):
            raise CatalogError(f"catalog must be a Catalog, got {type(catalog).__name__}")
        self.recipe = recipe
        self.catalog = catalog
        self._shortlists: Shortlists | None = None
        self._scored = 0
        self.gamma = gamma
        self.epsilon = epsilon
        self.pruning = True
        self._lineages = frozenset({catalog.lineage})
        self._items = _layout(catalog, recipe)
        self._groups: Groups | None = None
        self._n_topics = 0 if recipe.coverage == "absent" else catalog.n_topics
        columns = self._n_topics + self._items.dense.shape[1]
        if not columns:
            blocks = {"topics": recipe.coverage, "relevance features": recipe.relevance}
            needs = " or ".join(name for name, block in blocks.items() if block != "absent")
            raise CatalogError(f"{recipe.name} needs {needs}, and {catalog!r} has none")
        self._model = Ridge(columns, forgetting)

    def __deepcopy__(self, memo: dict[int, Any]) -> LinearPolicy:
        """A policy that learns on its own from here; what cannot change is shared."""
        twin = self.with_model(self._copied())
        memo[id(self)] = twin
        return twin

    def _copied(self) -> Ridge:
        with self._model.lock:
            return self._model.copy()

    def __repr__(self) -> str:
        forgetting = "" if self.forgetting is None else f"{self.forgetting!r}, "
        return f"{self.recipe.name}({self.catalog!r}, gamma={self.gamma:g}, {forgetting}{self.n_updates} updates)"

    @property
    def gamma(self) -> float:
        """Exploration: how many widths above its mean an item is judged. May be changed at any time."""
        return self._gamma

    @gamma.setter
    def gamma(self, gamma: float) -> None:
        self._gamma = number("gamma", gamma, ProblemError, low=0.0)
        self._scored, self._shortlists = self.scored, None  # they hold bounds for the old one

    @property
    def epsilon(self) -> float:
        """Share of lists drawn at random, where the recipe says so. May be changed at any time."""
        return self._epsilon

    @epsilon.setter
    def epsilon(self, epsilon: float) -> None:
        self._epsilon = number("epsilon", epsilon, ProblemError, low=0.0, high=1.0)

    @property
    def _bonus(self) -> float:
        """How many widths are added to a mean."""
        return self._gamma if self.recipe.exploration == "ucb" else 0.0

    @property
    def forgetting(self) -> Forgetting | None:
        """How what was learned loses its weight: a Discount, a Window, or None for not at all."""
        return self._model.forgetting

    @property
    def randomised(self) -> bool:
        """Whether it may rank differently each time it is asked."""
        return self.recipe.randomised

    @property
    def n_items(self) -> int:
        """How many items there are to rank."""
        return len(self.catalog)

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
        """The inverse of I + sum of phi phi' over the observed items not forgotten; the paper's O^-1."""
        return self._model.covariance.copy()

    @property
    def model(self) -> Ridge:
        """All it has learned."""
        return self._model

    def fresh(self) -> Ridge:
        """A model that has learned nothing."""
        return Ridge(len(self._model.weights), self.forgetting)

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> Ridge:
        """The model with these arrays."""
        return Ridge.restore(arrays, self.forgetting)

    def with_model(self, model: Ridge) -> LinearPolicy:
        """The same policy on another's learning, which the two then share; what cannot change is shared too."""
        if model.weights.shape != self._model.weights.shape:
            raise ProblemError(f"a model of {len(model.weights)} columns for {len(self._model.weights)}")
        twin = copy.copy(self)
        twin._model = model
        twin._shortlists = None
        return twin

    def _space(self, lineage: str) -> str:
        return f"{self.recipe.coverage} coverage, {self.recipe.relevance} relevance, catalog {lineage}"

    def rank(
        self,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        candidates: Iterable[int] | None = None,
        exclude: Iterable[int] | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> Ranking:
        """The ``k`` best rows out of ``candidates`` (all) without ``exclude`` (none); ties to the lowest row.

        ``fixed`` holds rows at 0-based positions, whether they are candidates or not, and shows them nowhere else;
        the rest is chosen around them. With every position fixed, this is what the policy makes of a given list.

        Policies that draw take from ``rng`` one standard normal number for each weight (Thompson sampling), or one
        coin and if need be a list (epsilon); without ``rng``, from a fresh one, always the same.

        >>> from rankfall import Catalog, CascadeLinUCB
        >>> policy = CascadeLinUCB(Catalog(relevance=[[1.0], [3.0], [2.0]]))
        >>> policy.rank(2)
        Ranking(1, 2)
        >>> policy.rank(2, fixed={0: 0})
        Ranking(0, 1)
        """
        k, allowed = eligible(k, self.n_items, candidates, exclude, fixed)
        items = np.full(k, -1, dtype=np.int64)
        for position, row in (fixed or {}).items():
            items[position] = row
        own = generator(rng) if self.recipe.randomised else None
        if own is not None and self.recipe.exploration == "epsilon" and own.random() < self._epsilon:
            free = items < 0
            items[free] = own.permutation(allowed)[: np.count_nonzero(free)]
            allowed = allowed[:0]
        every = self.pruning and len(allowed) == self.n_items
        features = np.empty((k, len(self._model.weights)))
        means, widths, scores = np.empty(k), np.empty(k), np.empty(k)
        with self._model.lock:
            weights = self._model.weights.copy()
            if own is not None and self.recipe.exploration == "thompson":
                self._rank_drawn(own, allowed, every, items, features, means, widths, scores)
            else:
                # Shortlists live on widths that only shrink; what is forgotten widens them.
                if every and self.forgetting is None:
                    shortlists.rank(*self.compiled(k), items, features, means, widths)
                else:
                    self._scored += greedy.rank(
                        self._items, self._model.state, self._bonus, allowed, items, features, means, widths
                    )
                scores = means + self._bonus * widths
        check_size(float(np.abs(features).max()), RankError)
        return Ranking(
            items=items,
            ids=tuple([self.catalog.ids[row] for row in items.tolist()]),
            features=features,
            means=means,
            widths=widths,
            scores=scores,
            weights=weights,
            space=self._space(self.catalog.lineage),
        )

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Weights drawn from N(w, gamma^2 O^-1), through a Cholesky factor of O."""
        with self._model.lock:
            return self._drawn(rng)

    def _drawn(self, rng: np.random.Generator) -> FloatArray:
        columns = len(self._model.weights)
        drawn, upper = np.empty(columns), np.empty((columns, columns))
        thompson.draw(self._model.state, self._gamma, rng.standard_normal(columns), upper, drawn)
        return drawn

    def _rank_drawn(
        self,
        rng: np.random.Generator,
        allowed: IntArray,
        every: bool,
        items: IntArray,
        features: FloatArray,
        means: FloatArray,
        widths: FloatArray,
        scores: FloatArray,
    ) -> None:
        """The list for drawn weights: ``scores`` are its means under them, ``means`` those under the estimate."""
        drawn, state = self._drawn(rng), self._model.state
        if every:
            layout, _, _, groups = self.drawing()
            self._scored += thompson.rank(layout, groups, drawn, items, features, scores)
        else:
            believed = state._replace(weights=drawn)
            self._scored += greedy.rank(self._items, believed, 0.0, allowed, items, features, scores, widths)
        means[:] = features @ state.weights
        widths[:] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", features, state.covariance, features), 0.0))

    def drawing(self) -> tuple[Items, State, float, Groups]:
        """What the kernels of Thompson sampling take: views of this policy, not copies."""
        if self._groups is None:
            self._groups = groups_of(self._items)
        return self._items, self._model.state, self._gamma, self._groups

    def count(self, scored: int) -> None:
        """Add items scored on behalf of this policy; see :attr:`scored`."""
        self._scored += scored

    def compiled(self, k: int) -> tuple[Items, State, float, Groups, Shortlists]:
        """What the kernels take to rank ``k`` items: views of this policy, not copies."""
        if self._groups is None:
            self._groups = groups_of(self._items)
        if self._shortlists is None or self._shortlists.members.shape[1] < k:
            self._scored = self.scored
            self._shortlists = new_shortlists(self._items, len(self._model.weights), k)
        return self._items, self._model.state, self._bonus, self._groups, self._shortlists

    @property
    def scored(self) -> int:
        """Items whose score was computed exactly since the policy was made, for whoever measures speed."""
        return self._scored + (0 if self._shortlists is None else int(self._shortlists.counters[SCORED]))

    def update(self, ranking: Ranking, click: Click) -> None:
        """Learn from clicks at 0-based positions, or from None; the ranking may be an old one.

        Which items were seen is what the recipe's ``feedback`` says. With ``"cascade"`` items above the click are
        negatives, the click is positive, below it nothing is learned; of several clicks the first counts. Without a
        click all are negatives.
        """
        self.learn(self._checked(ranking), click)

    def learn(self, features: FloatArray, click: Click) -> None:
        """What :meth:`update` does, for features as shown that were kept without their ranking."""
        rewards = _rewards(self.recipe.feedback, click, len(features))
        with self._model.lock:
            self._model.learn(features[: len(rewards)], rewards)

    def kept(self, ranking: Ranking) -> bytes:
        """What must be kept of a list so that its answer can be learned later: its features as shown."""
        return ranking.features.tobytes()

    def kept_of(self, lists: IntArray) -> list[bytes]:
        """What :meth:`kept` gives for each of these lists (n, k) of rows."""
        return [features.tobytes() for features in self.features_of(lists)]

    def learn_kept(self, kept: bytes, click: Click) -> None:
        """Learn from the answer to a list of which this was kept."""
        self.learn(np.frombuffer(kept).reshape(-1, len(self._model.weights)), click)

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
        blocks = []
        for how, values in (
            (self.recipe.coverage, self.catalog.coverage),
            (self.recipe.relevance, self.catalog.relevance),
        ):
            if how == "absent":
                continue
            block = values[lists]
            if how == "diminishing":
                left = np.ones_like(block)
                np.cumprod(1.0 - block[:, :-1], axis=1, out=left[:, 1:])
                block = left * block
            blocks.append(block)
        features = np.concatenate(blocks, axis=2)
        check_size(float(np.abs(features).max(initial=0.0)), RankError)
        return features

    def _checked(self, ranking: Ranking) -> FloatArray:
        """The ranking's features, if they mean to this policy what they meant when the list was shown."""
        if not isinstance(ranking, Ranking):
            raise FeedbackError(f"expected the Ranking that was shown, got {type(ranking).__name__}")
        if ranking.space not in {self._space(lineage) for lineage in self._lineages}:
            raise FeedbackError(
                f"the ranking is of another policy or catalog: it was made with {ranking.space or 'no features'}; "
                f"this policy has {self._space(self.catalog.lineage)}"
            )
        features = finite("the ranking's features", ranking.features, 2, FeedbackError)
        expected = (len(ranking), len(self._model.weights))
        if features.shape != expected:
            raise FeedbackError(f"the ranking's features have shape {features.shape}; expected {expected}")
        check_size(float(np.abs(features).max()), FeedbackError)
        return features

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from when the list was made: the parts sum to the score."""
        parts = self._checked(ranking) * ranking.weights
        d = self._n_topics
        return [
            Explanation(
                id=ranking.ids[i],
                title=self.catalog.title_of(ranking.ids[i]),
                relevance=float(row[d:].sum()),
                coverage={self.catalog.topics[j]: float(row[j]) for j in np.flatnonzero(ranking.features[i, :d])},
                bonus=float(ranking.scores[i] - ranking.means[i]),
                score=float(ranking.scores[i]),
            )
            for i, row in enumerate(parts)
        ]

    def summary(self) -> list[Weight]:
        """Every weight with its standard deviation."""
        with self._model.lock:
            weights, spread = self.weights, self.covariance.diagonal() ** 0.5
        return [
            Weight(name, "topic" if j < self._n_topics else "feature", float(weight), float(sd))
            for j, (name, weight, sd) in enumerate(zip(self.columns, weights, spread, strict=True))
        ]

    @property
    def columns(self) -> list[str]:
        """What each weight is of: topics by name, then features by number."""
        topics = list(self.catalog.topics[: self._n_topics])
        return topics + [f"feature {j}" for j in range(len(self._model.weights) - len(topics))]

    def with_catalog(self, catalog: Catalog) -> LinearPolicy:
        """A policy over a newer catalog that knows all this one has learned.

        Topics and the number of relevance features must be the same; items may come, change and go. Feedback on
        rankings of the earlier catalogs is still accepted.
        """
        if catalog.topics != self.catalog.topics or catalog.n_features != self.catalog.n_features:
            raise CatalogError(
                f"a catalog with topics {list(catalog.topics)} and {catalog.n_features} features cannot take the "
                f"place of one with topics {list(self.catalog.topics)} and {self.catalog.n_features} features"
            )
        policy = LinearPolicy(catalog, self.recipe, self.gamma, epsilon=self.epsilon, forgetting=self.forgetting)
        policy._lineages = self._lineages | {catalog.lineage}
        policy._model = self._copied()
        return policy

    def save(self, path: str | Path) -> None:
        """Write policy and catalog to one file; :func:`rankfall.load` restores them bit for bit.

        A zip of plain arrays and one JSON text; nothing in it is ever executed. The file appears whole or not at all.
        """
        header, blocks = about(self.catalog, self.forgetting)
        header |= {
            "recipe": vars(self.recipe),
            "gamma": self.gamma.hex(),
            "epsilon": self.epsilon.hex(),
            "lineages": sorted(self._lineages),
        }
        save_blocks(path, header, {**blocks, **self._copied().arrays()})


def _rewards(feedback: Feedback, click: Click, length: int) -> FloatArray:
    """What each item earned that was seen, from the top: 1 for a click that counts, otherwise 0."""
    clicks = all_clicks(click, length)
    if feedback == "cascade":
        clicks = clicks[:1]
    rewards = np.zeros(length if feedback == "all" or not clicks else clicks[-1] + 1)
    rewards[clicks] = 1.0
    return rewards


def _layout(catalog: Catalog, recipe: Recipe) -> Items:
    """The columns this recipe uses, as the kernels take them."""
    nothing = np.empty((len(catalog), 0))
    relevance = nothing if recipe.relevance == "absent" else catalog.relevance
    if np.abs(relevance).max(initial=0.0) > LARGEST_GIVEN:
        row, column = np.argwhere(np.abs(relevance) > LARGEST_GIVEN)[0]
        raise CatalogError(
            f"relevance is {relevance[row, column]:g} at row {row}, feature {column}; "
            f"scale features to about 1 (at most {LARGEST_GIVEN:g})"
        )
    return items_of(
        nothing if recipe.coverage == "absent" else catalog.coverage,
        relevance,
        recipe.coverage == "diminishing",
        recipe.relevance == "diminishing",
    )


def check_size(largest: float, error: type[RankfallError]) -> None:
    """Refuse features that double precision cannot carry."""
    if not largest <= LARGEST:
        raise error(
            f"a feature as shown is {largest:g}; diminishing columns with values below 0 grow down the list. "
            f"Scale features down, or show fewer items (at most {LARGEST:g})"
        )


def restored(header: Mapping[str, Any], blocks: Mapping[str, NDArray[Any]]) -> LinearPolicy:
    """The policy that :meth:`LinearPolicy.save` wrote as these."""
    epsilon = float.fromhex(header.get("epsilon", "0x1.999999999999ap-4"))  # files of 0.1.0 do not say
    policy = LinearPolicy(
        catalog_of(header, blocks),
        Recipe(**header["recipe"]),
        float.fromhex(header["gamma"]),
        epsilon=epsilon,
        forgetting=forgetting_of(header),
    )
    policy._lineages = frozenset(header["lineages"])
    return policy.with_model(policy.restored(blocks))
