"""What policies are worth by a log, against simulated people whose every list has a known reward."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest

from rankfall import CascadeLinUCB, CascadeTS, Catalog, Rewards
from rankfall.arrays import FloatArray, IntArray
from rankfall.click_logs import read_click_log
from rankfall.errors import ProblemError
from rankfall.estimates import with_worth
from rankfall.history.evaluation import clicks_until, judge, learned_snapshot, saved_snapshot
from rankfall.history.judged_lists import judged_lists, moment_after
from rankfall.history.logged_outcomes import click_worth
from rankfall.history.replayable import ClickLogToReplay
from rankfall.users import Cascade, PerItem, User
from rankfall.users.fitting import draw_log, read_log
from rankfall.users.fitting.reward_model import best_fit, reward_model

ITEMS, K, LISTS = 6, 3, 6_000
ALPHA = np.array([0.1, 0.5, 0.2, 0.4, 0.3, 0.05])
USER = User(PerItem(ALPHA), Cascade())
CATALOG = Catalog(relevance=np.column_stack([np.ones(ITEMS), ALPHA]), ids=[f"i{n}" for n in range(ITEMS)])


def uniform_lists(seed: int = 0) -> IntArray:
    return np.argsort(np.random.default_rng(seed).random((LISTS, ITEMS)), axis=1)[:, :K]


def a_log(lists: IntArray, **chances: FloatArray) -> ClickLogToReplay:
    rows = draw_log(USER, lists, seed=1).with_columns(pl.format("i{}", "item").alias("item"))
    rows = rows.with_columns(pl.Series(name, values.ravel(), nan_to_null=True) for name, values in chances.items())
    return ClickLogToReplay("simulated", read_click_log(rows), CATALOG)


def uniform_log() -> ClickLogToReplay:
    given = np.broadcast_to(1.0 / (ITEMS - np.arange(K)), (LISTS, K))
    return a_log(uniform_lists(), propensity_given_above=given, propensity_at_position=np.full((LISTS, K), 1 / ITEMS))


def saved(gamma: float = 0.0) -> CascadeLinUCB:
    """A policy that has learned from the wrong people, so that its list is not the best."""
    policy = CascadeLinUCB(CATALOG, gamma=gamma)
    for row in (4, 2, 4, 0):
        policy.update(policy.rank(1, fixed={0: row}), 0)
    return policy


def test_estimates_from_lists_drawn_uniformly() -> None:
    log, policy = uniform_log(), saved()
    moment = moment_after(log, 0.5)
    fitted = best_fit(read_log(clicks_until(log, moment)), "any").fitted
    judged = judged_lists(log, moment)
    assert (judged.basis, len(judged)) == ("positions", LISTS // 2)
    found = judge(log, judged, saved_snapshot("saved", policy), "any", partial(reward_model, fitted, counted="any"))
    truth = USER.reward(policy.rank(K).items)
    for name in ("ips", "sn_ips", "rips", "sn_rips", "cascade_dr"):
        interval = found.estimates[name].interval  # type: ignore[index]
        assert abs(interval.value - truth) < 4 * interval.error, name
    assert found.estimates["direct"].value == pytest.approx(truth, abs=0.03)
    errors = {name: one.interval.error for name, one in found.estimates.items()}
    assert errors["cascade_dr"] < errors["rips"] < errors["ips"]
    assert found.agreed == pytest.approx([1 / 6, 1 / 30, 1 / 120], abs=0.03)


def test_a_policy_learns_from_the_first_part_only() -> None:
    log = uniform_log()
    moment = moment_after(log, 0.25)
    one = learned_snapshot(log, "mine", "CascadeUCB1", 1.0, moment)
    assert one.about == "as learned from the first 1,500 lists with feedback"
    assert one.policy_of("", CATALOG).n_updates == 1_500
    judged = judged_lists(log, moment)
    judge(log, judged, one, "any")
    assert one.policy_of("", CATALOG).n_updates == 1_500


def test_a_policy_that_draws_is_asked_often() -> None:
    log, policy = uniform_log(), CascadeTS(CATALOG)
    judged = judged_lists(log, moment_after(log, 0.5))
    found = judge(log, judged, saved_snapshot("drawn", policy), "clicks", draws=20)
    lists = np.array([policy.rank(K, rng=np.random.default_rng(n)).items for n in range(2_000)])
    truth = np.mean([USER.reward(one) for one in lists])
    interval = found.estimates["rips"].interval
    assert abs(interval.value - truth) < 4 * interval.error


def test_lists_without_chances_at_positions_leave_out_iips_and_are_counted() -> None:
    given = np.broadcast_to(1.0 / (ITEMS - np.arange(K)), (LISTS, K))
    alone = np.full((LISTS, K), 1 / ITEMS)
    alone[::4, 1] = np.nan
    for chances, said in ((alone, True), (np.full((LISTS, K), 1 / ITEMS), False), (np.full((LISTS, K), np.nan), False)):
        log = a_log(uniform_lists(), propensity_given_above=given, propensity_at_position=chances)
        judged = judged_lists(log, moment_after(log, 0.5))
        assert ("750 of the 3,000 lists that were judged lack propensity_at_position" in judged.notes[-1]) == said
        found = judge(log, judged, saved_snapshot("saved", saved()), "clicks")
        assert ("iips" in found.estimates) == (not np.isnan(chances).any())


def test_chances_of_whole_lists_give_ips_only() -> None:
    chance = np.full((LISTS, K), 1 / 120)
    log = a_log(uniform_lists(), propensity=chance)
    judged = judged_lists(log, moment_after(log, 0.5))
    assert judged.basis == "lists"
    assert "only IPS on whole lists" in judged.notes[-1]
    found = judge(log, judged, saved_snapshot("saved", saved()), "any")
    other = judge(uniform_log(), judged_lists(uniform_log(), 2_999), saved_snapshot("saved", saved()), "any")
    assert list(found.estimates) == ["ips", "sn_ips"]
    assert found.estimates["ips"].value == pytest.approx(other.estimates["ips"].value)


@pytest.mark.parametrize("counted", ["any", "clicks"])
def test_a_log_without_chance_gives_bounds_that_hold(counted: str) -> None:
    policy = saved()
    best = policy.rank(K).items
    lists = uniform_lists()
    lists[: LISTS // 2] = best  # of half of the lists the policy would have shown just those
    lists = lists[np.random.default_rng(3).permutation(LISTS)]
    log = a_log(lists)
    judged = judged_lists(log, moment_after(log, 0.5))
    assert judged.basis == "nothing"
    assert "randomize" in judged.notes[-1]
    found = judge(log, judged, saved_snapshot("saved", policy), counted)  # type: ignore[arg-type]
    assert not found.estimates
    assert found.bounds is not None
    truth = USER.reward(best)
    assert found.bounds.low.low < truth < found.bounds.high.high
    assert found.bounds.low.value > 0.4 * truth
    assert (found.by_item is not None) == (counted == "clicks")


VALUES = np.array([1.0, 2.0, 8.0, 0.5, 4.0, 3.0])
"""What a purchase of each item brings; every second click leads to one."""


def log_with_purchases(**chances: FloatArray) -> ClickLogToReplay:
    rows = draw_log(USER, uniform_lists(), seed=1)
    bought = np.random.default_rng(2).random(len(rows)) < 0.5
    amounts = np.where(rows["click"].to_numpy() & bought, VALUES[rows["item"].to_numpy()], 0.0)
    rows = rows.with_columns(pl.format("i{}", "item").alias("item"), pl.Series("outcome:purchase", amounts))
    rows = rows.with_columns(pl.Series(name, values.ravel()) for name, values in chances.items())
    return ClickLogToReplay("simulated", read_click_log(rows), CATALOG)


def true_worth(items: IntArray, click: float) -> float:
    """Down to the first click, which brings ``click`` and half of the value of a purchase."""
    alpha = ALPHA[items]
    clicked = alpha * np.cumprod(np.append(1.0, 1.0 - alpha[:-1]))
    return float(clicked @ (click + 0.5 * VALUES[items]))


def test_what_lists_are_worth_is_estimated() -> None:
    given = np.broadcast_to(1.0 / (ITEMS - np.arange(K)), (LISTS, K))
    log = log_with_purchases(propensity_given_above=given, propensity_at_position=np.full((LISTS, K), 1 / ITEMS))
    rewards, moment, policy = Rewards({"click": 0.25, "purchase": 1.0}), moment_after(log, 0.5), saved()
    judged = judged_lists(log, moment, rewards=rewards)
    worth = click_worth(log, moment, rewards)
    assert worth(CATALOG.ids) == pytest.approx(0.25 + 0.5 * VALUES, rel=0.2)
    fitted = best_fit(read_log(clicks_until(log, moment)), "clicks").fitted
    model = lambda ids: with_worth(reward_model(fitted, ids, "clicks"), worth(ids))  # noqa: E731
    found = judge(log, judged, saved_snapshot("saved", policy), "worth", model)
    truth = true_worth(policy.rank(K).items, 0.25)
    for name in ("ips", "rips", "sn_rips", "cascade_dr"):
        interval = found.estimates[name].interval  # type: ignore[index]
        assert abs(interval.value - truth) < 4 * interval.error, name
    assert found.estimates["direct"].value == pytest.approx(truth, rel=0.1)
    assert found.estimates["cascade_dr"].interval.error < found.estimates["rips"].interval.error
    lists = uniform_lists()[LISTS // 2 :]
    assert judged.earned("worth").value == pytest.approx(np.mean([true_worth(one, 0.25) for one in lists]), rel=0.1)
    with pytest.raises(ProblemError, match="nobody said what clicks and outcomes are worth"):
        judged_lists(log, moment).rewards("worth")


def test_worth_without_chance_has_no_bounds() -> None:
    log = log_with_purchases()
    judged = judged_lists(log, moment_after(log, 0.5), rewards=Rewards({"click": 0.0, "purchase": 1.0}))
    found = judge(log, judged, saved_snapshot("saved", saved()), "worth")
    assert found.bounds is None
    assert found.by_item is not None


def test_an_item_that_was_hardly_clicked_is_worth_the_average() -> None:
    rows = {"list": range(20), "position": [1] * 20, "item": ["i0"] * 19 + ["i1"], "click": [1] * 20}
    log = ClickLogToReplay(
        "log", read_click_log(pl.DataFrame({**rows, "outcome:purchase": [0.0] * 19 + [20.0]})), CATALOG
    )
    worth = click_worth(log, 19, Rewards({"click": 0.0, "purchase": 1.0}))
    assert worth(["i0", "i1", "i2"]).tolist() == pytest.approx(
        [10 / 29, 30 / 11, 1.0]
    )  # 20 by 20 clicks is 1 on average


def test_too_few_lists_are_refused() -> None:
    log = uniform_log()
    with pytest.raises(
        ProblemError, match=r"and 1 list can be used; two at least are needed\. Log for longer, or learn"
    ):
        judged_lists(log, LISTS - 2)
    strange = Catalog(relevance=CATALOG.relevance, ids=[f"other{n}" for n in range(ITEMS)])
    rows = draw_log(USER, uniform_lists()).with_columns(pl.format("i{}", "item").alias("item"))
    other = ClickLogToReplay("simulated", read_click_log(rows), strange)
    with pytest.raises(ProblemError, match=r"0 lists can be used.* 3,000 lists with items that are not in the catalog"):
        judged_lists(other, LISTS // 2 - 1)


def test_chances_at_positions_alone_are_told_to_be_of_no_use() -> None:
    log = a_log(uniform_lists(), propensity_at_position=np.full((LISTS, K), 1 / ITEMS))
    judged = judged_lists(log, moment_after(log, 0.5))
    assert judged.basis == "nothing"
    assert any("not used without propensity_given_above" in note for note in judged.notes)
