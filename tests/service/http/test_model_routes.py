"""Models over HTTP: settings, policies, snapshots, and users who are forgotten."""

from pathlib import Path

import httpx
import pytest
from served import JSON, both_stores, feed, ids, problem, rank

import rankfall


def test_models(api: httpx.Client) -> None:
    settings = {"gamma": 0.5, "k": 2, "forgetting": {"window": 10}}
    made = api.put("/v1/models/mine", json=settings)
    assert made.status_code == 201
    assert made.json()["name"] == "mine"
    assert api.put("/v1/models/mine", json=settings).status_code == 200
    problem(api.put("/v1/models/mine", json={"gamma": 1}), 409, "conflict")
    changed = api.patch("/v1/models/mine", json={"gamma": 0.1, "pinned": [{"id": "item-3", "position": 2}]}).json()
    assert (changed["gamma"], changed["k"]) == (0.1, 2)
    same = {name: value for name, value in changed.items() if name not in ("name", "gamma")}
    assert api.put("/v1/models/mine", json=same).json() == changed  # gamma is not given, and is as it is
    assert ids(rank(api, "mine"))[1] == "item-3"
    unknown = {"pinned": [{"id": "item-3", "position": 1}, {"id": "nowhere", "position": 2}]}
    for refused in (api.patch("/v1/models/mine", json=unknown), api.put("/v1/models/other", json=unknown)):
        assert "no item 'nowhere', so it cannot be pinned" in problem(refused, 422, "invalid")
    listed = {one["name"]: one for one in api.get("/v1/models").json()["models"]}
    assert listed["mine"] == changed
    assert "default" in listed


def test_a_model_changes_to_a_policy_that_learns_alike(api: httpx.Client, model: str) -> None:
    for click in (1, 2, None):
        feed(api, rank(api, model)["event_id"], click)
    kept = api.get(f"/v1/models/{model}").json()["weights"]
    assert api.patch(f"/v1/models/{model}", json={"policy": "CascadeHybridGreedy"}).json()["policy"] == (
        "CascadeHybridGreedy"
    )
    answer = rank(api, model, explain=True)
    assert answer["policy"] == "CascadeHybridGreedy"
    assert {item["bonus"] for item in answer["items"]} == {0.0}
    assert api.get(f"/v1/models/{model}").json()["weights"] == kept
    said = problem(api.patch(f"/v1/models/{model}", json={"policy": "CascadeKLUCB"}), 409, "conflict")
    assert "this model can change to: CascadeHybrid, CascadeHybridEpsilon, CascadeHybridTS." in said
    said = problem(api.patch(f"/v1/models/{model}", json={"policy": "BatchRank"}), 422, "invalid")
    assert "choose from CascadeDUCB, " in said
    assert api.get(f"/v1/models/{model}").json()["settings"]["policy"] == "CascadeHybridGreedy"


def test_policies_that_count_items(api: httpx.Client) -> None:
    assert api.put("/v1/models/counted", json={"policy": "CascadeKLUCB", "k": 3}).status_code == 201
    assert api.get("/v1/models/counted").json()["weights"] == []
    answer = rank(api, "counted", explain=True)
    assert [item["score"] for item in answer["items"]] == [None] * 3  # never seen: without bound
    assert feed(api, answer["event_id"], 2)["accepted"] == 1
    first, second, third = ids(answer)
    known = {one["name"]: one for one in api.get("/v1/models/counted").json()["weights"]}
    assert sorted(one["weight"] for one in known.values()) == [0.0, 1.0]
    assert {one["block"] for one in known.values()} == {"item"}
    again = rank(api, "counted", candidates=[first, second, third], explain=True)
    assert ids(again) == [third, second, first]
    for item in again["items"][1:]:
        assert item["relevance"] + item["bonus"] == pytest.approx(item["score"])
    assert api.patch("/v1/models/counted", json={"policy": "CascadeTS"}).status_code == 200
    assert rank(api, "counted")["policy"] == "CascadeTS"
    assert "has no gamma" in problem(api.patch("/v1/models/counted", json={"gamma": 0.5}), 422, "invalid")
    assert "needs forgetting" in problem(api.put("/v1/models/x", json={"policy": "CascadeDUCB"}), 422, "invalid")
    made = {"policy": "CascadeDUCB", "forgetting": {"discount": 0.99}}
    assert api.put("/v1/models/fading", json=made).status_code == 201
    feed(api, rank(api, "fading", k=2)["event_id"], 1)


def test_several_clicks_are_learned_if_asked_for(api: httpx.Client) -> None:
    assert api.put("/v1/models/several", json={"feedback": "last_click", "k": 4}).status_code == 201
    assert api.put("/v1/models/single", json={"k": 4}).status_code == 201
    for name in ("several", "single"):
        feed(api, rank(api, name)["event_id"], [1, 3])
    several, single = (api.get(f"/v1/models/{name}").json()["weights"] for name in ("several", "single"))
    assert sum(one["sd"] for one in several) < sum(one["sd"] for one in single)


@both_stores
def test_snapshots(api: httpx.Client, model: str, tmp_path: Path) -> None:
    def weights() -> list[float]:
        return [one["weight"] for one in api.get(f"/v1/models/{model}").json()["weights"]]

    for click in (1, 2, None):
        feed(api, rank(api, model)["event_id"], click)
    kept = weights()
    made = api.post(f"/v1/models/{model}/snapshots", json={"name": "good"})
    assert made.status_code == 201
    snapshot = made.json()
    assert snapshot["name"] == "good"
    assert api.post(f"/v1/models/{model}/snapshots", headers=JSON).status_code == 201
    assert [one["name"] for one in api.get(f"/v1/models/{model}/snapshots").json()["snapshots"]] == ["good", ""]
    feed(api, rank(api, model)["event_id"], 4)
    assert weights() != kept
    file = tmp_path / "policy"
    down = api.get(f"/v1/models/{model}/snapshots/{snapshot['id']}/download")
    assert down.headers["content-type"] == "application/octet-stream"
    file.write_bytes(down.content)
    assert rankfall.load(file).weights.tolist() == kept  # type: ignore[attr-defined]
    assert "version" in api.post(f"/v1/models/{model}/reset", headers=JSON).json()
    assert not any(weights())
    assert api.post(f"/v1/models/{model}/snapshots/{snapshot['id']}/restore", headers=JSON).status_code == 200
    assert weights() == kept
    assert api.get(f"/v1/models/{model}").json()["learned"] == 3


@both_stores
def test_a_user_is_forgotten(api: httpx.Client, model: str) -> None:
    api.put("/v1/models/forgetful", json={"scope": "user"})
    own = rank(api, "forgetful", user="x/y z")["event_id"]
    shared = rank(api, model, user="x/y z", request_id="r")["event_id"]
    feed(api, own, 1)
    gone = api.delete("/v1/users/x%2Fy%20z").json()
    assert gone == {"user": "x/y z", "models": 1, "events_removed": 1, "events_anonymised": 1}
    problem(api.get(f"/v1/events/{own}"), 404, "not_found")
    assert api.get(f"/v1/events/{shared}").json()["user"] is None
    assert api.get("/v1/models/forgetful", params={"user": "x/y z"}).json()["learned"] == 0
    assert feed(api, shared, 1)["accepted"] == 1
