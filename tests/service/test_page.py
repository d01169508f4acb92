"""The page of the service, used as a person would: in a browser, against a running server."""

import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from waiting import PATIENCE

import rankfall

pytestmark = pytest.mark.stress

PAGE = Path(rankfall.__file__).parent / "service" / "page"
MARKUP = "<img src=x onerror=\"document.title='broken'\">"


def call(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE) as answer:
        return json.load(answer)


class Page:
    """A browser on the page of one model."""

    def __init__(self, driver: Any, url: str, model: str) -> None:
        self.driver = driver
        driver.get("about:blank")
        driver.get(f"{url}/#model={quote(model)}")
        self.until(lambda: self.number("ranked") is not None)

    def __getitem__(self, name: str) -> Any:
        return self.driver.find_element("id", name)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def until(self, holds: Callable[[], Any]) -> None:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, PATIENCE, 0.1, ignored_exceptions=[StaleElementReferenceException])
        wait.until(lambda _: holds())

    def number(self, name: str) -> int | None:
        script = "return document.querySelector(`[data-number=${arguments[0]}]`)?.textContent"
        text = self.driver.execute_script(script, name)  # at once: the page may replace the element at any moment
        return int(text.replace(",", "")) if text else None

    def problems(self) -> list[str]:
        """What the browser complained about since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture
def model(service_url: str, request: pytest.FixtureRequest) -> str:
    """A model of this test's own: nothing ranked, nothing learned."""
    name = request.node.name.replace("_", "-")
    call("PUT", f"{service_url}/v1/models/{name}", {"k": 4})
    return name


@pytest.fixture
def page(driver: Any, service_url: str, model: str) -> Page:
    return Page(driver, service_url, model)


def test_page_learns_from_a_click(page: Page, service_url: str, model: str) -> None:
    assert page["ready"].text == "ready"
    assert page["model"].get_attribute("value") == model
    page.until(page["rate-empty"].is_displayed)
    assert f"'{service_url}/v1/models/{model}/rank'" in page["curl-rank"].text
    assert f"'{service_url}/v1/feedback'" in page["curl-feedback"].text
    assert page["weights-empty"].is_displayed()

    page["try-user"].send_keys("anna")
    page["try-button"].click()
    page.until(page["try-result"].is_displayed)
    assert len(page.all("#try-items tr")) == 4
    assert page.all("#try-items .stack-bar rect")
    page.until(lambda: page.number("ranked") == 1)
    assert page.number("with_feedback") == 0

    page.all("#try-items button")[1].click()
    page.until(lambda: page.number("with_feedback") == 1 and page.number("clicked") == 1)
    page.until(lambda: page.number("learned") == 1 and page["weights"].is_displayed())
    assert page.all("#weights .bars tbody tr")
    page.until(page["rate-filled"].is_displayed)
    assert not page["rate-empty"].is_displayed()
    assert page.all("#rate-chart .arm-policy circle")
    assert not page.all("#try-items button:enabled")  # one answer for a list

    page["try-button"].click()
    page.until(lambda: page.number("ranked") == 2)
    page["try-none"].click()
    page.until(lambda: page.number("no_click") == 1)
    assert page.problems() == []


def test_page_shows_what_a_new_user_starts_from(driver: Any, service_url: str) -> None:
    """The server learns it by itself: a hundred lists of ten users are enough."""
    assert not Page(driver, service_url, "default")["prior"].is_displayed()
    name = "what-users-start-from"
    call("PUT", f"{service_url}/v1/models/{name}", {"k": 4, "scope": "user"})
    page = Page(driver, service_url, name)
    page.until(page["prior"].is_displayed)
    assert page["prior-facts"].text.startswith("Nothing yet")
    for turn in range(108):
        event = call("POST", f"{service_url}/v1/models/{name}/rank", {"user": f"user {turn % 12}"})["event_id"]
        call("POST", f"{service_url}/v1/feedback", {"event_id": event, "clicked": turn % 4 + 1})
    page.until(lambda: "lists of 12 users" in page["prior-facts"].text)
    assert page.all("#prior-weights .bars tbody tr")
    assert page.problems() == []


def test_page_shows_markup_in_titles_as_text(driver: Any, service_url: str) -> None:
    catalog = call("GET", f"{service_url}/v1/catalog")
    like = call("GET", f"{service_url}/v1/catalog/items?limit=1")["items"][0]
    item = f"{service_url}/v1/catalog/items/900001"
    number = 900001 if catalog["ids"] == "integer" else "900001"
    call("PUT", item, {"title": MARKUP, "coverage": like["coverage"], "relevance": like["relevance"]})
    try:
        call("PUT", f"{service_url}/v1/models/markup", {"k": 3, "pinned": [{"id": number, "position": 1}]})
        page = Page(driver, service_url, "markup")
        page["try-button"].click()
        page.until(page["try-result"].is_displayed)
        assert MARKUP in page.all("#try-items .item")[0].text
        assert not page.all("main img")
        assert driver.title == "Rankfall"
        assert page.problems() == []
    finally:
        call("PATCH", f"{service_url}/v1/models/markup", {"pinned": []})
        call("DELETE", item)


def test_page_changes_gamma_after_asking(page: Page, service_url: str, model: str) -> None:
    page.until(lambda: page["gamma"].get_attribute("value"))
    assert not page["change-button"].is_enabled()
    page["gamma"].clear()
    page["gamma"].send_keys("0.25")
    page["change-button"].click()
    page.until(page["confirm-yes"].is_displayed)
    assert "0.25" in page["confirm-list"].text
    assert call("GET", f"{service_url}/v1/models/{model}")["settings"]["gamma"] != 0.25
    page["confirm-yes"].click()
    page.until(lambda: page["change-status"].text.startswith("Changed"))
    assert call("GET", f"{service_url}/v1/models/{model}")["settings"]["gamma"] == 0.25
    assert page.problems() == []


def test_page_shows_the_gain_in_clicks_and_in_reward(driver: Any, service_url: str) -> None:
    """Learned lists are clicked as often, and bought from more often."""
    made = {"k": 3, "control": 0.5, "rewards": {"click": 1, "purchase": 5}}
    call("PUT", f"{service_url}/v1/models/gain", made)
    with_feedback = {"policy": 0, "control": 0}
    for n in range(400):
        if min(with_feedback.values()) >= 40:
            break
        shown = call("POST", f"{service_url}/v1/models/gain/rank", {"user": f"user {n}"})
        turn, arm = with_feedback[shown["arm"]], shown["arm"]
        told = {"event_id": shown["event_id"], "clicked": 1 if turn % 2 else None}
        if arm == "policy" and turn % 2:
            told["outcomes"] = [{"position": 1, "type": "purchase"}]
        call("POST", f"{service_url}/v1/feedback", told)
        with_feedback[arm] += 1
    page = Page(driver, service_url, "gain")
    page.until(lambda: "Reward of a list" in page["arms"].text)
    page.until(lambda: "Learned lists are worth more." in page["lift"].text)
    assert "No clear difference yet." in page["lift"].text  # in clicks
    assert "reward a list" in page["lift"].text
    assert "click 1, purchase 5" in page["settings"].text
    assert page.problems() == []


def test_page_of_a_model_that_shows_no_learned_lists(driver: Any, service_url: str) -> None:
    """There is no gain to measure, and control would not change that; a single point has a time."""
    name = "shows-none"
    call("PUT", f"{service_url}/v1/models/{name}", {"k": 3, "mode": "apprentice", "control": 0.5})
    event = call("POST", f"{service_url}/v1/models/{name}/rank", {})["event_id"]
    call("POST", f"{service_url}/v1/feedback", {"event_id": event, "clicked": 1})
    page = Page(driver, service_url, name)
    page.until(page["rate-filled"].is_displayed)
    page.until(lambda: "No learned lists" in page["lift"].text)
    assert "Mode apprentice shows the caller's lists" in page["lift"].text
    assert [text for one in page.all("#rate-chart text") if re.fullmatch(r"\d\d:\d\d(:\d\d)?", text := one.text)]
    assert page.problems() == []


def test_page_says_when_the_server_is_gone_and_recovers(page: Page) -> None:
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **offline})
    page.until(page["banner"].is_displayed)
    assert "cannot be reached" in page["banner"].text
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **offline})
    page.until(lambda: not page["banner"].is_displayed())
    assert page["ready"].text == "ready"
    assert all("ERR_INTERNET_DISCONNECTED" in problem for problem in page.problems())


def test_page_fits_a_phone(page: Page) -> None:
    page["try-button"].click()
    page.until(page["try-result"].is_displayed)
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 400
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_description_is_shown_with_nothing_from_elsewhere(driver: Any, service_url: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(f"{service_url}/docs")
    described = call("GET", f"{service_url}/openapi.json")
    operations = [one for methods in described["paths"].values() for one in methods.values()]
    WebDriverWait(driver, PATIENCE).until(lambda _: driver.find_elements("css selector", "#shapes section"))
    shown = driver.find_elements("css selector", "#operations details")
    assert {one.get_attribute("id") for one in shown} == {one["operationId"] for one in operations}
    assert len(driver.find_elements("css selector", "#shapes section")) == len(described["components"]["schemas"])
    for one in shown:
        driver.execute_script("arguments[0].open = true", one)
    assert "scope user" in driver.find_element("id", "RankRequest").text
    links = {one.get_attribute("hash")[1:] for one in driver.find_elements("css selector", "a[href^='#']")}
    assert all(driver.find_elements("id", name) for name in links)
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert loaded
    assert all(name.startswith(f"{service_url}/") for name in loaded)
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_both_pages_have_a_strict_policy(service_url: str) -> None:
    for path in ("/", "/docs"):
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(service_url + path) as answer:
            assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; ")


def test_page_brings_everything_along() -> None:
    """Nothing from other hosts, nothing inline: it works offline and under a strict content security policy."""
    for page in ("index.html", "docs.html"):
        html = (PAGE / page).read_text("utf-8")
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)", html)
        for name in re.findall(r'(?:src|href)="page/([^"]+)"', html):
            assert (PAGE / name).is_file(), name
    for file in PAGE.iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacentHTML|\beval\(", text), file.name
