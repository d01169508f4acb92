"""What pages of other websites can do to a service through a browser: nothing."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from served import FEED, ITEM, JSON, RANK, Served, problem
from waiting import PATIENCE

RESET = "/v1/models/default/reset"


@pytest.fixture(scope="module")
def api(service_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service_url, timeout=PATIENCE, trust_env=False) as client:
        event = client.post(RANK, json={"user": "anna"}).json()["event_id"]
        assert client.post(FEED, json={"event_id": event, "clicked": 1}).json()["accepted"] == 1
        yield client


# In a browser


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>elsewhere</title>")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    """The port of another website."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def known(api: httpx.Client) -> tuple[int, Any, Any]:
    model = api.get("/v1/models/default").json()
    return model["learned"], model["counts"], api.get("/v1/catalog").json()


FETCH = """
const [address, options, done] = arguments;
fetch(address, options).then(async (answer) => done([answer.type, answer.status, await answer.text()]))
  .catch((problem) => done(["failed", 0, String(problem)]));
"""
FORM = """
const [address, done] = arguments;
document.body.innerHTML = '<iframe name="hidden"></iframe><form method="post" target="hidden" enctype="text/plain">'
  + '<input name="{&quot;x" value="&quot;: 1}"></form>';
document.forms[0].action = address;
document.querySelector("iframe").addEventListener("load", () => done("loaded"));
document.forms[0].submit();
"""


@pytest.mark.stress
@pytest.mark.parametrize("name", ["shop.test", "127.0.0.1"])  # of another site; of the same site, on another port
def test_a_foreign_page_changes_nothing_and_reads_nothing(
    driver: Any, service_url: str, api: httpx.Client, elsewhere: int, name: str
) -> None:
    before = known(api)
    driver.set_script_timeout(PATIENCE)
    driver.get(f"http://{name}:{elsewhere}/")
    assert driver.title == "elsewhere"
    rank, text = '{"user": "anna"}', {"Content-Type": "text/plain"}
    for path, options in [
        (RESET, {"method": "POST", "mode": "no-cors"}),
        (RESET, {"method": "POST", "mode": "cors"}),
        (RESET, {"method": "POST", "mode": "cors", "headers": JSON, "body": "{}"}),
        (RANK, {"method": "POST", "mode": "no-cors", "body": rank, "headers": text}),
        (RANK, {"method": "POST", "mode": "cors", "body": rank, "headers": text}),
        ("/v1/users/anna", {"method": "DELETE", "mode": "cors"}),
        ("/v1/catalog/items/item-1", {"method": "DELETE", "mode": "cors"}),
        ("/v1/models/default", {"mode": "cors"}),
        ("/v1/models/default", {"mode": "no-cors"}),
    ]:
        kind, status, told = driver.execute_async_script(FETCH, service_url + path, options)
        assert (kind, status) in [("failed", 0), ("opaque", 0)]
        assert told == "" or kind == "failed"
    for path in (RESET, RANK, "/v1/catalog/bulk"):
        driver.get(f"http://{name}:{elsewhere}/")
        assert driver.execute_async_script(FORM, service_url + path) == "loaded"
    assert known(api) == before


@pytest.mark.stress
def test_a_foreign_name_for_this_machine_reads_and_changes_nothing(
    driver: Any, service_url: str, api: httpx.Client
) -> None:
    """DNS rebinding: to the browser all requests are of one origin, the service is one of its pages."""
    before = known(api)
    driver.set_script_timeout(PATIENCE)
    driver.get(f"http://shop.test:{urlsplit(service_url).port}/")
    for path, options in [
        ("/", {}),
        ("/v1/models/default", {}),
        ("/openapi.json", {}),
        (RESET, {"method": "POST", "headers": JSON}),
        ("/v1/users/anna", {"method": "DELETE"}),
    ]:
        kind, status, told = driver.execute_async_script(FETCH, path, options)
        assert (kind, status) == ("basic", 403), told
        assert "this service is not called 'shop.test:" in told
    assert known(api) == before


# Header by header

FOREIGN = [
    {"Origin": "https://shop.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_what_a_foreign_page_sends_is_refused(api: httpx.Client, headers: dict[str, str]) -> None:
    before = known(api)
    for method, path, options in [
        ("POST", RESET, {"json": {}}),
        ("PUT", "/v1/catalog/items/new", {"json": ITEM}),
        ("PATCH", "/v1/models/default", {"json": {"gamma": 3}}),
        ("DELETE", "/v1/catalog/items/item-1", {}),
        ("GET", "/v1/models/default", {}),
        ("GET", "/metrics", {}),
        ("POST", "/", {}),
    ]:
        told = problem(api.request(method, path, headers=headers, **options), 403, "forbidden")
        assert told == "a page of another website sent this request"
    assert known(api) == before
    for path in ("/", "/page/app.js", "/docs", "/health/ready"):  # people follow links
        assert api.get(path, headers=headers).status_code == 200


def test_our_own_page_and_programs_are_served(api: httpx.Client, service_url: str) -> None:
    for headers in ({}, {"Origin": service_url}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert api.get("/v1/models", headers=headers).status_code == 200
        assert api.post(RANK, json={}, headers=headers).status_code == 200
    behind_a_proxy = {"Origin": "https://shop.example", "Sec-Fetch-Site": "same-origin"}
    assert api.post(RANK, json={}, headers=behind_a_proxy).status_code == 200


def test_names_the_service_is_called_by(api: httpx.Client) -> None:
    for name in ("localhost", "LOCALHOST:8321", "127.0.0.1", "[::1]", "[::1]:99"):
        assert api.get("/v1/models", headers={"Host": name}).status_code == 200
    for name in ("", "shop.example", "localhost.shop.example", "127.0.0.1.shop.example:8321", "[::2]", "x" * 5000):
        for path in ("/v1/models", "/", "/health/live"):
            told = problem(api.get(path, headers={"Host": name}), 403, "forbidden")
            assert "is not called" in told
            assert len(told) < 250


@pytest.mark.parametrize(
    "media", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_write_without_its_content_type_is_refused(api: httpx.Client, media: str | None) -> None:
    before = known(api)
    headers = {} if media is None else {"Content-Type": media}
    for method, path in [
        ("POST", RANK),
        ("POST", "/v1/rank"),
        ("POST", FEED),
        ("POST", RESET),
        ("POST", "/v1/events/x/activate"),
        ("POST", "/v1/models/default/snapshots"),
        ("POST", "/v1/models/default/snapshots/x/restore"),
        ("PUT", "/v1/models/new"),
        ("PATCH", "/v1/models/default"),
        ("PUT", "/v1/catalog/items/new"),
        ("PATCH", "/v1/catalog/items/item-1"),
    ]:
        told = problem(api.request(method, path, content=b"{}", headers=headers), 415, "unsupported")
        assert "send the header Content-Type: application/json" in told
        problem(api.request(method, path, headers=headers), 415, "unsupported")
    told = problem(api.post("/v1/catalog/bulk", content=b"{}", headers=headers), 415, "unsupported")
    assert "application/x-ndjson or application/vnd.apache.parquet" in told
    assert known(api) == before


def test_other_names_are_served_if_allowed(tmp_path: Path, small_catalog: Path) -> None:
    with Served(
        log=tmp_path / "log", data=tmp_path / "data", catalog=small_catalog, allow_host="shop.example"
    ) as served:
        for name, status in [("shop.example:99", 200), ("localhost", 200), ("other.example", 403)]:
            assert served.client.get("/v1/models", headers={"Host": name}).status_code == status
