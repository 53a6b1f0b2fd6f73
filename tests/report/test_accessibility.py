"""axe-core finds no serious fault in any view, in light and dark, at a desk and on a phone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from calipers.testing import Noise, PositionBias, SimulatedJudge
from groups import FOUR, QUALITY, group_of
from report_browser import Browser
from reported import calibration_file, judged, member, report_of, result_of, write_lines
from reported_runs import simulation_file, trained, training_folder

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
    """Groups of a biased judge, with their questions; one has Markdown. Judges that were calibrated. A run, studies."""
    folder = tmp_path_factory.mktemp("accessible")
    judge = SimulatedJudge(QUALITY | {"close": 0.85}, PositionBias(0.4), Noise(0.1))
    groups = [group_of({**FOUR, "right": ANSWER}, group_id=f"g{n}", question=f"What is {n}?") for n in range(6)]
    _, ledger = asyncio.run(judged(folder, groups, [judge], orders=2))
    finished = [("fair", 0), ("fair", 1), ("early, arrival", 0), ("early, arrival", 1)]
    study = training_folder(folder / "study", finished=finished, failed=[("early, arrival", 2)])
    (folder / "run").mkdir()
    trained_run = asyncio.run(trained(folder / "run", steps=10))
    return report_of(
        folder, ledger, calibration_file(folder / "calibration.json"), trained_run.ledger, trained_run.watched, study,
        simulation_file(folder / "sim.json"),
    )  # fmt: skip


def views_of(browser: Browser) -> list[str]:
    """The addresses of all views, runs and studies of a page, each opened once to find those in it."""
    found: list[str] = []
    for view in browser.run("return [...document.querySelectorAll('nav.views a')].map((one) => one.hash)"):
        show(browser, view)
        inner = browser.run(
            "return [...document.querySelectorAll('.view:not([hidden]) nav.items a')].map((one) => one.hash)"
        )
        found += inner or [view]
    return found


def show(browser: Browser, address: str) -> None:
    browser.run("location.hash = arguments[0]", address)
    browser.until(f"document.documentElement.dataset.view === {address.partition('=')[2].partition('&')[0]!r}")


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
    views = views_of(browser)
    assert len(views) == 1 + 1 + 3 + 2, "groups, judges, runs, studies"
    for view in views:
        show(browser, view)
        assert browser.faults() == [], view
        browser.run("for (const one of document.querySelectorAll('.view:not([hidden]) summary')) one.click()")
        assert browser.faults() == [], f"{view}, unfolded"


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
    browser.click("button.back")
    for view in views_of(browser)[1:]:
        show(browser, view)
        assert browser.faults() == [], view
        assert browser.run("return document.querySelector('.view:not([hidden])').scrollWidth") <= 390


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
