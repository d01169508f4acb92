"""Declarations of contexts and of features of candidates: what they make of values, and what they refuse."""

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import Category, Context, Hour, Number, ProblemError, RankError, RequestFeatures, Weekday

NAMES = st.text("abc xyz_é=", min_size=1, max_size=6)
FACTORS = st.one_of(
    st.builds(
        Number,
        centre=st.floats(-100, 100),
        scale=st.floats(0.01, 100),
        limit=st.floats(0.5, 10),
    ),
    st.builds(Category, st.lists(st.text(min_size=0, max_size=4), min_size=1, max_size=5, unique=True)),
    st.builds(Hour, harmonics=st.integers(1, 3)),
    st.builds(Weekday),
)
CONTEXTS = st.dictionaries(NAMES, FACTORS, min_size=1, max_size=4).map(Context)


def value_for(factor: Any) -> st.SearchStrategy[Any]:
    if isinstance(factor, Number):
        return st.floats(-1e6, 1e6)
    if isinstance(factor, Category):
        return st.sampled_from([*factor.levels, "something else"])
    return st.floats(0, factor.period)


@given(CONTEXTS, st.data())
def test_every_context_has_bounded_numbers_of_which_the_first_is_1(context: Context, data: st.DataObject) -> None:
    values = {
        name: data.draw(value_for(factor)) for name, factor in context.factors.items() if data.draw(st.booleans())
    }
    c = context.encode(values)
    assert c.shape == (len(context.columns),) == context.belongs.shape
    assert c[0] == 1.0
    for i, (name, factor) in enumerate(context.factors.items(), 1):
        own = c[context.belongs == i]
        assert len(own) == len(factor.columns(name))
        limit = factor.limit if isinstance(factor, Number) else 1.0
        assert np.abs(own).max() <= limit
        if name not in values:
            assert not own.any()
    assert context.encode(dict.fromkeys(context.factors)).tolist() == context.encode(None).tolist()


@given(CONTEXTS)
def test_a_context_goes_through_json_copies_and_processes(context: Context) -> None:
    again = Context(json.loads(json.dumps(context.to_json())))
    assert again == context
    assert hash(again) == hash(context)
    assert again.columns == context.columns
    assert pickle.loads(pickle.dumps(context)) == context
    assert copy.deepcopy(context) is context


def test_what_each_kind_makes_of_a_value() -> None:
    context = Context(
        {
            "price": Number(centre=20, scale=10, limit=2),
            "device": Category(["mobile", "true", "7"]),
            "hour": Hour(harmonics=2),
            "day": Weekday(),
        }
    )
    turn = 2 * math.pi * 3 / 7
    by_hand = [1, 0.5, 1, 0, 0, 1, 0, 0, -1, math.sin(turn), math.cos(turn)]
    found = context.encode({"price": 25, "device": "mobile", "hour": 6, "day": 3})
    np.testing.assert_allclose(found, by_hand, atol=1e-15)
    assert context.columns == (
        *("1", "price", "device=mobile", "device=true", "device=7"),
        *("hour sin", "hour cos", "hour sin 2x", "hour cos 2x", "day sin", "day cos"),
    )
    assert context.encode({"price": -1e300})[1] == -2.0
    assert context.encode({"device": True})[2:5].tolist() == [0, 1, 0]
    assert context.encode({"device": 7})[2:5].tolist() == [0, 0, 1]
    assert context.encode({"device": "watch"}).tolist() == context.encode({}).tolist()
    np.testing.assert_allclose(context.encode({"hour": 24}), context.encode({"hour": 0}), atol=1e-15)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"weather": "rain"}, "no factor 'weather'; it has price, device, hour"),
        ({"price": math.nan}, "'price' of the context: a number must be a number"),
        ({"price": "cheap"}, "'price' of the context"),
        ({"price": True}, "'price' of the context"),
        ({"device": 1.5}, "'device' of the context: a category must be a text, got 1.5"),
        ({"device": ["mobile"]}, "a category must be a text"),
        ({"hour": 25}, "hour must be from 0 to 24, got 25"),
        ({"hour": -1}, "'hour' of the context: an hour must be a number"),
        ({"hour": "8am"}, "'hour' of the context"),
        ([("hour", 8)], "values of the context must be given by name, got list"),
    ],
)
def test_bad_values_are_named(values: Any, said: str) -> None:
    context = Context({"price": Number(), "device": Category(["mobile"]), "hour": Hour()})
    with pytest.raises(RankError, match=said):
        context.encode(values)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({}, "at least one"),
        (["hour"], "must map names to their kinds"),
        ({"hour": "hour"}, "'hour' of a context: a factor has a kind, one of number, category, hour, weekday"),
        ({"hour": {"kind": "minute"}}, "one of number, category, hour, weekday"),
        ({"hour": {"kind": "hour", "period": 12}}, "has no 'period'; it has harmonics"),
        ({"hour": {"kind": "hour", "harmonics": 9}}, "harmonics must be a whole number from 1 to 6, got 9"),
        ({"device": {"kind": "category"}}, "needs levels"),
        ({"device": {"kind": "category", "levels": []}}, "at least one"),
        ({"device": {"kind": "category", "levels": ["a", "a"]}}, "different texts"),
        ({"device": {"kind": "category", "levels": [1]}}, "levels must be texts, got 1"),
        ({"device": {"kind": "category", "levels": "mobile"}}, "list of texts, got 'mobile'"),
        ({"price": {"kind": "number", "scale": 0}}, "scale must be above 0"),
        ({"price": {"kind": "number", "limit": 0}}, "limit must be above 0"),
        ({"price": {"kind": "number", "centre": math.inf}}, "centre must be a number"),
        ({"": Hour()}, "printable texts, got ''"),
        ({"a\nb": Hour()}, "printable texts"),
        ({"city": Category([str(n) for n in range(100)])}, "101 columns, 100 at most"),
    ],
)
def test_bad_declarations_are_refused(factors: Any, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        Context(factors)


def test_features_of_candidates() -> None:
    declared = RequestFeatures({"bm25": Number(scale=10.0), "km": {"centre": 5, "scale": 5, "limit": 1}})
    assert declared.names == ("bm25", "km")
    assert declared.encode({"bm25": 21}).tolist() == [2.1, 0.0]
    assert declared.encode({"km": 100, "bm25": None}).tolist() == [0.0, 1.0]
    assert declared.encode_all([[21, 5], [0, -100]]).tolist() == [[2.1, 0.0], [0.0, -1.0]]
    assert RequestFeatures(json.loads(json.dumps(declared.to_json()))) == declared
    assert pickle.loads(pickle.dumps(declared)) == declared
    assert declared != Context({"bm25": Number(scale=10.0), "km": Number(5, 5, 1)})
    for values, said in [
        ({"age": 1}, "no feature of candidates 'age'; it has bm25, km"),
        ({"km": math.nan}, "feature 'km' of a candidate"),
        (3, "given by name, got int"),
    ]:
        with pytest.raises(RankError, match=said):
            declared.encode(values)  # type: ignore[arg-type]
    with pytest.raises(RankError, match="have 1 columns; declared are bm25, km"):
        declared.encode_all([[1.0]])
    with pytest.raises(RankError, match="holds nan"):
        declared.encode_all([[1.0, math.nan]])
    with pytest.raises(ProblemError, match="must be numbers, and 'device' is a category"):
        RequestFeatures({"device": Category(["a"])})  # type: ignore[dict-item]
