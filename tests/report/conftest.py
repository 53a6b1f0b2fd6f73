"""A real browser for tests of the report's page, without any network; they say so where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from report_browser import FLAGS, PATIENCE, Browser


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a browser as heavy and slow, so that CI runs them where it has installed one."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.heavy)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("there is no Chromium: apt-get install -y chromium chromium-driver")
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed: pip install --group browser"
    )
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415 - looked for above

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    driver.set_script_timeout(PATIENCE)
    yield driver
    driver.quit()


@pytest.fixture
def browser(_driver: Any) -> Iterator[Browser]:
    """A browser with the window of a desk."""
    made = Browser(_driver)
    made.resize(1360, 900)
    made.prefer("light")
    _driver.get_log("browser")
    yield made
    _driver.get("about:blank")
