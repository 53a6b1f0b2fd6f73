"""Debian's Chromium with a report open in it, driven by Selenium, for tests of the page."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calipers.types import Trajectory, TrajectoryGroup

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
PATIENCE = 60.0
"""Seconds to wait for the page; a busy machine takes long to start a browser."""

RUN = "window.ran=(window.ran||0)+1"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror='{RUN}'>",
    f"<svg onload='{RUN}'><script>{RUN}</script></svg>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f"<body onload='{RUN}'><details open ontoggle='{RUN}'>",
    f'<a href="javascript:{RUN}">click</a> [click](javascript:{RUN}) ![x](x "onerror={RUN}")',
    '<style>*{display:none!important}</style><link rel=stylesheet href="data:text/css,*{display:none}">',
    f'<meta http-equiv=refresh content="0;url=data:text/html,<script>{RUN}</script>"><base href=//evil.example>',
    f"data:text/html,<script>{RUN}</script>",
    (
        f"```html\n<script>{RUN}</script>\n```\n- <img src=x onerror={RUN}>\n\n"
        f"> <script>{RUN}</script>\n\n| a | b |\n|---|---|\n| <img src=x onerror={RUN}> | x |"
    ),
    f"--></noscript></textarea></template></title><script>{RUN}</script><!--",
    "<form action=https://evil.example><input name=x><button formaction=javascript:1>",
    "{{constructor.constructor('window.ran=1')()}} ${window.ran=1} __proto__",
    '"><bdo dir=rtl>\u202ereversed\u202c \u2066isolated\u2069 zero\u200bwidth\u200d \U000e0041\U000e0042tag \ufeff',
    "Z\u0351\u0352\u0353" + "a\u0310\u0311\u0312\u0313" * 200,
)
"""Texts that would run, load, hide or break something if a page took them for more than text."""


def hostile_group(text: str, group_id: str) -> TrajectoryGroup:
    """A group with ``text`` in every place."""
    call = {"id": text, "type": "function", "function": {"name": text, "arguments": text}}
    image = {"type": "image_url", "image_url": {"url": f"data:image/svg+xml,{text}"}}
    parts = [{"type": "text", "text": text}, image]
    said = {"role": "assistant", "content": parts, "tool_calls": [call], "reasoning": text}
    shown = {"role": "tool", "content": text, "tool_call_id": text, "name": text}
    members = (
        Trajectory(f"a{text}", (said, shown, {"role": "assistant", "content": text})),
        Trajectory("b", ({"role": "assistant", "content": f"{text} b"},)),
    )
    tool = {"type": "function", "function": {"name": text, "description": text, "parameters": {"type": "object"}}}
    return TrajectoryGroup(group_id, members, context=({"role": "user", "content": text},), tools=(tool,), rubric=text)


class Browser:
    """A Chromium with a page open in it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def resize(self, width: int, height: int) -> None:
        """Make the window as large as a phone's or a desk's."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """Show pages as to somebody who prefers them ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, page: Path, group: str = "") -> None:
        """Open a report, at a group if one is named, and wait until it shows something."""
        self.driver.get("about:blank")
        self.driver.get(page.resolve().as_uri() + (f"#group={group}" if group else ""))
        self.until("document.documentElement.dataset.ready === 'true'")
        if group:
            self.group(group)

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script's ``return``."""
        return self.driver.execute_script(script, *arguments)

    def until(self, condition: str) -> None:
        """Wait until an expression is true, and what it brought is drawn: what is not drawn has no innerText."""
        ends = time.monotonic() + PATIENCE
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < ends, f"never: {condition}\n{self.text('body')[:2000]}"
            time.sleep(0.02)
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def text(self, selector: str) -> str:
        """The text that is shown in the first element that a selector finds."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector finds."""
        return list(
            self.run("return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)", selector)
        )

    def click(self, selector: str, text: str = "") -> None:
        """Click the first element that a selector finds, or the one with this text, as soon as it is there."""
        ends = time.monotonic() + PATIENCE
        while not self.run(
            "const all = [...document.querySelectorAll(arguments[0])];"
            # What lies far below is not laid out, and has no innerText.
            "const one = all.find((each) => (each.innerText || each.textContent).includes(arguments[1]));"
            "one?.click(); return Boolean(one);",
            selector, text,
        ):  # fmt: skip
            assert time.monotonic() < ends, f"there is no {selector} with {text!r}"
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Type keys into whatever has the focus."""
        from selenium.webdriver import ActionChains  # noqa: PLC0415 - is looked for by the fixture

        ActionChains(self.driver).send_keys(*keys).perform()

    def faults(self) -> list[str]:
        """The serious and critical faults that axe-core finds in what is shown, for people who cannot see it well."""
        source = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
        if not source.exists():
            pytest.skip("axe-core is not installed: npm install --no-save --prefix .venv axe-core@4.14.1")
        self.driver.execute_script(source.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found.violations), (error) =>"
            " done([{ id: String(error), impact: 'critical', nodes: [] }]));"
        )
        return [
            f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def group(self, name: str) -> None:
        """Wait until this group is shown."""
        self.until(f"document.querySelector('main').dataset.group === {name!r}")


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
