"""A checker anyone can run on a policy of their own."""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankfall.errors import ContractError, RankfallError
from rankfall.policies.policy import Policy, PolicyLike
from rankfall.policies.saving import load
from rankfall.wire.rules import Only


@dataclass(frozen=True)
class CheckedPolicy:
    """What a policy that keeps the contract can do beyond it.

    Attributes
    ----------
    why_not_saved : why it cannot be saved and restored; None if it can, bit for bit.
    why_not_served : why a service cannot learn with it; None if it can.
    why_not_fixed : why rows cannot be held at positions; None if they can.
    why_not_rewarded : why it cannot learn rewards other than a click; None if it can.
    why_not_ruled : why its lists cannot keep rules; None if they can.
    """

    why_not_saved: str | None
    why_not_served: str | None
    why_not_fixed: str | None
    why_not_rewarded: str | None
    why_not_ruled: str | None = None

    @property
    def saved(self) -> bool:
        """Whether it can be saved and restored."""
        return self.why_not_saved is None

    @property
    def served(self) -> bool:
        """Whether a service can learn with it."""
        return self.why_not_served is None

    @property
    def fixed(self) -> bool:
        """Whether rows can be held at positions."""
        return self.why_not_fixed is None

    @property
    def rewarded(self) -> bool:
        """Whether it can learn rewards other than a click."""
        return self.why_not_rewarded is None

    @property
    def ruled(self) -> bool:
        """Whether its lists can keep rules."""
        return self.why_not_ruled is None


def check_policy(policy: PolicyLike, k: int = 3) -> CheckedPolicy:
    """Raise :class:`ContractError` with everything this policy gets wrong, in words; or say what it can do.

    Works on copies; the policy itself stays as it is.

    >>> from rankfall import Catalog, CascadeHybrid, TopRank
    >>> catalog = Catalog(coverage=[[0.5], [0.2], [0.1], [0.9]], relevance=[[1], [2], [3], [4]])
    >>> check_policy(CascadeHybrid(catalog)).served
    True
    >>> check_policy(TopRank(catalog)).why_not_served
    'it compares items of blocks it shuffled itself, from one set of items'
    """
    broken: list[str] = []
    checks = {
        "rank gives k different rows": _ranks,
        "rank keeps to candidates and exclude": _respects_limits,
        "rank changes nothing and takes randomness from rng only": _is_pure,
        "nonsense raises a RankfallError and leaves the policy unchanged": _refuses_nonsense,
        "feedback may come late and out of order": _takes_late_feedback,
        "positions can be fixed, or it is said that they cannot": _holds_fixed_rows,
        "lists keep rules, or it is said that they cannot": _keeps_rules,
        "rewards are learned, or it is said that they cannot be": _learns_rewards,
        "the state is restored bit for bit": _is_restored,
    }
    for promise, check in checks.items():
        try:
            check(copy.deepcopy(policy), k, broken.append)
        except Exception as problem:
            broken.append(f"{promise}: raised {type(problem).__name__}: {problem}")
    if broken:
        raise ContractError(f"{type(policy).__name__} breaks the policy contract:\n- " + "\n- ".join(broken))
    if isinstance(policy, Policy):
        return CheckedPolicy(
            None, policy.why_not_served, policy.why_not_fixed, policy.why_not_rewarded, policy.why_not_ruled
        )
    why = "it is no subclass of rankfall.Policy"
    return CheckedPolicy(why, why, why, why, why)


Report = Callable[[str], None]


def _rng() -> np.random.Generator:
    return np.random.default_rng(5)


def _ranks(policy: PolicyLike, k: int, say: Report) -> None:
    n = policy.n_items
    if n < k + 1:
        say(f"the check needs more than {k} items to rank, the policy has {n}")
        return
    for length in (1, k, n):
        items = np.asarray(policy.rank(length, rng=_rng()).items)
        if items.shape != (length,) or items.dtype.kind not in "iu":
            say(f"rank({length}).items must be {length} whole numbers, got {items!r}")
        elif len(set(items.tolist())) < length or items.min() < 0 or items.max() >= n:
            say(f"rank({length}) must give {length} different rows from 0 to {n - 1}, got {items.tolist()}")


def _respects_limits(policy: PolicyLike, k: int, say: Report) -> None:
    n = policy.n_items
    first = np.asarray(policy.rank(k, rng=_rng()).items).tolist()
    without = np.asarray(policy.rank(k, rng=_rng(), exclude=first[:1]).items).tolist() if n > k else []
    if first[0] in without:
        say(f"row {first[0]} was excluded and shown all the same: {without}")
    allowed = list(range(n))[-k:][::-1]
    shown = np.asarray(policy.rank(k, rng=_rng(), candidates=allowed).items).tolist()
    if not set(shown) <= set(allowed):
        say(f"candidates were {allowed}, and {shown} was shown")


def _global_random_state() -> tuple[Any, ...]:
    name, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - to see that nobody touched it
    return random.getstate(), name, np.asarray(keys).tobytes(), rest


def _is_pure(policy: PolicyLike, k: int, say: Report) -> None:
    before = _global_random_state()
    lists = [np.asarray(policy.rank(k, rng=_rng()).items).tolist() for _ in range(3)]
    after = _global_random_state()
    if lists[0] != lists[1] or lists[0] != lists[2]:
        say(f"rank with the same rng gave {lists[0]}, then {lists[1]}, then {lists[2]}; it must not change the policy")
    if before != after:
        say("rank touched the global random state; draw from the rng it is given")


def _refuses_nonsense(policy: PolicyLike, k: int, say: Report) -> None:
    n = policy.n_items
    shown = policy.rank(k, rng=_rng())
    before = np.asarray(shown.items).tolist()
    attempts: list[tuple[str, Callable[[], Any]]] = [
        ("rank(0)", lambda: policy.rank(0)),
        (f"rank({n + 1}) of {n} items", lambda: policy.rank(n + 1)),
        (f"candidates=[{n}] of {n} items", lambda: policy.rank(1, candidates=[n])),
        (f"update with a click at {k} of {k} positions", lambda: policy.update(shown, k)),
        ("update with a click at -1", lambda: policy.update(shown, -1)),
    ]
    for what, attempt in attempts:
        try:
            attempt()
        except RankfallError:
            continue
        except Exception as problem:
            say(f"{what} raised {type(problem).__name__}; it must raise a RankfallError that says what is wrong")
        else:
            say(f"{what} was accepted; it must raise a RankfallError")
    after = np.asarray(policy.rank(k, rng=_rng()).items).tolist()
    if before != after:
        say(f"after refused calls the policy ranks {after} instead of {before}; it must be unchanged")


def _takes_late_feedback(policy: PolicyLike, k: int, say: Report) -> None:
    shown = [policy.rank(k, rng=np.random.default_rng(i)) for i in range(4)]
    for ranking, click in zip(reversed(shown), (0, None, k - 1, [1, 0]), strict=True):
        policy.update(ranking, click)
    items = np.asarray(policy.rank(k, rng=_rng()).items)
    if items.shape != (k,):
        say(f"after late feedback rank({k}) gave {items!r}")


def _holds_fixed_rows(policy: PolicyLike, k: int, say: Report) -> None:
    if not isinstance(policy, Policy):
        return
    fixed = {k - 1: 0, 0: policy.n_items - 1}
    try:
        shown = policy.rank(k, rng=_rng(), fixed=fixed).items.tolist()
    except RankfallError as problem:
        if policy.why_not_fixed is None:
            say(f"rank with fixed={fixed} raised {problem}; say why in why_not_fixed, or hold the rows")
        return
    if any(shown[position] != row for position, row in fixed.items()) or len(set(shown)) < k:
        say(f"rank with fixed={fixed} gave {shown}")


def _keeps_rules(policy: PolicyLike, k: int, say: Report) -> None:
    if not isinstance(policy, Policy) or policy.why_not_ruled is not None:
        return
    catalog = policy.catalog.with_attributes({"odd": [row % 2 == 1 for row in range(policy.n_items)]})
    twin = copy.copy(policy)
    twin.catalog = catalog
    wanted = min(k, policy.n_items // 2)
    shown = twin.rank(wanted, rng=_rng(), rules=[Only(attribute="odd", value=True)])
    if any(row % 2 == 0 for row in shown.items.tolist()) or shown.relaxed:
        say(f"only odd rows were allowed by a rule, and {shown.items.tolist()} was shown; use request.best(scores)")


def _learns_rewards(policy: PolicyLike, k: int, say: Report) -> None:
    if not isinstance(policy, Policy):
        return
    shown = policy.rank(k, rng=_rng())
    plain = policy.with_state(policy.state())
    plain.update(shown, 0)
    try:
        policy.update(shown, 0, rewards={0: 1.0})
    except RankfallError as problem:
        if policy.why_not_rewarded is None:
            say(f"update with rewards raised {problem}; say why in why_not_rewarded, or learn them")
        return
    if policy.why_not_rewarded is not None:
        say(f"update took rewards, and why_not_rewarded says: {policy.why_not_rewarded}")
    _compare_states("a reward of 1 for the click", plain, policy, say)


def _is_restored(policy: PolicyLike, k: int, say: Report) -> None:
    if not isinstance(policy, Policy):
        return
    _teach(policy, k, range(20))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy")
        policy.save(path)
        again = load(path, policy=type(policy))
    twins = {"saved and loaded": again, "with_state(state())": policy.with_state(policy.state())}
    for how, twin in twins.items():
        if twin.catalog != policy.catalog or twin.settings != policy.settings or twin.n_updates != policy.n_updates:
            say(f"{how}: {twin!r} with {twin.settings} instead of {policy!r} with {policy.settings}")
        _compare_states(how, policy, twin, say)
    before = {how: _teach(twin, k, range(20, 40)) for how, twin in twins.items()}
    shown = _teach(policy, k, range(20, 40))
    for how, twin in twins.items():
        if before[how] != shown:
            say(f"{how}: the lists that follow are others; everything that learn() changes must be in state()")
        _compare_states(f"{how} and taught the same", policy, twin, say)
    if policy.fresh().n_updates:
        say(f"fresh() must have learned nothing, and has learned from {policy.fresh().n_updates} lists")


def _teach(policy: Policy, k: int, turns: range) -> list[list[int]]:
    shown = []
    for turn in turns:
        ranking = policy.rank(k, rng=np.random.default_rng(turn))
        policy.update(ranking, (None, 0, k - 1, [0, 1])[turn % 4])
        shown.append(ranking.items.tolist())
    return shown


def _compare_states(how: str, policy: Policy, twin: Policy, say: Report) -> None:
    own, other = policy.state(), twin.state()
    if own.keys() != other.keys():
        say(f"{how}: the state has the arrays {', '.join(other)} instead of {', '.join(own)}")
        return
    for name, array in own.items():
        same = (array.dtype, array.shape, array.tobytes()) == (
            other[name].dtype,
            other[name].shape,
            other[name].tobytes(),
        )
        if not same:
            say(f"{how}: the array {name!r} of the state is not the same, bit for bit")
