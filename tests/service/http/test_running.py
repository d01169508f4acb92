"""Health, page, metrics, and several workers."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from served import FEED, PATCH, RANK, Served, both_stores, feed, rank
from waiting import PATIENCE, wait_until


def test_health_page_and_description(api: httpx.Client) -> None:
    assert api.get("/health/live").json() == {"status": "live"}
    assert api.get("/health/ready").json() == {"status": "ready"}
    page = api.get("/")
    assert "text/html" in page.headers["content-type"]
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert api.get("/docs").status_code == 200
    paths = api.get("/openapi.json").json()["paths"]
    assert {"/v1/models/{model}/rank", "/v1/feedback", "/v1/catalog/bulk", "/v1/users/{user}"} <= set(paths)


def metrics(api: httpx.Client) -> dict[tuple[str, ...], float]:
    answer = api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def check_counts(api: httpx.Client, model: str) -> None:
    """Ranks and answers, and looks whether the counts say so."""
    events = [rank(api, model)["event_id"] for _ in range(5)]
    for event, click in zip(events, [1, 2, None], strict=False):
        feed(api, event, click)
    feed(api, events[0], 1)
    feed(api, events[4], 99)
    counted = metrics(api)
    of = f"model={model}"
    assert counted["rankfall_lists_total", "arm=policy", of] == 5
    assert counted["rankfall_lists_with_feedback_total", "arm=policy", of] == 3
    assert counted["rankfall_clicked_total", "arm=policy", of] == 2
    assert counted["rankfall_feedback_total", of, "result=accepted"] == 3
    assert counted["rankfall_feedback_total", of, "result=duplicate"] == 1
    assert counted["rankfall_feedback_total", of, "result=rejected"] == 1
    assert counted["rankfall_topics_covered_count", of] == 5
    assert counted["rankfall_requests_total", "route=/v1/models/{model}/rank", "status=200"] >= 5
    assert counted["rankfall_request_seconds_count", "route=/v1/feedback"] >= 5
    assert counted["rankfall_pending_events",] >= 2
    assert counted["rankfall_fold_lag_seconds",] >= 0
    assert counted["rankfall_models_in_memory",] >= 1
    assert counted["rankfall_store_errors_total",] == 0


@both_stores
def test_metrics(api: httpx.Client, model: str) -> None:
    check_counts(api, model)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.stress
def test_two_workers_are_one_service(
    kind: str, tmp_path: Path, small_catalog: Path, request: pytest.FixtureRequest
) -> None:
    where: dict[str, Any] = {"data": tmp_path / "data"}
    if kind == "postgresql":
        where = {"store": request.getfixturevalue("postgres_url")}
    with Served(log=tmp_path / "log", catalog=small_catalog, workers=2, **where) as served:

        def ask(path: str, **options: Any) -> httpx.Response:
            """On a connection of its own, which may reach either worker."""
            method = "POST" if options else "GET"
            return httpx.request(method, served.url + path, timeout=PATIENCE, trust_env=False, **options)

        for turn in range(12):
            answer = ask(RANK, json={"k": 3}).json()
            receipt = ask(FEED, json={"event_id": answer["event_id"], "clicked": turn % 3 + 1}).json()
            assert receipt["accepted"] == 1, receipt
        learned = [wait_until(lambda: m if (m := ask(PATCH).json())["learned"] == 12 else {}) for _ in range(10)]
        assert len({json.dumps(model["weights"]) for model in learned}) == 1
        counted = {
            sample.name: sample.value
            for family in text_string_to_metric_families(ask("/metrics").text)
            for sample in family.samples
            if sample.labels.get("model") == "default" and sample.labels.get("result", "accepted") == "accepted"
        }
        assert counted["rankfall_lists_total"] == counted["rankfall_feedback_total"] == 12
        assert served.stop() == 0
