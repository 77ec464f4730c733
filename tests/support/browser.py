"""Tags of pages, and headless chromium for tests of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
no_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="chromium or chromedriver is not at hand (Debian: chromium-driver)",
)

ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions",
)  # fmt: skip
Browser = Any


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of the tags of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="session")
def shared_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of a process."""
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        browser = webdriver.Chrome(
            options=options, service=Service(DRIVER, log_output=subprocess.DEVNULL)
        )
    except WebDriverException as error:
        pytest.skip(f"chromium does not start here: {str(error).splitlines()[0]}")
    yield browser
    browser.quit()


@pytest.fixture
def without_scripts(shared_browser: Browser) -> Iterator[Browser]:
    """Shared browser with the scripts of pages turned off."""
    command = "Emulation.setScriptExecutionDisabled"
    shared_browser.execute_cdp_cmd(command, {"value": True})
    yield shared_browser
    shared_browser.execute_cdp_cmd(command, {"value": False})


def shape(browser: Browser, width: int, scheme: str) -> None:
    """Set the width of the screen in pixels, and "light" or "dark"."""
    media = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
