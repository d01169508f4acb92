"""Rules of a model and of a request, in every kind of list that a service shows; and attributes in the journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import START, FakeClock, Quiet, make_model, open_engine, patch
from plain_rules import broken_at
from zero_one_zero import execute, unpack_store

from rankfall import Apart, AtLeast, AtMost, CascadeHybrid, Catalog, Only, RankError
from rankfall.errors import InvalidError, JournalError
from rankfall.history.export import export
from rankfall.history.exported import Log
from rankfall.history.replay import replay
from rankfall.journal import entries
from rankfall.journal.catalogs import encode_catalog
from rankfall.service.commands import PatchItem, PutItems
from rankfall.service.events import digest_of
from rankfall.service.items import checked_patch
from rankfall.service.template import changed, policy_of
from rankfall.stores import Event
from rankfall.wire import ItemPatch, ModelSettings, RankRequest, convert
from rankfall.wire.rules import Rule, rule_to_json

DAY = 86400.0
ITEMS = 12
BRANDS = ["a", "b", "c", None] * 3
STOCK = [n % 4 != 3 for n in range(ITEMS)]
DAYS = [START - n * DAY for n in range(ITEMS)]
IN_STOCK = Only(attribute="in_stock", value=True)
ONE_EACH = AtMost(n=1, attribute="brand")


def shop() -> Catalog:
    rng = np.random.default_rng(11)
    return Catalog(
        np.round(rng.random((ITEMS, 2)), 2),
        np.round(rng.random((ITEMS, 2)), 2),
        ids=[f"i{n}" for n in range(ITEMS)],
        topics=["x", "y"],
        attributes={"brand": BRANDS, "in_stock": STOCK, "published_at": DAYS},
    )


def rows_of(event: Event) -> list[int]:
    return [int(item["id"][1:]) for item in json.loads(event.response)["items"]]


def told(event: Event) -> dict[str, Any]:
    return dict(json.loads(event.response))


def plain(*rules: Rule) -> list[dict[str, Any]]:
    return [rule_to_json(rule) for rule in rules]


@pytest.fixture
def engine(place: str, clock: FakeClock) -> Iterator[Quiet]:
    opened = open_engine(place, clock)
    opened.write(PutItems(encode_catalog(shop()), replace=True))
    yield opened
    opened.stop()


def test_the_rules_of_a_model_and_of_a_request_hold_together(engine: Quiet) -> None:
    make_model(engine, k=4, rules=plain(IN_STOCK))
    first = engine.rank_now(rules=[ONE_EACH])
    rows = rows_of(first)
    expected = CascadeHybrid(shop(), gamma=1.0).rank(4, rules=[IN_STOCK, ONE_EACH])
    assert rows == expected.items.tolist()
    assert (np.frombuffer(first.features or b"").reshape(4, -1) == expected.features).all()
    assert "relaxed" in told(first)  # there are three brands in stock, and four positions
    assert [one["position"] for one in told(first)["relaxed"]] == [4]
    assert told(first)["relaxed"][0]["rule"] == {"kind": "at_most", "attribute": "brand", "n": 1}
    assert told(first)["relaxed"][0]["words"] == "at most 1 of each brand"
    second = engine.rank_now()
    assert not broken_at(IN_STOCK, STOCK, rows_of(second))
    assert "relaxed" not in told(second)
    assert "held_back" not in told(second)


def test_rules_can_be_changed_at_any_time_and_taken_away(engine: Quiet) -> None:
    make_model(engine, k=3)
    free = rows_of(engine.rank_now())
    patch(engine, rules=plain(Only(attribute="brand", value="a")))
    assert sorted(rows_of(engine.rank_now())) == [0, 4, 8]
    patch(engine, rules=[])
    assert rows_of(engine.rank_now()) == free


def test_a_list_is_as_long_as_what_the_filters_leave(engine: Quiet) -> None:
    make_model(engine, k=5)
    short = engine.rank_now(rules=[Only(attribute="brand", value="a"), IN_STOCK])
    assert sorted(rows_of(short)) == [0, 4, 8]
    assert "relaxed" not in told(short)
    nothing_left = engine.rank_now(rules=[Only(attribute="brand", value="none")], k=3)
    assert len(rows_of(nothing_left)) == 3
    assert [one["position"] for one in told(nothing_left)["relaxed"]] == [1, 2, 3]
    assert len(rows_of(engine.rank_now(rules=[IN_STOCK], candidates=["i0", "i1", "i3"]))) == 2


def test_explain_says_who_was_held_back_by_which_rule(engine: Quiet) -> None:
    make_model(engine, k=4)
    best = rows_of(engine.rank_now(k=1))[0]
    rule = AtMost(n=0, attribute="brand", value=BRANDS[best] or "a")
    explained = told(engine.rank_now(rules=[rule], explain=True))
    assert explained["held_back"][0] == {
        "position": 1,
        "id": f"i{best}",
        "score": explained["held_back"][0]["score"],
        "rule": rule_to_json(rule),
        "words": str(rule),
    }
    assert explained["held_back"][0]["score"] > explained["items"][0]["score"]
    assert "held_back" not in told(engine.rank_now(rules=[rule]))


def test_a_pin_wins_and_is_told(engine: Quiet) -> None:
    make_model(engine, k=3, pinned=[{"id": "i3", "position": 1}], rules=plain(IN_STOCK))
    event = engine.rank_now()
    assert rows_of(event)[0] == 3
    assert [(one["position"], one["words"]) for one in told(event)["relaxed"]] == [(1, "only in_stock = true")]


@pytest.mark.parametrize("mode", ["apprentice", "logging_only"])
def test_the_order_of_the_caller_is_kept_but_for_what_rules_pass_over(engine: Quiet, mode: str) -> None:
    make_model(engine, k=3, mode=mode, rules=plain(ONE_EACH, IN_STOCK))
    event = engine.rank_now(baseline=["i3", "i4", "i0", "i1", "i5", "i2"])
    assert rows_of(event) == [4, 1, 2]
    assert "relaxed" not in told(event)
    assert (event.features is not None) == (mode == "apprentice")
    assert rows_of(engine.rank_now(baseline=["i4", "i0"])) == [4, 0]
    assert told(engine.rank_now(baseline=["i4", "i0"]))["relaxed"][0]["position"] == 2
    assert rows_of(engine.rank_now()) == [0, 1, 2]


def test_control_lists_keep_rules(engine: Quiet) -> None:
    make_model(engine, k=3, control=1.0, rules=plain(ONE_EACH, IN_STOCK))
    assert rows_of(engine.rank_now(baseline=["i0", "i4", "i1", "i5", "i2"])) == [0, 1, 2]
    for _ in range(20):
        event = engine.rank_now()
        assert (event.arm, told(event)["policy"]) == ("control", "random")
        assert not broken_at(ONE_EACH, BRANDS, rows_of(event))
        assert not broken_at(IN_STOCK, STOCK, rows_of(event))


def test_a_policy_that_fails_gives_the_baseline_under_rules(engine: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    make_model(engine, k=3, rules=plain(IN_STOCK))

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(CascadeHybrid, "choose", fail)
    event = engine.rank_now(baseline=["i3", "i7", "i1", "i2", "i0"])
    assert (event.arm, rows_of(event)) == ("fallback", [1, 2, 0])


def every_list(rules: list[Rule], k: int) -> dict[tuple[int, ...], float]:
    """How likely each list is, if at every position all that keeps the rules is equally likely. In plain Python."""
    chances: dict[tuple[int, ...], float] = {(): 1.0}
    values = {"brand": BRANDS, "in_stock": STOCK}
    for _ in range(k):
        longer: dict[tuple[int, ...], float] = {}
        for rows, chance in chances.items():
            allowed = [
                row
                for row in range(ITEMS)
                if row not in rows and not any(broken_at(rule, values[rule.attribute], [*rows, row]) for rule in rules)
            ]
            longer |= {(*rows, row): chance / len(allowed) for row in allowed}
        chances = longer
    return chances


@pytest.mark.parametrize("rules", [[ONE_EACH], [IN_STOCK], [IN_STOCK, ONE_EACH, Apart(attribute="brand", within=2)]])
def test_the_propensity_of_random_lists_is_what_it_says(engine: Quiet, rules: list[Rule]) -> None:
    make_model(engine, k=2, randomize=0.9, rules=plain(*rules))
    make_model(engine, "control", k=2, control=1.0, rules=plain(*rules))
    chances = every_list(rules, 2)
    greedy = tuple(CascadeHybrid(shop(), gamma=1.0).rank(2, rules=rules).items.tolist())
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(300):
        event = engine.rank_now()
        rows = tuple(rows_of(event))
        seen[rows] += 1
        assert event.propensity == pytest.approx(0.9 * chances[rows] + (0.1 if rows == greedy else 0.0))
        top = 0.9 * sum(chance for other, chance in chances.items() if other[0] == rows[0]) + 0.1 * (
            rows[0] == greedy[0]
        )
        said = json.loads(event.request or "")["chances"]["given_above"]
        assert said == pytest.approx([top, event.propensity / top])
    assert len(seen) > 20
    for _ in range(20):
        event = engine.rank_now("control")
        assert event.propensity == pytest.approx(chances[tuple(rows_of(event))])


def test_a_list_that_rules_make_certain_has_propensity_one(engine: Quiet) -> None:
    make_model(engine, k=2, rules=plain(ONE_EACH))
    assert engine.rank_now().propensity == 1.0
    make_model(engine, "drawn", k=2, policy="CascadeHybridTS", rules=plain(ONE_EACH))
    assert engine.rank_now("drawn").propensity is None


def test_what_is_new_moves_with_the_clock(engine: Quiet, clock: FakeClock) -> None:
    make_model(engine, k=3, rules=plain(AtLeast(n=2, attribute="published_at", op="newer_than", value="3d", first=2)))
    assert set(rows_of(engine.rank_now())[:2]) <= {0, 1, 2, 3}
    clock.now += 3 * DAY
    event = engine.rank_now()
    assert 0 in rows_of(event)[:2]
    assert [one["position"] for one in told(event)["relaxed"]] == [2]
    clock.now -= 3 * DAY
    assert "relaxed" not in told(engine.rank_now())


def test_a_list_of_before_is_not_served_under_other_rules(engine: Quiet) -> None:
    """Policies that do not draw give the list of before until they learn; not if the rules are others."""
    make_model(engine, k=3)
    lists = [rows_of(engine.rank_now(rules=rules)) for rules in (None, [ONE_EACH], None, [IN_STOCK], [ONE_EACH])]
    policy = CascadeHybrid(shop(), gamma=1.0)
    expected = [policy.rank(3, rules=r).items.tolist() for r in ([], [ONE_EACH], [], [IN_STOCK], [ONE_EACH])]
    assert lists == expected


# What does not fit


def test_a_request_with_a_rule_about_nothing_is_refused(engine: Quiet) -> None:
    make_model(engine)
    with pytest.raises(RankError, match="no item has the attribute 'brnd'; there are brand, in_stock, published_at"):
        engine.rank_now(rules=[AtMost(n=1, attribute="brnd")])
    with pytest.raises(RankError, match="compares text with 'in_stock', which is true or false"):
        engine.rank_now(rules=[Only(attribute="in_stock", value="true")])


def test_settings_that_cannot_keep_rules_are_refused() -> None:
    settings = convert(ModelSettings, {"policy": "CascadeUCB1", "rules": plain(ONE_EACH)})
    policy_of(settings, shop())
    with pytest.raises(InvalidError, match="no item has the attribute 'colour'") as caught:
        changed(settings, {"rules": plain(ONE_EACH, Apart(attribute="colour", within=2))}, shop())
    assert caught.value.where == "body.rules.1"
    with pytest.raises(InvalidError, match="the lists of DCMKLUCB cannot keep rules: it moves the items") as caught:
        policy_of(convert(ModelSettings, {"policy": "DCMKLUCB", "rules": plain(ONE_EACH)}), shop())
    assert caught.value.where == "body.rules"


def test_an_attribute_that_is_gone_lets_its_filter_go_and_says_so(engine: Quiet) -> None:
    make_model(engine, k=2, rules=plain(IN_STOCK))
    bare = shop().with_attributes({"brand": BRANDS})
    engine.write(PutItems(encode_catalog(bare)))
    event = engine.rank_now()
    assert len(rows_of(event)) == 2
    assert [one["words"] for one in told(event)["relaxed"]] == ["only in_stock = true"] * 2


# The log


def test_attributes_are_patched_and_survive_a_restart(engine: Quiet, place: str, clock: FakeClock) -> None:
    make_model(engine, k=3, rules=plain(IN_STOCK))

    def change(item: str, **attributes: Any) -> None:
        engine.write(PatchItem(item, checked_patch(engine.state.items, item, ItemPatch(attributes=attributes))))

    for n in range(ITEMS):
        change(f"i{n}", in_stock=n in (2, 3), price=n * 1.5)
    change("i2", brand=None)
    assert sorted(rows_of(engine.rank_now())) == [2, 3]
    engine.fold()
    assert engine.catalog.attributes.of_row(2) == {"in_stock": True, "published_at": DAYS[2], "price": 3.0}
    engine.checkpoint()
    again = open_engine(place, clock)  # from the checkpoint
    assert again.catalog == engine.catalog
    assert sorted(rows_of(again.rank_now())) == [2, 3]
    again.stop()
    execute(place, "DELETE FROM checkpoints")
    folded = open_engine(place, clock)  # from the journal
    assert folded.catalog == engine.catalog
    folded.stop()


def test_an_entry_says_only_what_changes(engine: Quiet, place: str) -> None:
    make_model(engine)
    engine.write(PatchItem("i1", ItemPatch(attributes={"in_stock": False})))
    patch(engine, rules=plain(ONE_EACH))
    bodies = [json.loads(body) for (body,) in execute(place, "SELECT body FROM journal ORDER BY 1")]
    assert {"patch": {"id": "i1", "attributes": {"in_stock": False}}} in bodies
    assert {"rules": [{"kind": "at_most", "attribute": "brand", "n": 1}]} in bodies
    assert (
        sum("rules" in body for body in bodies) == 1
    )  # not in the model that was made without: older versions read it


def test_rules_of_the_future_stop_learning_and_nothing_else() -> None:
    from rankfall.journal.fold import settings_of

    record = entries.decode("settings", 1, '{"rules": [{"kind": "every_other", "attribute": "brand"}]}')
    assert isinstance(record, entries.SettingsChanged)
    with pytest.raises(JournalError, match="settings that this version does not have"):
        settings_of(record, ModelSettings())


def test_a_store_of_0_1_0_takes_attributes_and_rules(place: str) -> None:
    known = unpack_store(place)
    engine = open_engine(place, FakeClock())
    items = known["catalog"]
    for n, item in enumerate(items):
        patch_ = checked_patch(engine.state.items, item, ItemPatch(attributes={"side": "left" if n % 2 else "right"}))
        engine.write(PatchItem(item, patch_))
    rule = Only(attribute="side", value="left")
    patch(engine, "shared", rules=plain(rule))
    event = engine.rank_now("shared", k=2)
    sides = [engine.catalog.attributes["side"][engine.catalog.row_of[one["id"]]] for one in told(event)["items"]]
    assert set(sides) == {"left"}
    assert engine.feed_now((event.id, 1))[0].result == "accepted"
    engine.stop()


def test_an_export_has_attributes_and_rules_and_a_replay_keeps_them(
    engine: Quiet, tmp_path: Path, clock: FakeClock
) -> None:
    make_model(engine, k=3, gamma=0.5, rules=plain(IN_STOCK))
    newest = AtLeast(n=1, attribute="published_at", op="newer_than", value="2d", first=1)
    rng = np.random.default_rng(3)
    for n in range(30):
        clock.now += 3600.123456789
        if n == 10:
            patch(engine, rules=plain(ONE_EACH))
            engine.write(PatchItem("i0", ItemPatch(attributes={"brand": "z", "published_at": clock.now})))
        event = engine.rank_now(rules=[newest] if n % 3 == 0 else None)
        engine.feed_now((event.id, int(rng.integers(1, 4)) if n % 4 else None))
    engine.fold()
    export(engine.store, tmp_path)
    log = Log(tmp_path)
    versions = log.events()["catalog_version"].unique(maintain_order=True).to_list()
    assert len(versions) == 2
    assert log.catalog(versions[0]) == shop()
    newer = log.catalog(versions[1])
    assert newer is not None
    assert newer.attributes == engine.catalog.attributes
    again = replay(log, "CascadeHybrid", 0.5)
    assert (again.counts.ranked, again.counts.same_list) == (30, 30)
    assert again.notes == ()
    other = replay(log, "DCMKLUCB", 1.0)
    assert other.notes[0].startswith("30 lists of the log were made under rules, and the lists of this policy do not")


def test_requests_without_rules_have_the_fingerprint_they_always_had() -> None:
    assert digest_of(RankRequest(user="anna", k=3, request_id="r1")) == "586f080c9b9d1d50de1a48ea3ada8c2e"
    ruled = RankRequest(user="anna", k=3, request_id="r1", rules=[ONE_EACH])
    other = RankRequest(user="anna", k=3, request_id="r1", rules=[IN_STOCK])
    assert len({digest_of(ruled), digest_of(other), "586f080c9b9d1d50de1a48ea3ada8c2e"}) == 3


def test_a_retry_under_the_same_rules_gets_the_same_list(engine: Quiet) -> None:
    make_model(engine)
    first = engine.rank_now(request_id="r", rules=[ONE_EACH])
    assert engine.rank_now(request_id="r", rules=[ONE_EACH]).id == first.id
    with pytest.raises(Exception, match="request_id"):
        engine.rank_now(request_id="r", rules=[IN_STOCK])
