"""A browser without a window, for which every name that ends in .test is this machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from needs import missing
from ports import ReservedPort

OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--window-size=1400,1000"),
    "--host-resolver-rules=MAP *.test 127.0.0.1",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Chromium, driven by Selenium."""
    from selenium import webdriver

    program = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    chromedriver = shutil.which("chromedriver")
    if not program or not chromedriver:
        missing("pages are tested with chromium and chromedriver, which are not on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in OPTIONS:
        options.add_argument(option)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    reserved = ReservedPort()
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver, port=reserved.number))
    try:
        yield browser
    finally:
        browser.quit()
        reserved.close()
