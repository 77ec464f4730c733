"""Headless chromium for tests of pages."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="module")
def start_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Browser]]:
    """Starts browsers; each ends with the tests."""
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    begun = []

    def begin(scripts: bool = True) -> Browser:
        options = Options()
        options.binary_location = str(CHROMIUM)
        for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
            options.add_argument(argument)
        if not scripts:
            options.add_experimental_option(
                "prefs", {"profile.managed_default_content_settings.javascript": 2}
            )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        try:
            browser = webdriver.Chrome(
                options=options, service=Service(DRIVER, log_output=subprocess.DEVNULL)
            )
        except WebDriverException as error:
            pytest.skip(f"chromium does not start here: {str(error).splitlines()[0]}")
        begun.append(browser)
        return browser

    yield begin
    for browser in begun:
        browser.quit()


@pytest.fixture(scope="module")
def shared_browser(start_browser: Callable[..., Browser]) -> Browser:
    """One browser for all tests that let scripts run."""
    return start_browser()


def shape(browser: Browser, width: int, scheme: str) -> None:
    """Set the width of the screen in pixels, and "light" or "dark"."""
    media = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
