"""Online clustering of users: CLUB."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from rankfall.arrays import IntArray, number, whole
from rankfall.errors import ProblemError
from rankfall.kernels.crowd import Club, connected, tell_apart
from rankfall.kernels.own_statistics import Own
from rankfall.policies.clicks import Click
from rankfall.policies.linear.policy import LinearPolicy
from rankfall.policies.linear.prior import Prior
from rankfall.policies.many_users.policy import ManyUsers
from rankfall.policies.ranking import Ranking


class ClusteredUsers(ManyUsers):
    """A model for each cluster of users, which are found while learning.

    Gentile, Li, Zappella: Online Clustering of Bandits, ICML 2014 (CLUB), with the lists and the feedback of a linear
    policy in the place of single items. Users are nodes of a graph, and begin as one cluster. After each list of user
    i, who has had T_i by then, the edge to user j goes if ``|w_i - w_j| > CB(T_i) + CB(T_j)``, where w are the ridge
    weights of a user alone and ``CB(T) = alpha sqrt((1 + ln(1 + T)) / (1 + T))``. Connected users are a cluster, and
    share a model of all that its users have shown.

    Parameters
    ----------
    policy : how each model ranks and learns.
    users : everyone there may be.
    alpha : how far apart users must be to be told apart.
    edges : share of edges in the graph to begin with, drawn with ``seed``; by default 3 ln(n) / n, as in the paper.
        A graph drawn by chance may have several components, which begin as clusters of their own.

    Attributes
    ----------
    places : the place of each user in the arrays of the club.
    club : what is known of each user alone, and who is still taken to be alike.

    >>> from rankfall import CascadeLinUCB, Catalog
    >>> policy = CascadeLinUCB(Catalog(relevance=[[0.6, 0.0], [0.0, 0.5]]))
    >>> users = ClusteredUsers(policy, ["ann", "bob"], alpha=0.3, edges=1.0)
    >>> for turn in range(40):
    ...     name = "ann" if turn % 2 else "bob"
    ...     liked = 0 if name == "ann" else 1
    ...     users.update(name, users.rank(name, 1, fixed={0: turn // 2 % 2}), 0 if turn // 2 % 2 == liked else None)
    >>> users.rank("ann", 1), users.rank("bob", 1), users
    (Ranking(0), Ranking(1), ClusteredUsers(CascadeLinUCB(...), 2 models))
    """

    summary = "a model for each cluster of users, found while learning"

    def __init__(
        self,
        policy: LinearPolicy,
        users: Iterable[Hashable],
        *,
        alpha: float = 2.0,
        edges: float | None = None,
        seed: int = 0,
    ) -> None:
        started = policy if policy.prior is not None else policy.with_prior(Prior.identity(len(policy.weights)))
        super().__init__(started)
        if policy.forgetting is not None:
            raise ProblemError(f"clusters do not forget; leave out forgetting={policy.forgetting}")
        self.alpha = number("alpha", alpha, ProblemError, low=0.0)
        self.places = {user: place for place, user in enumerate(users)}
        count, columns = len(self.places), len(policy.weights)
        if not count:
            raise ProblemError("users are none; name everyone there may be")
        usual = min(1.0, 3.0 * np.log(count) / count) if count > 1 else 1.0
        share = usual if edges is None else number("edges", edges, ProblemError, low=0.0, high=1.0)
        rng = np.random.default_rng(whole("seed", seed, ProblemError, low=0))
        graph = np.triu(rng.random((count, count)) < share, 1)
        start = self.policy.prior
        assert start is not None
        self.club = Club(
            own=Own(np.zeros((count, columns, columns)), np.zeros((count, columns)), np.zeros((count, 2))),
            weights=np.tile(self.policy.weights, (count, 1)),
            lists=np.zeros(count, dtype=np.int64),
            edges=graph | graph.T,
            precision=start.precision,
            pull=start.pull,
            work=np.empty((columns, columns)),
            reached=np.zeros(count, dtype=np.bool_),
            alpha=self.alpha,
        )
        self._cluster: IntArray = np.full(count, -1)
        self._named = 0
        for place in range(count):
            if self._cluster[place] < 0:
                connected(self.club.edges, place, self.club.reached)
                self.name_reached()

    def name_reached(self) -> None:
        """Those whom the club has reached are a new cluster."""
        self._cluster[self.club.reached] = self._named
        self._named += 1

    @property
    def clusters(self) -> dict[Hashable, int]:
        """The number of each user's cluster; a cluster that splits gives way to new ones."""
        return {user: int(self._cluster[place]) for user, place in self.places.items()}

    def _place(self, user: Hashable) -> int:
        if user not in self.places:
            raise ProblemError(f"{user!r} is none of the {len(self.places)} users that the graph was made of")
        return self.places[user]

    def shares(self, user: Hashable) -> Hashable:
        """The cluster of the user."""
        return int(self._cluster[self._place(user)])

    def members(self, cluster: int) -> IntArray:
        """The places of the users in a cluster."""
        return np.flatnonzero(self._cluster == cluster)

    def new_model(self, key: Hashable) -> LinearPolicy:
        """A model that knows all that the users of the cluster have shown."""
        assert isinstance(key, int)
        assert self.policy.prior is not None
        model, members = self.policy.fresh(), self.members(key)
        assert model.model.own is not None
        for part, every in zip(model.model.own, self.club.own, strict=True):
            part[...] = every[members].sum(axis=0)
        return model.with_prior(self.policy.prior)

    def update(self, user: Hashable, ranking: Ranking, click: Click) -> None:
        """Learn from the clicks, for the cluster and of the user alone; and tell users apart."""
        features, rewards = self.policy.seen(ranking, click)
        super().update(user, ranking, click)
        place = self._place(user)
        cluster = int(self._cluster[place])
        if tell_apart(self.club, place, features, rewards, len(rewards), len(self.members(cluster))):
            self.split(cluster)

    def split(self, cluster: int) -> None:
        """The cluster falls apart into those who are still connected."""
        left = set(self.members(cluster).tolist())
        while left:
            connected(self.club.edges, min(left), self.club.reached)
            left -= set(np.flatnonzero(self.club.reached).tolist())
            self.name_reached()
        del self._models[cluster]
