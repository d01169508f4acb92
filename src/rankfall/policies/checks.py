"""A checker anyone can run on a policy of their own."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from rankfall.errors import ContractError, RankfallError
from rankfall.policies.ranking import Policy


def check_policy(policy: Policy, k: int = 3) -> None:
    """Raise :class:`ContractError` with everything this policy gets wrong, in words; or return.

    Works on copies; the policy itself stays as it is.

    >>> from rankfall import Catalog, CascadeHybrid
    >>> check_policy(CascadeHybrid(Catalog(coverage=[[0.5], [0.2], [0.1], [0.9]], relevance=[[1], [2], [3], [4]])))
    """
    broken: list[str] = []
    checks = {
        "rank gives k different rows": _ranks,
        "rank keeps to candidates and exclude": _respects_limits,
        "rank changes nothing and takes randomness from rng only": _is_pure,
        "nonsense raises a RankfallError and leaves the policy unchanged": _refuses_nonsense,
        "feedback may come late and out of order": _takes_late_feedback,
    }
    for promise, check in checks.items():
        try:
            check(copy.deepcopy(policy), k, broken.append)
        except Exception as problem:
            broken.append(f"{promise}: raised {type(problem).__name__}: {problem}")
    if broken:
        raise ContractError(f"{type(policy).__name__} breaks the policy contract:\n- " + "\n- ".join(broken))


Report = Callable[[str], None]


def _rng() -> np.random.Generator:
    return np.random.default_rng(5)


def _ranks(policy: Policy, k: int, say: Report) -> None:
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


def _respects_limits(policy: Policy, k: int, say: Report) -> None:
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


def _is_pure(policy: Policy, k: int, say: Report) -> None:
    before = _global_random_state()
    lists = [np.asarray(policy.rank(k, rng=_rng()).items).tolist() for _ in range(3)]
    after = _global_random_state()
    if lists[0] != lists[1] or lists[0] != lists[2]:
        say(f"rank with the same rng gave {lists[0]}, then {lists[1]}, then {lists[2]}; it must not change the policy")
    if before != after:
        say("rank touched the global random state; draw from the rng it is given")


def _refuses_nonsense(policy: Policy, k: int, say: Report) -> None:
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


def _takes_late_feedback(policy: Policy, k: int, say: Report) -> None:
    shown = [policy.rank(k, rng=np.random.default_rng(i)) for i in range(4)]
    for ranking, click in zip(reversed(shown), (0, None, k - 1, [1, 0]), strict=True):
        policy.update(ranking, click)
    items = np.asarray(policy.rank(k, rng=_rng()).items)
    if items.shape != (k,):
        say(f"after late feedback rank({k}) gave {items!r}")
