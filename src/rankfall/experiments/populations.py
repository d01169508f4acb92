"""From the words of a user to items and simulated users, for every run of a case."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rankfall.arrays import FloatArray, finite, whole
from rankfall.catalog import Catalog
from rankfall.data import DATASETS, Ratings, find, generate, on_sphere, tables
from rankfall.data.finding import TABLES
from rankfall.data.preparation import Prepared, prepare
from rankfall.errors import CatalogError, ProblemError
from rankfall.experiments.click_words import click_model_of
from rankfall.experiments.frozen_table import canonical
from rankfall.experiments.people import People, read_people
from rankfall.experiments.user_words import source_of, stretches
from rankfall.policies.context import Context
from rankfall.users import (
    Attraction,
    Coverage,
    Drifting,
    Environment,
    Hybrid,
    InContext,
    Linear,
    PerItem,
    User,
    generate_intents,
    moved_tastes,
    situations_of,
)
from rankfall.users.fitting import FittedHybrid, FittedUser, read_fitted

Data: TypeAlias = Mapping[str, Any]
"""What was read from files, by the keys of :func:`files_of`: it goes along to other processes and machines."""

World: TypeAlias = tuple[Catalog, Environment]
"""What the policy knows of the items, and who looks at them."""

_OWN_COLUMNS = 2_000
"""Up to so many items without features get one column each, so that linear policies can tell them apart."""


def files_of(words: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """What must be read before users of these words can be made: a key, and how to read it."""
    found: dict[str, Callable[[], Any]] = {}
    for _, here in stretches(words):
        if "dataset" in here:
            found[_dataset_key(here)] = partial(_prepared, here)
        if "fitted" in here:
            found[f"fitted {here['fitted']}"] = partial(_fitted_users, here["fitted"])
        if "catalog" in here:
            found[f"catalog {here['catalog']}"] = partial(Catalog.read_parquet, here["catalog"])
    return found


def world_of(words: Mapping[str, Any], k: int, user: int, users: int, repeat: int, data: Data) -> World:
    """Items and user of one run: repeat ``repeat`` of user ``user``, of ``users`` in all."""
    (_, first), *later = stretches(words)
    catalog, now = _world(first, k, user, users, repeat, data)
    if not later:
        return catalog, now
    changes = [(0, now)]
    for start, other in later:
        items, then = _world(other, k, user, users, repeat, data)
        if items.ids != catalog.ids:
            raise ProblemError(f"from step {start} on the user knows other items; all models must be of the same")
        changes.append((start, then))
    return catalog, Drifting(changes)


def _world(words: Mapping[str, Any], k: int, user: int, users: int, repeat: int, data: Data) -> World:
    source = source_of(words)
    if source == "dataset":
        return _of_dataset(words, user, repeat, data)
    if source == "generate":
        made = _made(generate, "generate", words["generate"], repeat, users=users)
        x, z = made.catalog.coverage, made.catalog.relevance
        return made.catalog, _in_context(words, x, z, made.theta, made.beta, user, repeat)
    if source == "sphere":
        made = _made(on_sphere, "sphere", words["sphere"], repeat)
        z, beta = made.catalog.relevance, made.beta[0]
        return made.catalog, _user(words, _logistic(z @ beta, words["logit"]) if "logit" in words else Linear(z, beta))
    if source == "intents":
        crowd = _made(generate_intents, "intents", words["intents"], repeat)
        return _items(crowd.n_items), crowd
    if source == "fitted":
        return _of_fit(words, k, user, data)
    alone = PerItem(_attraction(words["attraction"]))
    return _items(alone.n_items), _user(words, alone)


def _logistic(places: FloatArray, logit: Any) -> PerItem:
    """Attraction whose log-odds go from the first to the second of ``logit``, as places go from 0 to 1.

    >>> _logistic(np.array([0.0, 0.5, 1.0]), (-1.0, 1.0)).alone.round(3)
    array([0.269, 0.5  , 0.731])
    """
    low, high = finite("logit", logit, 1, ProblemError) if np.shape(logit) == (2,) else (np.nan, np.nan)
    if not low < high:
        raise ProblemError(f"logit must be two log-odds, the lower one first, got {logit!r}")
    return PerItem(1.0 / (1.0 + np.exp(-(low + (high - low) * places))))


def _of_dataset(words: Mapping[str, Any], user: int, repeat: int, data: Data) -> World:
    prepared = _with_topics(data[_dataset_key(words)], words.get("topics"))
    perfect = words.get("perfect_coverage", False)
    if not isinstance(perfect, bool):
        raise ProblemError(f"perfect_coverage must be true or false, got {perfect!r}")
    catalog = _catalog(prepared, perfect)
    x, z = prepared.user_coverage, prepared.relevance
    return catalog, _in_context(words, x, z, prepared.theta, prepared.beta, user, repeat)


def _in_context(
    words: Mapping[str, Any], x: Any, z: Any, thetas: Any, betas: Any, user: int, repeat: int
) -> Environment:
    """The user of this number, of those with these preferences; in each situation another one if there is a context."""
    if "context" not in words:
        return _with_features(words, x, z, thetas[user], betas[user])
    made = words["context"]
    if not isinstance(made, Mapping) or "factors" not in made:
        raise ProblemError(f"context of a user must be a table of factors, matters, hours and seed, got {made!r}")
    for word in made:
        if word not in ("factors", "matters", "hours", "seed"):
            raise ProblemError(f"context of a user has no {word!r}; it has factors, matters, hours, seed")
    context = Context(made["factors"])
    situations = situations_of(context, made.get("hours", 8))
    tastes = np.hstack([thetas, betas])
    seed = made.get("seed", 0)
    moved = moved_tastes(tastes[user], tastes, context, situations, made.get("matters", 1.0), seed + user)
    people = [_with_features(words, x, z, one[: thetas.shape[1]], one[thetas.shape[1] :]) for one in moved]
    return InContext(list(zip(situations, people, strict=True)), seed=seed + repeat)


def _of_fit(words: Mapping[str, Any], k: int, user: int, data: Data) -> World:
    fitted: FittedUser | People = data[f"fitted {words['fitted']}"]
    ids: list[int | str]
    if not isinstance(fitted, People) and k > fitted.positions:
        raise ProblemError(f"k is {k}, and {words['fitted']} was fitted on lists of up to {fitted.positions} items")
    if isinstance(fitted, People):
        person = fitted.user(_who(words, fitted.people, user), words.get("reward"))
        ids = list(range(person.n_items))
        catalog = _items(len(ids))
    elif isinstance(fitted, FittedHybrid):
        ids, catalog = list(fitted.catalog.ids), fitted.catalog
        person = fitted.user(k, words.get("reward"), _who(words, fitted.people, user))
    else:
        if "who" in words:
            raise ProblemError(f"{words['fitted']} holds one user; leave out who")
        ids = [item if isinstance(item, int | str) else str(item) for item in fitted.items.to_list()]
        catalog, person = _items(len(ids), ids), fitted.user(k, words.get("reward"))
    if "catalog" in words:
        known: Catalog = data[f"catalog {words['catalog']}"]
        try:
            rows = known.rows(ids)
        except CatalogError as problem:
            raise ProblemError(f"the log has an item that {words['catalog']} has not: {problem}") from None
        catalog = Catalog(known.coverage[rows], known.relevance[rows], ids=ids, topics=known.topics)
    return catalog, person


def _fitted_users(path: str) -> FittedUser | People:
    return read_people(path) if Path(path).suffix == ".json" else read_fitted(path)


def _who(words: Mapping[str, Any], people: tuple[str, ...], user: int) -> str:
    """Which of the people of a file is meant: the one that is named; otherwise they take turns."""
    who = words.get("who", people[user % len(people)])
    if who not in people:
        named = ", ".join(people[:5]) + (", ..." if len(people) > 5 else "")
        raise ProblemError(f"{words['fitted']} has no user {who!r}; it has {named}")
    return str(who)


def _with_features(words: Mapping[str, Any], x: Any, z: Any, theta: Any, beta: Any) -> Environment:
    """A user whose attraction depends on coverage x, relevance z, or both."""
    attraction, tradeoff = words.get("attraction", "hybrid"), words.get("tradeoff", 0.5)
    kinds: Mapping[str, Callable[[], Attraction]] = {
        "hybrid": lambda: Hybrid(x, z, theta, beta, tradeoff),
        "linear": lambda: Linear(z, beta),
        "coverage": lambda: Coverage(x, theta),
    }
    if not isinstance(attraction, str) or attraction not in kinds:
        raise ProblemError(f"attraction of a user with features is {attraction!r}; choose from {', '.join(kinds)}")
    return _user(words, kinds[attraction]())


def _user(words: Mapping[str, Any], attraction: Attraction) -> User:
    return User(attraction, click_model_of(words), reward=words.get("reward"))


def _attraction(given: Any) -> Any:
    """Numbers as they are; or a block of good items, and then one of bad ones."""
    if not isinstance(given, Mapping):
        if isinstance(given, str):
            raise ProblemError(f"attraction {given!r} needs users with features: dataset or generate")
        return given
    for word in ("best", "good", "rest", "bad"):
        if word not in given:
            raise ProblemError(f"attraction needs best, good, rest and bad, or numbers; {word!r} is missing")
    best, rest = (whole(f"{word} of attraction", given[word], ProblemError, low=0) for word in ("best", "rest"))
    return [given["good"]] * best + [given["bad"]] * rest


def _made(make: Callable[..., Any], word: str, values: Any, repeat: int, **usual: Any) -> Any:
    """What is made from a seed, in this repeat."""
    if not isinstance(values, Mapping):
        raise ProblemError(f"{word} must be a table of words, got {values!r}")
    seed = values.get("seed", 0)
    if isinstance(seed, tuple):
        if not seed:
            raise ProblemError(f"seed of {word} is an empty list; expected whole numbers")
        seed = seed[repeat % len(seed)]
    _check_known(word, values, make)
    return make(**{**usual, **values, "seed": seed})


def _check_known(word: str, values: Mapping[str, Any], make: Callable[..., Any], besides: tuple[str, ...] = ()) -> None:
    """Refuse words of a table that ``make`` does not have; those ``besides`` are not for the table."""
    known = [name for name in inspect.signature(make).parameters if name not in besides]
    for name in values:
        if name not in known:
            raise ProblemError(f"{word} has no {name!r}; it has {', '.join(known)}")


def _items(n_items: int, ids: list[Any] | None = None) -> Catalog:
    """Items without features to know them by: each is its own."""
    return Catalog(relevance=np.eye(n_items, n_items if n_items <= _OWN_COLUMNS else 0), ids=ids)


def _dataset_key(words: Mapping[str, Any]) -> str:
    own = {word: words[word] for word in ("items_table", "columns") if word in words}
    return f"dataset {words['dataset']} {canonical({**_preparation(words), **own})}"


def _preparation(words: Mapping[str, Any]) -> Mapping[str, Any]:
    how = words.get("preparation", {})
    if not isinstance(how, Mapping) or "topics" in how:
        raise ProblemError(f"preparation must be a table of words of prepare, without topics, got {how!r}")
    _check_known("preparation", how, prepare, ("ratings", "topics"))
    return how


def _prepared(words: Mapping[str, Any]) -> Prepared:
    how = _preparation(words)
    if names_prepared(words):
        if how:
            named = words["dataset"]
            raise ProblemError(f"{named} is prepared already; leave preparation out, or name the ratings themselves")
        return Prepared.load(words["dataset"]).with_topics(None)
    return prepare(_ratings(words), **how).with_topics(None)


def names_prepared(words: Mapping[str, Any]) -> bool:
    """Whether the data set of these words is a file that ``rankfall data prepare`` wrote."""
    path = Path(words["dataset"])
    named = words["dataset"] in DATASETS or "items_table" in words
    return not named and path.is_file() and path.suffix not in (".zip", *TABLES)


def _ratings(words: Mapping[str, Any]) -> Ratings:
    columns = words.get("columns", {})
    if "items_table" not in words:
        if columns:
            raise ProblemError("columns are those of a table of your own; name the other one as items_table")
        return find(words["dataset"])
    if not isinstance(columns, Mapping):
        raise ProblemError(f"columns must be a table such as {{ item = 'product' }}, got {columns!r}")
    _check_known("columns", columns, tables, ("ratings", "items", "name"))
    return tables(words["dataset"], words["items_table"], **columns)


@lru_cache(maxsize=16)
def _with_topics(prepared: Prepared, topics: int | None) -> Prepared:
    return prepared.with_topics(topics)


@lru_cache(maxsize=16)
def _catalog(prepared: Prepared, perfect_coverage: bool) -> Catalog:
    return prepared.catalog(perfect_coverage=perfect_coverage)
