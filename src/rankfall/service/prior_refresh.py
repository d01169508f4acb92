"""Learns priors again as users show more, beside all else: neither the writer nor callers wait for it.

A thread reads what some users have shown, as sums, from checkpoints and the journal, learns a prior from them, and asks
the writer to append it; see :class:`rankfall.service.commands.KeepPrior`. Of several servers the first one wins.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfall.errors import RankfallError
from rankfall.journal.entries import PriorLearned
from rankfall.journal.fold import ModelHistory
from rankfall.journal.priors import encode_prior
from rankfall.kernels.own_statistics import Own
from rankfall.policies import LinearPolicy
from rankfall.policies.linear.empirical_bayes import Statistics, learn_prior, rounds_again
from rankfall.policies.linear.prior import Prior
from rankfall.service.commands import Command, KeepPrior
from rankfall.service.model import Model
from rankfall.service.state import ServerState
from rankfall.stores import END, Mark, Position, Store

_log = logging.getLogger("rankfall.service")

FIRST_LISTS, FIRST_USERS = 100, 10
"""Lists with feedback, and users with any, before the first prior: with fewer it says next to nothing."""
GROWTH = 0.25
"""Share by which lists grow until it is learned again; as :class:`rankfall.AcrossUsers` has it."""
MOST_USERS = 2_000
"""Users it is learned from: half of them those who came last, half of all. So it costs the same with a million."""
MOST_NUMBERS = 4_000_000
"""Sums held meanwhile, 32 MB: with many columns it is learned from fewer users."""
RECENT = 20_000
"""Entries of the journal in which those who came last are looked for; of others there are checkpoints by then."""
PART = 20
"""Users read at a time."""
READING_SHARE = 0.2
"""Share of the time in which users are read: callers need the processor too."""
REFRESHING_SHARE = 0.05
"""Share of the time in which priors are learned at most; however short it took, it rests so many seconds:"""
LEAST_REST = 30.0
LOOK_EVERY = 1.0
"""Seconds between looks whether one is due."""


@dataclass(frozen=True)
class _Read:
    """What users have shown, of those who have shown anything, and in how many lists."""

    owns: list[Own]
    lists: int


def is_due(history: ModelHistory, tried: int = 0) -> bool:
    """Whether a prior should be learned again.

    ``tried`` is how many lists had feedback when that was last tried, where nothing came of it.
    """
    if not history.settings.across_users:
        return False
    note = history.prior_at(END)
    before = max(tried, 0 if note is None else note.counted)
    enough = max(FIRST_LISTS, before + max(1, int(GROWTH * before)))
    return _is_stale(history) or history.counts.with_feedback >= enough


def _is_stale(history: ModelHistory) -> bool:
    """Whether a user who was forgotten has a share in the prior."""
    note = history.prior_at(END)
    return note is not None and history.forgot_at > note.position


def refreshed(
    store: Store, model: Model, known: Mark, rest: Callable[[float], None] = lambda _: None
) -> KeepPrior | None:
    """A prior learned from what the journal has up to an entry, to be kept; None if users are too few yet.

    If they are too few now that some were forgotten, they start from nothing again.

    ``rest`` is called with the seconds that each part took.
    """
    policy = model.template.policy
    assert isinstance(policy, LinearPolicy)
    columns = len(policy.weights)
    read = _read(store, model, known.position, columns, rest)
    stale = _is_stale(model.history)
    if len(read.owns) < FIRST_USERS:  # nor may the weights of so few be seen by all
        return KeepPrior(model.name, _nothing(columns), known) if stale else None
    before = None if stale else model.prior_at(store, known.position)  # nothing of who was forgotten goes on
    prior = learn_prior(
        Statistics.of(read.owns, columns),
        start=None if before is None else before.prior,
        rounds=rounds_again(len(read.owns)),
    )
    return KeepPrior(model.name, PriorLearned(encode_prior(prior), len(read.owns), read.lists), known)


def _nothing(columns: int) -> PriorLearned:
    """The prior of ridge regression, in the place of one."""
    return PriorLearned(encode_prior(Prior.identity(columns)), 0, 0)


def _read(store: Store, model: Model, known: Position, columns: int, rest: Callable[[float], None]) -> _Read:
    """Read what users have shown, a few at a time."""
    owns: list[Own] = []
    lists = 0
    for owners in _in_parts(_chosen(store, model.name, min(MOST_USERS, max(1, MOST_NUMBERS // columns**2)))):
        began = time.monotonic()
        for state in model.states_at(store, owners, known):
            assert isinstance(state.policy, LinearPolicy)
            own = state.policy.model.own
            if state.policy.n_updates and own is not None:
                owns.append(own)
                lists += state.policy.n_updates
        rest(time.monotonic() - began)
    return _Read(owns, lists)


def _chosen(store: Store, model: str, most: int) -> list[str]:
    """The users to learn from: those who came last, and some of all, spread evenly over their names."""
    recent = store.recent_owners(model, RECENT, most)
    others = sorted(set(store.saved_owners(model, most)) - set(recent))
    if len(recent) + len(others) > most:
        recent = recent[: max(most - len(others), most // 2)]
        spread = np.linspace(0, len(others) - 1, min(len(others), most - len(recent))).round().astype(int)
        others = [others[n] for n in spread.tolist()]
    return sorted([*recent, *others])


def _in_parts(owners: list[str]) -> Iterator[list[str]]:
    return (owners[n : n + PART] for n in range(0, len(owners), PART))


class PriorRefresh:
    """Learns priors again when they are due, one at a time, in a thread of its own.

    ``submit`` has a command carried out.
    """

    def __init__(self, store: Store, state: ServerState, submit: Callable[[Command[Any]], Future[Any]]) -> None:
        self._store, self._state, self._submit = store, state, submit
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self._tried: dict[str, int] = {}

    def begin_if_due(self, now: float) -> None:
        """Begin to learn a prior that is due, unless one is being learned; for the thread that folds."""
        if (
            now < self._next
            or self._state.stopped is not None
            or (self._thread is not None and self._thread.is_alive())
        ):
            return
        self._next = now + LOOK_EVERY
        for name, model in self._state.models.items():
            if is_due(model.history, self._tried.get(name, 0)):
                self._tried[name] = model.history.counts.with_feedback
                known = self._state.mark
                self._thread = threading.Thread(target=self._learn, args=(model, known), name="prior", daemon=True)
                self._thread.start()
                return

    def _learn(self, model: Model, known: Mark) -> None:
        began, store = time.monotonic(), self._store.beside()
        try:
            keep = refreshed(store, model, known, self._rest)
            if keep is not None and not self._ending.is_set():
                self._submit(keep)
        except _Ended:
            pass
        except RankfallError as problem:  # the store is away, say; the next time is soon enough
            _log.warning("no prior could be learned", extra={"model": model.name, "reason": str(problem)})
        except Exception:
            _log.exception("an error while a prior was learned; users start from the one there is")
        finally:
            store.close()
            took = time.monotonic() - began
            self._next = time.monotonic() + max(LEAST_REST, took * (1.0 / REFRESHING_SHARE - 1.0))

    def _rest(self, took: float) -> None:
        if self._ending.wait(took * (1.0 / READING_SHARE - 1.0)):
            raise _Ended

    def close(self) -> None:
        """Begin no more, and wait for what was begun to end."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()


class _Ended(Exception):  # noqa: N818 - nothing went wrong
    """The server ends."""
