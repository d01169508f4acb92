"""Operations of any kind in any order, and running them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from engines import WAIT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from histories.history import History
from histories.models import MODELS, TOGETHER, TYPES, USERS


@st.composite
def any_operations(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Of few models and two users, so that there is something to learn of each."""
    few = draw(st.lists(st.sampled_from(sorted(MODELS)), min_size=1, max_size=3, unique=True))
    models, users, some = st.sampled_from(few), st.sampled_from(USERS[:2]), st.integers(0, 40)
    together = st.sampled_from([name for name in few if name in TOGETHER] or TOGETHER)
    unit = st.integers(0, 10).map(lambda n: n / 10)
    values, names = st.sampled_from([1.0, 2.0, 0.1]), st.sampled_from([None, None, "order 7", "order 8"])
    answers = st.lists(st.tuples(some, st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=3)
    shift = st.sampled_from([0.0, 0.0, -86_400.0, 100_000.0])
    kinds: dict[str, tuple[int, list[st.SearchStrategy[Any]]]] = {  # how often, and what of
        "visit": (12, [models, users, st.lists(st.integers(0, 3), max_size=2)]),
        "rank": (6, [models, users, st.booleans(), st.integers(1, 4)]),
        "feedback": (3, [answers]),
        "outcome": (9, [some, st.integers(0, 3), st.sampled_from(TYPES), values, names]),
        "switch": (3, []),
        "refresh": (2, [together, st.booleans()]),
        "activate": (1, [some]),
        "wait": (1, [st.sampled_from([1.0, WAIT / 2, WAIT + 1])]),
        "put": (1, [st.integers(0, 10), unit]),
        "patch": (1, [st.integers(0, 10), unit]),
        "delete": (1, [st.integers(0, 3)]),
        "change": (1, [models, unit, st.integers(0, 5)]),
        "reset": (1, [models]),
        "snapshot": (2, [models]),
        "restore": (1, [st.integers(0, 3)]),
        "forget": (1, [users]),
        "restart": (3, [st.sampled_from(["stop", "checkpoint", "crash"]), shift]),
    }
    # Names and not strategies: one_of looks at each strategy once, however often it is given.
    named = st.sampled_from([name for name, (often, _) in kinds.items() for _ in range(often)])
    some_of_them = draw(st.lists(named, min_size=20, max_size=50))
    return [(name, *(draw(what) for what in kinds[name][1])) for name in some_of_them]


def many_visits(seed: int, length: int = 100) -> list[tuple[Any, ...]]:
    """Operations on models whose users start together: mostly lists with feedback, so that there is much to learn."""
    rng = np.random.default_rng(seed)

    def one_of(*among: Any) -> Any:
        return among[rng.integers(len(among))]

    def clicks() -> list[int]:
        return [int(click) for click in rng.integers(0, 4, rng.integers(0, 3))]

    made: dict[str, tuple[float, Callable[[], tuple[Any, ...]]]] = {
        "visit": (40, lambda: (one_of(*TOGETHER), one_of(*USERS[:3]), clicks())),
        "outcome": (18, lambda: (int(rng.integers(40)), int(rng.integers(4)), one_of(*TYPES), one_of(1.0, 0.1), None)),
        "refresh": (12, lambda: (one_of(*TOGETHER), one_of(True, False))),
        "rank": (8, lambda: (one_of(*TOGETHER), one_of(*USERS), False, 4)),
        "snapshot": (6, lambda: (one_of(*TOGETHER),)),
        "restore": (5, lambda: (-1 - int(rng.integers(2)),)),
        "restart": (6, lambda: (one_of("stop", "checkpoint", "crash"), 0.0)),
        "wait": (2, lambda: (one_of(1.0, WAIT + 1),)),
        "change": (2, lambda: (one_of(*TOGETHER), 0.5, int(rng.integers(6)))),
        "put": (2, lambda: (int(rng.integers(11)), 0.3)),
        "forget": (2, lambda: (one_of(*USERS),)),
        "reset": (1, lambda: (one_of(*TOGETHER),)),
        "check": (5, tuple),
    }
    weights = np.array([weight for weight, _ in made.values()])
    return [(name, *made[name][1]()) for name in rng.choice(list(made), length, p=weights / weights.sum()).tolist()]


def run_history(place: str, operations: list[tuple[Any, ...]], room: int) -> History:
    """A history whose states were those of its answers; both its servers are gone."""
    history = History(place, room)
    try:
        for operation in operations:
            history.do(operation)
        history.check()
        return history
    finally:
        history.close()


RELAXED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def histories(examples: int, **options: Any) -> Any:
    def decorate(test: Any) -> Any:
        return settings(max_examples=examples, suppress_health_check=RELAXED, **options)(
            given(operations=any_operations(), room=st.sampled_from([1, 2, 100]))(test)
        )

    return decorate
