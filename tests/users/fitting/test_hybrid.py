"""Users with features and topics fitted to logs: recovered, most likely, by group, and kept in files."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hybrid_logs import (
    BETA,
    CATALOG,
    COVERAGE,
    DIVERSE,
    EXAMINATION,
    EXAMINED,
    FLAT,
    RELEVANCE,
    THETA,
    K,
    log_of,
    shown,
    with_people,
)
from scipy.optimize import minimize

from rankfall import Catalog, FileError, Hybrid, ProblemError, User, check_environment, fit_cascade
from rankfall.users import Cascade, PositionBased
from rankfall.users.fitting import Fitted, FittedHybrid, draw_log, fit_hybrid, read_fitted, read_log
from rankfall.users.fitting.hybrid_columns import Columns
from rankfall.users.fitting.hybrid_likelihood import Problem


def test_the_user_of_the_paper_is_recovered():
    """The mean over ten logs is within 4.5 standard errors of the truth, and single fits are close to it."""
    fits = [fit_hybrid(log_of(DIVERSE, 4000, seed), CATALOG, ridge=0.1) for seed in range(10)]
    assert all(fitted.converged for fitted in fits)
    for name, true in (("theta", THETA), ("beta", BETA), ("constant", np.zeros(()))):
        found = np.array([getattr(fitted, name)[0] for fitted in fits])
        spread = found.std(axis=0, ddof=1)
        assert (abs(found.mean(axis=0) - true) <= 4.5 * spread / np.sqrt(10) + 1e-3).all(), name
        assert spread.max() < 0.06


@pytest.mark.parametrize("model", ["examined_cascade", "position_based"])
def test_examination_is_recovered_beside_the_weights(model):
    user = EXAMINED if model == "examined_cascade" else User(EXAMINED.attraction, PositionBased(EXAMINATION))
    fitted = fit_hybrid(log_of(user, 30_000), CATALOG, model=model, ridge=0.1)
    np.testing.assert_allclose(fitted.examination, EXAMINATION, atol=0.05)
    np.testing.assert_allclose(fitted.theta[0], THETA, atol=0.08)
    np.testing.assert_allclose(fitted.beta[0], BETA, atol=0.08)


def test_topics_that_do_not_diminish_are_recovered():
    fitted = fit_hybrid(log_of(FLAT, 20_000), CATALOG, model="examined_cascade", attraction="topics", ridge=0.1)
    alone = np.clip(COVERAGE @ THETA + RELEVANCE @ BETA, 0, 1)
    np.testing.assert_allclose(fitted.user().attraction.alone, alone, atol=0.05)


def test_the_constant_is_the_click_rate_of_each_position():
    log = log_of(DIVERSE, 3000)
    fitted = fit_hybrid(log, CATALOG, model="examined_cascade", attraction="constant")
    cut = read_log(log).to_first_click()
    rate = np.bincount(cut.position, weights=cut.click) / np.bincount(cut.position)
    np.testing.assert_allclose(fitted.examination * fitted.constant[0], rate, rtol=1e-3)


@pytest.mark.parametrize("examined", [False, True])
def test_no_other_weights_are_more_likely(examined):
    """A general optimiser, which knows the value alone, finds nothing better from two other starts."""
    log = read_log(log_of(EXAMINED, 300)).to_first_click()
    problem = Problem.of(log, Columns.of("hybrid", COVERAGE, RELEVANCE), examined=examined)
    ours = problem.solve(3.0)
    places = problem.first.places
    free = np.flatnonzero(np.arange(K) != int(np.argmax(places))) if examined else np.arange(0)

    rows = list(itertools.pairwise(log.start))
    above = [np.prod(1 - COVERAGE[log.item[first:row]], axis=0) for first, last in rows for row in range(first, last)]
    phi = np.column_stack([np.array(above) * COVERAGE[log.item], RELEVANCE[log.item], np.ones(len(log.item))])

    def lost(point):
        weights, here, blur = point[:7], places.copy(), problem.blur
        here[free] = point[7:]
        u = phi @ weights
        s = blur * (np.logaddexp(0, u / blur) - np.logaddexp(0, (u - 1) / blur))
        p = np.exp(here[log.position]) * s
        right = np.where(log.click, p, 1 - p)
        if not (right > 0).all():
            return 1e9
        held = 0.5 * 3.0 * problem.precision @ weights**2 + 0.05 * np.sum((here - places) ** 2)
        return held - np.log(right).sum()

    at_ours = lost(np.concatenate([ours.columns, ours.places[free]]))
    first = np.concatenate([problem.first.columns, places[free]])
    for start in (first, first + 0.02):
        other = minimize(lost, start, method="L-BFGS-B", options={"maxfun": 20_000})
        assert at_ours <= other.fun + 1e-3
        if examined is False:
            assert at_ours == pytest.approx(other.fun, abs=0.05)


def test_a_clipped_user_is_recovered_too():
    """Half the items would attract with less than 0, and are never clicked."""
    user = User(Hybrid(COVERAGE, RELEVANCE, 2 * THETA, [-1.2, 0.4], 0.5), Cascade())
    assert user.attraction.share_clipped > 0.2
    fitted = fit_hybrid(log_of(user, 40_000), CATALOG, ridge=0.1)
    np.testing.assert_allclose(fitted.theta[0], THETA, atol=0.05)
    np.testing.assert_allclose(fitted.beta[0], [-0.6, 0.2], atol=0.07)
    lists = shown(200, 5)
    np.testing.assert_allclose(fitted.user().attraction.of(lists), user.attraction.of(lists), atol=0.04)


def test_a_ridge_holds_weights_to_0_and_is_chosen_by_what_it_predicts():
    log = log_of(DIVERSE, 500)
    sizes = [np.linalg.norm(fit_hybrid(log, CATALOG, ridge=ridge).theta) for ridge in (0.0, 10.0, 1000.0, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.01
    few, many = (fit_hybrid(log_of(DIVERSE, lists), CATALOG).ridge for lists in (40, 4000))
    assert many <= 100
    assert few >= many


def test_people_are_told_apart_and_those_with_few_lists_are_held_to_the_whole():
    other = User(Hybrid(COVERAGE, RELEVANCE, 2 * THETA[::-1], 2 * BETA, 0.5), Cascade())
    frame = with_people({"a": log_of(DIVERSE, 6000), "b": log_of(other, 6000, 1), "few": log_of(other, 5, 2)})
    fitted = fit_hybrid(frame, CATALOG, by="user", ridge=1.0, shrinkage=10.0)
    assert fitted.groups == ("", "a", "b", "few")
    assert fitted.people == ("a", "b", "few")
    assert fitted.group_lists.tolist() == [12_005, 6000, 6000, 5]
    np.testing.assert_allclose(fitted.theta[1], THETA, atol=0.08)
    np.testing.assert_allclose(fitted.theta[2], THETA[::-1], atol=0.08)
    held = fit_hybrid(frame, CATALOG, by="user", ridge=1.0, shrinkage=1e4)
    away = [np.abs(held.theta[n] - held.theta[0]).max() for n in (1, 2, 3)]
    assert away[2] < 0.01 < min(away[:2])
    train, test = read_log(frame, with_context=True).split(0.3)
    alone, by_user = (fit_hybrid(train, CATALOG, by=by, ridge=1.0).first_clicks(test).sum() for by in (None, "user"))
    assert by_user > alone + 10
    assert fitted.user(group="b").attraction_of([3])[0] == pytest.approx(other.attraction_of([3])[0], abs=0.1)
    with pytest.raises(ProblemError, match="no user 'c' among the 3 that were fitted"):
        fitted.user(group="c")
    with pytest.raises(ProblemError, match="which segment saw it"):
        fit_hybrid(frame, CATALOG, by="segment")


def test_segments_are_groups_too():
    frame = with_people({"phone": log_of(DIVERSE, 300), "desk": log_of(FLAT, 300, 1)}, "segment")
    assert fit_hybrid(frame, CATALOG, by="segment", ridge=1.0).groups == ("", "desk", "phone")


def test_a_constant_feature_takes_the_place_of_the_constant():
    log = log_of(DIVERSE, 2000)
    with_ones = Catalog(COVERAGE, np.column_stack([np.full(len(COVERAGE), 2.0), RELEVANCE]))
    own, added = (fit_hybrid(log, catalog, ridge=5.0) for catalog in (with_ones, CATALOG))
    assert own.constant[0] == 0.0
    assert 2.0 * own.beta[0, 0] == pytest.approx(added.constant[0], abs=1e-6)
    np.testing.assert_allclose(own.theta, added.theta, atol=1e-6)
    assert own.log_likelihood == pytest.approx(added.log_likelihood)


def test_lists_with_items_that_are_not_in_the_catalog_are_left_out():
    log = log_of(DIVERSE, 400)
    part = Catalog(COVERAGE[1:], RELEVANCE[1:], ids=range(1, len(COVERAGE)))
    fitted = fit_hybrid(log, part, ridge=1.0)
    left = log.filter((pl.col("item") == 0).any().over("list"))["list"].n_unique()
    assert (fitted.left_out, fitted.lists) == (left, 400 - left)
    assert 0 < fitted.perplexity(log).unknown < 0.05
    with pytest.raises(ProblemError, match="each of the 400 lists shows an item that the catalog of 1 does not have"):
        fit_hybrid(log, Catalog([[0.5]], [[1.0]], ids=[99]))
    with pytest.raises(ProblemError, match="items of the log are Int64, ids of the catalog text"):
        fit_hybrid(log, Catalog([[0.5]], [[1.0]], ids=["a"]))


def test_what_makes_no_sense_is_refused():
    for words, said in (
        ({"model": "dependent_click"}, "model must be one of cascade, examined_cascade, position_based"),
        ({"attraction": "item"}, "attraction must be one of hybrid, topics, features, constant, got 'item'"),
        ({"by": "country"}, "by must be one of None, user, segment"),
        ({"ridge": -1.0}, "ridge must be a number"),
    ):
        with pytest.raises(ProblemError, match=said):
            fit_hybrid(log_of(DIVERSE, 10), CATALOG, **words)


@pytest.mark.parametrize("click", [0, 1])
def test_logs_without_any_click_and_with_nothing_but_clicks(click):
    frame = log_of(DIVERSE, 50).with_columns(pl.lit(click).alias("click"))
    for model in ("cascade", "examined_cascade", "position_based"):
        fitted = fit_hybrid(frame, CATALOG, model=model, ridge=10.0)
        assert np.isfinite(fitted.first_clicks(frame)).all()
        assert np.isfinite(fitted.theta).all()


@pytest.mark.parametrize("attraction", ["hybrid", "topics", "features", "constant"])
@pytest.mark.parametrize("model", ["cascade", "examined_cascade", "position_based"])
def test_the_fitted_user_keeps_the_contract_and_predicts_as_the_model_does(attraction, model):
    log = log_of(EXAMINED, 800)
    fitted = fit_hybrid(log, CATALOG, model=model, attraction=attraction, ridge=10.0)
    user = fitted.user(3)
    check_environment(user, trials=2000)
    lists = shown(50, 9)[:, :3]
    drawn = read_log(draw_log(user, lists))
    np.testing.assert_allclose(user.attraction.of(lists).ravel(), fitted.attraction_of(drawn)[0], atol=1e-12)


def test_a_fit_comes_back_from_its_file_bit_for_bit(tmp_path):
    frame = with_people({"a": log_of(DIVERSE, 200), "ü": log_of(DIVERSE, 200, 1)})
    names = ["log_price", "7", "age"][: RELEVANCE.shape[1]]
    titles = [f"item {n}" for n in range(len(COVERAGE))]
    titled = Catalog(COVERAGE, RELEVANCE, titles=titles, topics=list("abcd"), features=names)
    fitted = fit_hybrid(frame, titled, model="examined_cascade", by="user", ridge=1.0, shrinkage=5.0)
    path = tmp_path / "user.parquet"
    fitted.write_parquet(path)
    again = read_fitted(path)
    assert isinstance(again, FittedHybrid)
    assert repr(again) == repr(fitted)
    for name, value in vars(fitted).items():
        other = getattr(again, name)
        if isinstance(value, np.ndarray):
            assert value.tobytes() == other.tobytes(), name
        else:
            assert other == value, name
    fit_cascade(frame).write_parquet(path)
    assert isinstance(read_fitted(path), Fitted)


def test_a_file_of_before_features_had_names_is_read(tmp_path):
    path = tmp_path / "user.parquet"
    named = Catalog(COVERAGE, RELEVANCE, features=[f"name {j}" for j in range(RELEVANCE.shape[1])])
    fitted = fit_hybrid(log_of(DIVERSE, 100), named, ridge=1.0)
    fitted.write_parquet(path)
    words = json.loads(pl.read_parquet_metadata(path)["rankfall.fitted_hybrid"])
    del words["features"]
    table = fitted.frame()
    assert "relevance:name 0" in table.columns
    table = table.rename({f"relevance:name {j}": f"relevance:{j}" for j in range(RELEVANCE.shape[1])})
    table.write_parquet(path, metadata={"rankfall.fitted_hybrid": json.dumps(words)})
    again = read_fitted(path)
    assert again.catalog.features == tuple(f"feature {j}" for j in range(RELEVANCE.shape[1]))
    assert again.beta.tobytes() == fitted.beta.tobytes()


def test_files_that_are_no_such_user_are_refused_in_words(tmp_path):
    path = tmp_path / "user.parquet"
    fitted = fit_hybrid(log_of(DIVERSE, 100), CATALOG, ridge=1.0)
    for change, said in (
        ({"format": 9}, "its format is 9, expected 1"),
        ({"model": "guess"}, "its model is 'guess', expected one of cascade"),
        ({"examination": [2.0]}, "examination is not a probability"),
        ({"table": fitted.frame().filter(pl.col("row") == "item")}, "weights of the whole first"),
        ({"table": fitted.frame().drop("views")}, "views"),
    ):
        fitted.write_parquet(path)
        words = json.loads(pl.read_parquet_metadata(path)["rankfall.fitted_hybrid"]) | change
        table = words.pop("table", fitted.frame())
        table.write_parquet(path, metadata={"rankfall.fitted_hybrid": json.dumps(words)})
        with pytest.raises(FileError) as caught:
            read_fitted(path)
        assert said in str(caught.value)
    log_of(DIVERSE, 10).write_parquet(path)
    with pytest.raises(FileError, match="holds no fitted"):
        FittedHybrid.read_parquet(path)
    with pytest.raises(FileError, match="does not exist"):
        read_fitted(tmp_path / "none.parquet")
