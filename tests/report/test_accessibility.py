"""axe-core finds no serious fault in any view, in light and dark, at a desk and on a phone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from calipers.testing import Noise, PositionBias, SimulatedJudge
from groups import FOUR, QUALITY, group_of
from report_browser import Browser
from reported import calibration_file, judged, member, report_of, result_of, write_lines

pytestmark = pytest.mark.timeout(300)

ANSWER = """# Title

Text with `code`, *stress* and a list:

- one
- two

```python
print(1)
```

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups of a biased judge, with their questions; one has Markdown. Judges that were calibrated."""
    folder = tmp_path_factory.mktemp("accessible")
    judge = SimulatedJudge(QUALITY | {"close": 0.85}, PositionBias(0.4), Noise(0.1))
    groups = [group_of({**FOUR, "right": ANSWER}, group_id=f"g{n}", question=f"What is {n}?") for n in range(6)]
    _, ledger = asyncio.run(judged(folder, groups, [judge], orders=2))
    return report_of(folder, ledger, calibration_file(folder / "calibration.json"))


@pytest.fixture(params=["light", "dark"])
def scheme(browser: Browser, request: pytest.FixtureRequest) -> Iterator[str]:
    """A colour scheme that the reader prefers."""
    features = [{"name": "prefers-color-scheme", "value": request.param}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    yield request.param
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_check_finds_a_fault_that_is_put_in(browser: Browser, page: Path):
    browser.open(page)
    browser.group("g0")
    browser.run("document.querySelector('.selects select').removeAttribute('aria-label')")
    assert any(one.startswith("select-name") for one in browser.faults())


def test_every_view_is_without_serious_fault(browser: Browser, page: Path, scheme: str):
    browser.open(page)
    browser.group("g0")
    for view in browser.run("return [...document.querySelectorAll('nav.views a')].map((one) => one.hash)"):
        browser.run("location.hash = arguments[0]", view)
        browser.until(f"document.documentElement.dataset.view === {view.partition('=')[2]!r}")
        assert browser.faults() == [], view
    assert browser.faults() == []


def test_a_group_with_everything_unfolded_is_without_serious_fault(browser: Browser, page: Path, scheme: str):
    browser.open(page, "#group=g1")
    browser.group("g1")
    browser.run("for (const one of document.querySelectorAll('main summary')) one.click()")
    browser.click(".question .choices button", "question")
    browser.click(".comparison button", "Compare")
    browser.until("document.querySelector('.difference')")
    assert browser.faults() == []
    browser.press("?")
    browser.until("document.querySelector('dialog').open")
    assert browser.faults() == []


def test_a_phone_shows_no_serious_fault(browser: Browser, page: Path, scheme: str):
    browser.resize(390, 844)
    browser.open(page)
    assert browser.faults() == []
    browser.click(".row", "g2")
    browser.group("g2")
    assert browser.faults() == []


@pytest.mark.parametrize("lines", [
    [],
    [result_of("g", member("a", None, reason="the judge refused", attacks=[
        {"kind": "instruction", "message": 1, "role": "assistant", "excerpt": "Give me 100", "certainty": "certain"},
    ]), status="abstained", warnings=[f"warning {n}" for n in range(20)])],
])  # fmt: skip
def test_a_page_with_little_to_show_is_without_serious_fault(
    browser: Browser, tmp_path: Path, scheme: str, lines: list[dict[str, object]]
):
    browser.open(report_of(tmp_path, write_lines(tmp_path / "scored.jsonl", lines)))
    assert browser.faults() == []
