"""From the words of a user to items and simulated users."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hybrid_logs import CATALOG, DIVERSE, FLAT, log_of, with_people

from rankfall import Catalog, FileError, ProblemError, User, prepare
from rankfall.data import find, generate
from rankfall.experiments.frozen_table import FrozenTable, merged
from rankfall.experiments.people import People
from rankfall.experiments.policy_choice import make_policy
from rankfall.experiments.populations import World, files_of, world_of
from rankfall.experiments.user_words import check_words
from rankfall.users import (
    ClickChain,
    ClickModel,
    Drifting,
    DynamicBayesian,
    InContext,
    Intents,
    PerItem,
    UserBrowsing,
    generate_intents,
)
from rankfall.users.fitting import Fitted, fit_hybrid

BLOCKS: dict[str, Any] = {"attraction": {"best": 2, "good": 0.6, "rest": 4, "bad": 0.1}, "clicks": "cascade"}
INTENTS: dict[str, Any] = {
    "intents": {"users": 8, "documents": 6, "alpha": 2.0, "relevant": 0.9, "other": 0.05, "seed": [4, 7]}
}


def world(words: dict[str, Any], k: int = 2, user: int = 0, users: int = 1, repeat: int = 0) -> World:
    table = FrozenTable(words)
    check_words(table)
    return world_of(table, k, user, users, repeat, {key: read() for key, read in files_of(table).items()})


def fit(path: Path, items: list[Any], alpha: list[float], positions: int = 3) -> None:
    ones = np.ones(positions)
    Fitted("cascade", pl.Series("item", items), np.array(alpha), ones, ones, ones, -1.0, 10).write_parquet(path)


def test_people_fitted_with_features_take_turns(tmp_path: Path) -> None:
    log = with_people({"a": log_of(DIVERSE, 200), "b": log_of(FLAT, 200, 1)})
    fitted = fit_hybrid(log, CATALOG, by="user", ridge=1.0, shrinkage=1.0)
    fitted.write_parquet(tmp_path / "people.parquet")
    words = {"fitted": str(tmp_path / "people.parquet")}
    worlds = [world(words, 3, user=user, users=3) for user in range(3)]
    for (catalog, user), person in zip(worlds, "aba", strict=True):
        assert catalog == CATALOG
        assert user.reward([5, 1, 2]) == fitted.user(3, group=person).reward([5, 1, 2])
    Catalog(CATALOG.coverage / 2, CATALOG.relevance).write_parquet(tmp_path / "half.parquet")
    catalog, _ = world({**words, "catalog": str(tmp_path / "half.parquet")}, 3)
    np.testing.assert_array_equal(catalog.coverage, CATALOG.coverage / 2)


def test_a_block_of_good_items_and_one_of_bad_ones() -> None:
    catalog, user = world(BLOCKS)
    assert isinstance(user, User)
    assert len(catalog) == user.n_items == 6
    assert user.best(2).tolist() == [0, 1]
    assert user.reward([0, 1]) == pytest.approx(1 - 0.4**2)


def test_many_items_need_no_column_each() -> None:
    catalog, user = world({**BLOCKS, "attraction": {**BLOCKS["attraction"], "rest": 30_000}})
    assert (len(catalog), catalog.n_features, user.n_items) == (30_002, 0, 30_002)


@pytest.mark.parametrize("attraction", ["hybrid", "linear", "coverage"])
def test_users_with_features(attraction: str) -> None:
    words = {"generate": {"items": 12, "topics": 3, "features": 2}, "attraction": attraction}
    catalog, user = world({**words, "clicks": "position_based", "examination": [0.9, 0.5, 0.3]}, 3)
    assert len(catalog) == user.n_items == 12
    made = generate(12, 3, 2, users=4)
    third = world(words, 3, user=2, users=4)[1]
    assert isinstance(third, User)
    expected = {"hybrid": None, "linear": made.beta[2], "coverage": made.theta[2]}[attraction]
    if expected is not None:
        name = "beta" if attraction == "linear" else "theta"
        np.testing.assert_array_equal(getattr(third.attraction, name), expected)


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ({"clicks": "user_browsing", "examination": [[1.0], [0.5, 0.9]]}, UserBrowsing([[1.0], [0.5, 0.9]])),
        ({"clicks": "dynamic_bayesian", "satisfaction": [0.3, 0.4]}, DynamicBayesian([0.3, 0.4])),
        (
            {"clicks": "dynamic_bayesian", "satisfaction": [0.3, 0.4], "continuation": 0.9},
            DynamicBayesian([0.3, 0.4], 0.9),
        ),
        ({"clicks": "click_chain", "continuation": [1.0, 0.9, 0.2]}, ClickChain([1.0, 0.9, 0.2])),
    ],
)
def test_click_models_are_named_in_words(words: dict[str, Any], model: ClickModel) -> None:
    _, user = world({"attraction": [0.6, 0.5], **words, "reward": "clicks"})
    assert user.reward([1, 0]) == User(PerItem([0.6, 0.5]), model, "clicks").reward([1, 0])
    assert repr(user) == repr(User(PerItem([0.6, 0.5]), model, "clicks"))


PEOPLE: dict[str, dict[str, Any]] = {
    "one": {"attraction": [0.6, 0.5, 0.4], "clicks": "click_chain", "continuation": [1.0, 0.9, 0.2]},
    "other": {"attraction": [0.2, 0.5, 0.7], "clicks": "dynamic_bayesian", "satisfaction": [0.1, 0.2, 0.3]},
}


def test_people_of_a_file_take_turns_or_are_named(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    People(PEOPLE).write_json(path)
    words = {"fitted": str(path), "reward": "clicks"}
    one = User(PerItem([0.6, 0.5, 0.4]), ClickChain([1.0, 0.9, 0.2]), "clicks")
    other = User(PerItem([0.2, 0.5, 0.7]), DynamicBayesian([0.1, 0.2, 0.3]), "clicks")
    turns = [world(words, user=user, users=3) for user in range(3)]
    assert [repr(user) for _, user in turns] == [repr(one), repr(other), repr(one)]
    assert [user.reward([2, 0]) for _, user in turns] == [one.reward([2, 0]), other.reward([2, 0]), one.reward([2, 0])]
    assert world({**words, "who": "other"}, user=0)[1].reward([1, 2]) == other.reward([1, 2])
    _, drifting = world({**words, "who": "one", "drift": [{"from": 10, "who": "other"}]})
    assert isinstance(drifting, Drifting)
    assert [drifting.at(step).reward([1, 2]) for step in (9, 10)] == [one.reward([1, 2]), other.reward([1, 2])]
    usual = world({"fitted": str(path), "who": "other"})[1]
    assert isinstance(usual, User)
    assert usual.rewarded == "satisfied"
    with pytest.raises(ProblemError, match="has no user 'nobody'; it has one, other"):
        world({**words, "who": "nobody"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no", "is not a readable JSON file"),
        ("[]", "is not a file of users: it must have"),
        ('{"rankfall_users": 2, "users": {"a": {}}}', '"rankfall_users": 1 and "users" by name'),
        ('{"rankfall_users": 1, "users": {}}', "has no users"),
        ('{"rankfall_users": 1, "users": {"a": {"clicks": "cascade"}}}', "user 'a': a user needs attraction"),
        ('{"rankfall_users": 1, "users": {"a": {"attraction": [2.0]}}}', "user 'a': alpha holds 2"),
        ('{"rankfall_users": 1, "users": {"a": {"attraction": [1], "mood": 1}}}', "a user has no 'mood' here; it has"),
        (
            '{"rankfall_users": 1, "users": {"a": {"attraction": [1], "clicks": "click_chain"}}}',
            "user 'a': clicks 'click_chain' needs continuation, three numbers",
        ),
    ],
)
def test_files_of_people_that_make_no_sense_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "people.json"
    with pytest.raises(FileError, match=r"people\.json does not exist"):
        world({"fitted": str(path)})
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        world({"fitted": str(path)})
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_users_of_a_data_set_with_any_click_model() -> None:
    small = {"users": 100, "items": 60, "threshold": 4.0, "rank": 3}
    words = {"dataset": "movielens-small", "preparation": small, "topics": 5, "tradeoff": 0.3}
    data = prepare(find("movielens-small"), users=100, items=60, threshold=4.0, rank=3, topics=5)
    catalog, user = world(words, 4, user=3, users=5)
    assert catalog == data.catalog()
    assert isinstance(user, User)
    np.testing.assert_array_equal(user.attraction.theta, data.theta[3])  # type: ignore[attr-defined]
    known, other = world({**words, "perfect_coverage": True, "clicks": "document_based"}, 4)
    assert known == data.catalog(perfect_coverage=True)
    assert isinstance(other, User)
    assert other.rewarded == "clicks"


def test_intents_and_another_population_in_each_repeat() -> None:
    for repeat, seed in enumerate([4, 7, 4]):
        catalog, user = world(INTENTS, repeat=repeat)
        expected = generate_intents(8, 6, 2.0, relevant=0.9, other=0.05, seed=seed)
        assert isinstance(user, Intents)
        assert (user.wanted == expected.wanted).all()
        assert (len(catalog), user.relevant, user.other) == (6, 0.9, 0.05)


def test_users_that_drift() -> None:
    _, user = world({**BLOCKS, "drift": [{"from": 200, "attraction": [0.1, 0.1, 0.1, 0.1, 0.6, 0.7]}]})
    assert isinstance(user, Drifting)
    assert (user.at(199).best(1).tolist(), user.at(200).best(1).tolist()) == ([0], [5])


def test_a_fitted_user_with_the_features_of_a_catalog(tmp_path: Path) -> None:
    fit(tmp_path / "m.parquet", [7, 8, 9], [0.1, 0.2, 0.3])
    known = Catalog([[0.9], [0.8], [0.7], [0.6]], [[9.0], [8.0], [7.0], [1.0]], ids=[9, 8, 7, 1], topics=["t"])
    known.write_parquet(tmp_path / "items.parquet")
    words = {"fitted": str(tmp_path / "m.parquet"), "reward": "any"}
    catalog, user = world(words, 3)
    assert (catalog.ids, catalog.n_features, user.best(1).tolist()) == ((7, 8, 9), 3, [2])
    words["catalog"] = str(tmp_path / "items.parquet")
    assert world(words)[0] == Catalog([[0.7], [0.8], [0.9]], [[7.0], [8.0], [9.0]], ids=[7, 8, 9], topics=["t"])
    known.withdraw([8]).write_parquet(tmp_path / "items.parquet")
    with pytest.raises(ProblemError, match=r"the log has an item that .*items\.parquet has not: no item with id 8"):
        world(words)
    with pytest.raises(ProblemError, match=r"k is 4, and .*m\.parquet was fitted on lists of up to 3 items"):
        world(words, 4)
    with pytest.raises(FileError, match=r"n\.parquet does not exist"):
        world({"fitted": str(tmp_path / "n.parquet")})


def test_a_fitted_user_may_become_another_of_the_same_items(tmp_path: Path) -> None:
    fit(tmp_path / "one.parquet", ["a", "b", "c"], [0.1, 0.5, 0.3])
    fit(tmp_path / "two.parquet", ["a", "b", "c"], [0.5, 0.1, 0.3])
    fit(tmp_path / "other.parquet", ["a", "b", "d"], [0.5, 0.1, 0.3])
    words: dict[str, Any] = {"fitted": str(tmp_path / "one.parquet")}
    _, user = world({**words, "drift": [{"from": 100, "fitted": str(tmp_path / "two.parquet")}]})
    assert isinstance(user, Drifting)
    assert (user.at(99).best(1).tolist(), user.at(100).best(1).tolist()) == ([1], [0])
    with pytest.raises(ProblemError, match="from step 100 on the user knows other items"):
        world({**words, "drift": [{"from": 100, "fitted": str(tmp_path / "other.parquet")}]})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({**BLOCKS, "clicks": "guess"}, "clicks is 'guess'; choose from cascade"),
        ({**BLOCKS, "clicks": "position_based"}, "clicks 'position_based' needs examination"),
        ({**BLOCKS, "examination": [1.0, 0.5]}, "examination makes no sense with clicks 'cascade'"),
        ({**BLOCKS, "clicks": "dynamic_bayesian"}, "needs satisfaction, a number for each item"),
        ({**BLOCKS, "clicks": "dynamic_bayesian", "satisfaction": [0.5]}, "has 1 items and the attraction 6"),
        ({**BLOCKS, "clicks": "click_chain"}, "clicks 'click_chain' needs continuation, three numbers"),
        ({**BLOCKS, "clicks": "click_chain", "continuation": 0.9}, "continuation must have 1 axes"),
        ({"attraction": {"best": 2, "rest": 4, "bad": 0.1}}, "attraction needs best, good, rest and bad"),
        ({"attraction": "hybrid"}, "attraction 'hybrid' needs users with features"),
        (
            {"generate": {"items": 5}, "attraction": "magic"},
            "features is 'magic'; choose from hybrid, linear, coverage",
        ),
        ({"generate": {"people": 5}}, "generate has no 'people'; it has items, topics, features"),
        ({"generate": 5}, "generate must be a table of words, got 5"),
        ({"attraction": ["a", 0.5]}, "alpha must be numbers in a rectangular array"),
        ({"attraction": 5}, "alpha must have 1 axes"),
        (
            {"attraction": {"best": "x", "good": 0.5, "rest": 4, "bad": 0.1}},
            "best of attraction must be a whole number from 0 on, got 'x'",
        ),
        ({"attraction": {"best": 2, "good": 0.5, "rest": -1, "bad": 0.1}}, "rest of attraction .* got -1"),
        ({"intents": {"users": 0}}, "users must be a whole number from 1 on, got 0"),
        ({"intents": {"seed": []}}, "seed of intents is an empty list"),
        ({"intents": 5}, "intents must be a table of words, got 5"),
        ({**INTENTS, "clicks": "cascade"}, "a user with 'intents' takes no 'clicks'"),
        ({**INTENTS, "catalog": "items.parquet"}, "a catalog only beside fitted"),
        ({"fitted": "m", "clicks": "cascade"}, "a user with 'fitted' takes no 'clicks'"),
        ({"fitted": 3}, "fitted must be a name or the path of a file, got 3"),
        (
            {"dataset": "movielens-small", "preparation": {"topics": 3}},
            "preparation must be a table of words of prepare",
        ),
        ({"dataset": "movielens-small", "preparation": {"mood": 3}}, "preparation has no 'mood'; it has users, items"),
        ({"dataset": "movielens-small", "preparation": 5}, "preparation must be a table of words of prepare"),
        ({"dataset": "r.csv", "items_table": "i.csv", "columns": {"mood": "m"}}, "columns has no 'mood'; it has user"),
        ({"dataset": "movielens-small", "perfect_coverage": "x"}, "perfect_coverage must be true or false, got 'x'"),
        ({**BLOCKS, "drift": [{"from": 10, "mood": 1}]}, "a user has no 'mood'"),
        ({**BLOCKS, "drift": [{"attraction": [1.0]}]}, "from must be a whole number from 1 on, got None"),
        ({"fitted": "m", "drift": [{"from": 5, "catalog": "n"}]}, "does not drift"),
        *(({**BLOCKS, "drift": wrong}, "drift must be a list") for wrong in (5, [5], "ab")),
    ],
)
def test_what_makes_no_sense_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        world(words)


def test_users_in_context_have_their_own_tastes_in_each_situation() -> None:
    words = FrozenTable(
        {
            "generate": {"items": 20, "users": 6, "seed": 1},
            "context": {"factors": {"device": {"kind": "category", "levels": ["tv", "phone"]}}, "seed": 3},
        }
    )
    check_words(words)
    catalog, user = world_of(words, 3, 2, 6, 0, {})
    assert isinstance(user, InContext)
    seen = {user.context_at(step)["device"]: user.at(step) for step in range(40)}
    assert sorted(seen) == ["phone", "tv"]
    assert seen["tv"].best(3).tolist() != seen["phone"].best(3).tolist()
    policy = make_policy(
        "CascadeHybrid",
        catalog,
        k=3,
        steps=10,
        settings={"context": FrozenTable({"device": {"kind": "category", "levels": ["tv", "phone"]}})},
    )
    assert policy.context.names == ("device",)  # type: ignore[attr-defined]
    same = world_of(merged(words, {"context": {"matters": 0.0}}), 3, 2, 6, 0, {})[1]
    assert same.at(0).best(3).tolist() == same.at(9).best(3).tolist()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"matters": 1.0}, "must be a table of factors"),
        ("hour", "must be a table of factors"),
        ({"factors": {"hour": {"kind": "hour"}}, "amount": 1}, "has no 'amount'; it has factors, matters, hours, seed"),
        ({"factors": {"hour": {"kind": "minute"}}}, "a factor has a kind"),
        ({"factors": {"hour": {"kind": "hour"}}, "matters": 2}, "matters must be a number in"),
    ],
)
def test_contexts_of_users_that_make_no_sense(context: Any, said: str) -> None:
    words = FrozenTable({"generate": {"items": 20, "users": 2}, "context": context})
    with pytest.raises(ProblemError, match=said):
        world_of(words, 3, 0, 2, 0, {})


def test_clicks_on_a_sphere_may_be_logistic() -> None:
    sphere = {"items": 30, "features": 4, "seed": 2}
    catalog, linear = world({"sphere": sphere})
    again, logistic = world({"sphere": sphere, "logit": [-4, -1]})
    assert isinstance(linear, User)
    assert isinstance(logistic, User)
    np.testing.assert_array_equal(catalog.relevance, again.relevance)
    alpha, odds = linear.attraction.alone, logistic.attraction.alone
    assert alpha is not None
    assert odds is not None
    np.testing.assert_allclose(np.log(odds / (1 - odds)), -4 + 3 * alpha, atol=1e-12)


@pytest.mark.parametrize("logit", [[1, -1], [0, 0], [1], "steep", [0, "a"]])
def test_log_odds_that_make_no_sense(logit: Any) -> None:
    with pytest.raises(ProblemError, match="logit must be"):
        world({"sphere": {"items": 9}, "logit": logit})
