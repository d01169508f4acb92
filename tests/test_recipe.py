"""Features from values: the same whenever they are made, whole columns or one item, before and after saving."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfall import Catalog, CatalogError
from rankfall.recipe import Category, Constant, Embedding, Factors, Number, Recipe

numbers = st.floats(-1e6, 1e6)
scales = st.floats(1e-3, 1e6)
recipes = st.builds(
    lambda price, unit, levels, weight, factors: Recipe(
        (
            Constant(),
            price,
            Number("age", center=1.0, scale=2.0, log_unit=unit),
            Category("brand", tuple(levels)),
            Embedding("image", (0.5, -0.5), 2.0, ((0.6, 0.8),)),
        ),
        weight,
        {"war": 0.25},
        Factors(tuple((float(j), -0.5) for j in range(len(levels) + 6)), ("war",)) if factors else None,
    ),
    st.builds(Number, st.just("price"), center=numbers, scale=scales),
    st.none() | scales,
    st.lists(st.text(max_size=3), max_size=3, unique=True),
    st.floats(0.01, 10.0),
    st.booleans(),
)
items = st.fixed_dictionaries(
    {},
    optional={
        "price": st.none() | numbers,
        "age": st.none() | st.floats(0, 1e6),
        "brand": st.none() | st.text(max_size=3),
        "image": st.none() | st.tuples(numbers, numbers).map(list),
    },
)


@given(recipes, st.lists(items, max_size=4), st.data())
def test_one_item_has_the_features_it_has_among_others(recipe: Recipe, given: list, data: st.DataObject) -> None:
    again = Recipe.decode(recipe.encode())
    assert again == recipe
    assert again.digest == recipe.digest
    topics = [data.draw(st.sampled_from([(), ("war",), ("art", "war")])) for _ in given]
    together = recipe.relevance(given, topics)
    assert together.shape == (len(given), len(recipe.features))
    for row, values in enumerate(given):
        alone = again.relevance([values], [topics[row]])[0]
        np.testing.assert_allclose(alone, together[row], rtol=1e-12, atol=1e-12)


@given(recipes, items, items)
def test_a_change_of_some_values_changes_their_features_and_keeps_factors(recipe: Recipe, old: dict, new: dict) -> None:
    before = recipe.relevance([old])[0]
    after = recipe.changed(before, new)
    factors = 0 if recipe.factors is None else len(recipe.factors.features)
    own = len(before) - factors
    expected = recipe.relevance([{**old, **new}])[0]
    np.testing.assert_allclose(after[:own], expected[:own], rtol=1e-12, atol=1e-12)
    assert after[own:].tolist() == before[own:].tolist()


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20, unique=True), st.floats(0.1, 10), st.floats(-100, 100))
def test_other_units_make_no_difference(values: list[float], factor: float, shift: float) -> None:
    """Scaled by mean and deviation, by the book; a column in cents says what one in euros says."""

    def scaled(column: np.ndarray) -> np.ndarray:
        rule = Number("price", center=float(column.mean()), scale=float(column.std()))
        return rule.values(column.tolist())[:, 0]

    column = np.array(values)
    if column.std() > 1e-3:
        book = np.clip((column - column.mean()) / column.std(), -3, 3)
        np.testing.assert_allclose(scaled(column), book, atol=1e-9)
        np.testing.assert_allclose(scaled(column * factor + shift), book, atol=1e-4)


def test_what_is_wrong_is_said() -> None:
    recipe = Recipe(
        (Number("price", 1.0, 1.0, log_unit=1.0), Category("brand", ()), Embedding("image", (0.0, 0.0), 1.0))
    )
    for values, message in [
        ({"prize": 1}, "no column 'prize'; the catalog was built from: price, brand, image"),
        ({"price": "12"}, "price is '12'; expected a finite number"),
        ({"price": float("inf")}, "price is inf"),
        ({"price": -1}, "price is -1; expected 0 or more"),
        ({"brand": ["a"]}, "brand is .'a'.; expected a name"),
        ({"image": [1.0]}, "expected a list of 2 numbers"),
        ({"image": [1.0, "x"]}, "finite numbers only"),
    ]:
        with pytest.raises(CatalogError, match=message):
            recipe.relevance([values])
    with pytest.raises(CatalogError, match="cannot read"):
        Recipe.decode(msgspec.json.encode({"rules": [{"type": "wave"}]}))
    with pytest.raises(CatalogError, match="the recipe gives features"):
        Catalog(relevance=[[1.0]], features=["a"], recipe=Recipe((Constant(),)))
