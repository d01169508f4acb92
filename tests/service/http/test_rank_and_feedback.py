"""Lists, feedback and outcomes over HTTP: every field of the contract, retries, batches, silence."""

import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from served import FEED, ITEM, JSON, both_stores, feed, ids, problem, rank
from waiting import wait_past, wait_until


@both_stores
def test_a_list_and_its_feedback(api: httpx.Client, model: str) -> None:
    answer = rank(api, model, user="anna", k=3)
    assert set(answer) == {
        *("event_id", "model", "items", "model_version", "policy", "mode", "arm", "expires_at", "unknown")
    }
    assert [item["position"] for item in answer["items"]] == [1, 2, 3]
    assert all(item["title"] == f"Title {item['id'][5:]}" for item in answer["items"])
    assert (answer["model"], answer["policy"], answer["mode"]) == (model, "CascadeHybrid", "online")
    assert (answer["arm"], answer["unknown"]) == ("policy", [])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", answer["expires_at"])
    receipt = feed(api, answer["event_id"], ids(answer)[1])
    assert receipt == {"accepted": 1, "duplicate": 0, "late": 0, "unknown": 0, "rejected": 0, "problems": []}
    again = feed(api, answer["event_id"], 1)
    assert again["duplicate"] == 1
    assert again["problems"][0] == {
        "index": 0,
        "event_id": answer["event_id"],
        "result": "duplicate",
        "reason": "this list has feedback already; the first counts",
    }
    known = api.get(f"/v1/models/{model}").json()
    assert (known["name"], known["learned"], known["settings"]["k"]) == (model, 1, 4)
    assert known["counts"] == {"ranked": 1, "with_feedback": 1, "clicked": 1, "no_click": 0, "expired": 0}
    assert known["arms"]["policy"] == {"with_feedback": 1, "clicked": 1, "rate": 1.0}
    assert [weight["block"] for weight in known["weights"]] == ["topic"] * 4 + ["feature"] * 3
    assert any(weight["weight"] for weight in known["weights"])
    assert rank(api, model)["model_version"] == known["version"]
    shown = api.get(f"/v1/events/{answer['event_id']}").json()
    assert shown["response"] == answer
    assert (shown["user"], shown["segment"], shown["active"], shown["learn"]) == ("anna", None, True, True)
    assert shown["feedback"]["kind"] == "feedback"
    assert shown["feedback"]["clicked"] == [2]
    history = api.get(f"/v1/models/{model}/history").json()
    assert history["bucket_seconds"] == 60
    assert [bucket["arms"]["policy"] for bucket in history["buckets"]] == [{"with_feedback": 1, "clicked": 1}]
    assert api.get(f"/v1/models/{model}/history?hours=24").json()["bucket_seconds"] == 3600


def test_what_came_of_a_list_later(api: httpx.Client) -> None:
    rewards = {"click": 1.0, "purchase": 5.0}
    made = api.put("/v1/models/valued", json={"k": 3, "rewards": rewards})
    assert (made.status_code, made.json()["rewards"]) == (201, rewards)
    shown, other = rank(api, "valued"), rank(api, "valued")
    item = ids(shown)[1]
    feed(api, shown["event_id"], 2)
    feed(api, other["event_id"], None)
    bought = {"event_id": shown["event_id"], "outcomes": [{"id": item, "type": "purchase", "value": 2}]}
    before = api.get("/v1/models/valued").json()
    told = api.post(FEED, json=bought)
    assert told.json() == {"accepted": 1, "duplicate": 0, "late": 0, "unknown": 0, "rejected": 0, "problems": []}
    known = api.get("/v1/models/valued").json()
    assert (known["learned"], known["counts"]) == (before["learned"], before["counts"])
    assert known["weights"] != before["weights"]
    assert known["arms"]["policy"]["reward"] == {"total": 11.0, "mean": 5.5, "sd": pytest.approx(11 / 2**0.5)}
    again = {**bought, "clicked": 1, "outcomes": [*bought["outcomes"], {"position": 1, "type": "gift"}]}
    problems = api.post(FEED, json={"feedback": [{"event_id": "none", "clicked": 1}, again]}).json()["problems"]
    assert [(one["index"], one.get("outcome"), one["result"]) for one in problems] == [
        *((0, None, "unknown"), (1, None, "duplicate"), (1, 0, "duplicate"), (1, 1, "rejected"))
    ]
    outcomes = api.get(f"/v1/events/{shown['event_id']}").json()["outcomes"]
    assert [(one["id"], one["type"], one["value"]) for one in outcomes] == [(item, "purchase", 2.0)]
    counted = api.get("/metrics").text
    assert 'rankfall_outcomes_total{model="valued",result="accepted",type="purchase"} 1.0' in counted
    assert "gift" not in counted  # a label that callers could make up
    refused = api.patch("/v1/models/valued", json={"rewards": {"click": 2}})
    assert "rewards" in problem(refused, 422, "invalid")
    refused = api.put("/v1/models/odd", json={"policy": "CascadeTS", "rewards": rewards})
    assert "CascadeTS cannot learn rewards" in problem(refused, 422, "invalid")
    refused = api.post(
        FEED, content=b'{"event_id": "e", "outcomes": [{"id": 1, "type": "x", "value": NaN}]}', headers=JSON
    )
    assert refused.status_code == 422


def test_explained_scores_add_up(api: httpx.Client, model: str) -> None:
    for item in rank(api, model, explain=True)["items"]:
        parts = item["relevance"] + sum(item["coverage"].values()) + item["bonus"]
        assert parts == pytest.approx(item["score"])


def test_candidates_exclude_and_baseline(api: httpx.Client, model: str) -> None:
    answer = rank(api, model, candidates=["item-1", "x", "item-2"], exclude=["item-2", "y"], baseline=["z"])
    assert ids(answer) == ["item-1"]
    assert answer["unknown"] == ["x", "y", "z"]
    assert "nothing may be shown" in problem(
        api.post(f"/v1/models/{model}/rank", json={"candidates": ["x"]}), 422, "invalid"
    )
    api.patch(f"/v1/models/{model}", json={"mode": "apprentice"})
    answer = rank(api, model, baseline=["item-9", "item-8"])
    assert (ids(answer), answer["arm"], answer["policy"]) == (["item-9", "item-8"], "baseline", "baseline")
    api.patch(f"/v1/models/{model}", json={"mode": "online", "control": 1})
    assert rank(api, model, user="anna", baseline=["item-9"])["arm"] == "control"


@pytest.mark.stress
def test_a_retry_is_answered_byte_for_byte(api: httpx.Client, model: str) -> None:
    ask = {"request_id": "r", "user": "anna"}
    first = api.post(f"/v1/models/{model}/rank", json=ask)
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda _: api.post(f"/v1/models/{model}/rank", json=ask).content, range(8)))
    assert set(again) == {first.content}
    problem(api.post(f"/v1/models/{model}/rank", json={**ask, "k": 2}), 409, "conflict")
    batch = api.post("/v1/rank", json={"requests": [{"model": model, **ask}]})
    assert batch.json()["results"] == [first.json()]


@pytest.mark.stress
def test_requests_that_race_with_one_name_get_one_list(api: httpx.Client, model: str) -> None:
    def ask(_: int) -> str:
        return str(rank(api, model, request_id="race")["event_id"])

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1
    assert api.get(f"/v1/models/{model}").json()["counts"]["ranked"] == 1


@both_stores
def test_a_batch_answers_in_order(api: httpx.Client, model: str) -> None:
    requests = [{"model": model, "k": 1}, {"model": "none"}, {"model": model, "candidates": ["x"]}, {"model": model}]
    results = api.post("/v1/rank", json={"requests": requests}).json()["results"]
    assert [len(one.get("items", [])) for one in results] == [1, 0, 0, 4]
    assert [one["error"]["code"] for one in results[1:3]] == ["not_found", "invalid"]
    events = [results[0]["event_id"], "none", results[3]["event_id"], results[0]["event_id"]]
    feedback = [{"event_id": event, "clicked": 1} for event in events]
    feedback.append({"event_id": results[3]["event_id"], "clicked": {"position": 9}})
    receipt = api.post("/v1/feedback", json={"feedback": feedback}).json()
    assert {name: receipt[name] for name in ("accepted", "duplicate", "unknown", "rejected")} == {
        "accepted": 2,
        "duplicate": 1,
        "unknown": 1,
        "rejected": 1,
    }
    assert [one["index"] for one in receipt["problems"]] == [1, 3, 4]


def test_scopes(api: httpx.Client) -> None:
    api.put("/v1/models/by-user", json={"scope": "user", "k": 2})
    api.put("/v1/models/by-segment", json={"scope": "segment", "k": 2})
    assert "each user" in problem(api.post("/v1/models/by-user/rank", json={}), 422, "invalid")
    assert "each segment" in problem(api.post("/v1/models/by-segment/rank", json={"user": "anna"}), 422, "invalid")
    feed(api, rank(api, "by-user", user="anna")["event_id"], 1)
    feed(api, rank(api, "by-segment", user="anna", segment="home")["event_id"], 1)
    assert api.get("/v1/models/by-user?user=anna").json()["learned"] == 1
    assert api.get("/v1/models/by-user?user=ben").json()["learned"] == 0
    assert api.get("/v1/models/by-segment?segment=home").json()["learned"] == 1
    unnamed = api.get("/v1/models/by-user").json()
    assert (unnamed["learned"], unnamed["weights"]) == (None, [])


def test_an_item_may_be_called_feedback(api: httpx.Client, model: str) -> None:
    assert api.put("/v1/catalog/items/feedback", json=ITEM).status_code == 200
    try:
        assert feed(api, rank(api, model, candidates=["feedback"])["event_id"], "feedback")["accepted"] == 1
        assert feed(api, "feedback", 1)["unknown"] == 1
    finally:
        api.delete("/v1/catalog/items/feedback")


def test_deferred_lists(api: httpx.Client, model: str) -> None:
    event = rank(api, model, defer_activation=True)["event_id"]
    assert api.get(f"/v1/events/{event}").json()["active"] is False
    shown = api.post(f"/v1/events/{event}/activate", headers=JSON)
    assert shown.json()["active"] is True
    assert api.post(f"/v1/events/{event}/activate", headers=JSON).json() == shown.json()
    problem(api.post("/v1/events/none/activate", headers=JSON), 404, "not_found")
    problem(api.get("/v1/events/none"), 404, "not_found")


@pytest.mark.stress
def test_silence_and_late_feedback(api: httpx.Client, model: str) -> None:
    api.patch(f"/v1/models/{model}", json={"feedback_wait": 0.2})
    lists = rank(api, model), rank(api, model, defer_activation=True)
    shown, deferred = (one["event_id"] for one in lists)
    wait_until(lambda: api.get(f"/v1/events/{shown}").json()["feedback"])
    wait_past(api.get(f"/v1/events/{deferred}").json()["expires_at"])
    assert api.get(f"/v1/events/{shown}").json()["feedback"]["kind"] == "expired"
    assert feed(api, shown, 1)["late"] == feed(api, deferred, 1)["late"] == 1
    problem(api.post(f"/v1/events/{deferred}/activate", headers=JSON), 409, "conflict")
    counts = api.get(f"/v1/models/{model}").json()["counts"]
    assert counts == {"ranked": 2, "with_feedback": 1, "clicked": 0, "no_click": 1, "expired": 1}
