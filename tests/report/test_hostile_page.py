"""Hostile trajectories in a real browser: nothing of theirs runs, loads, hides or breaks the page."""

import time
from pathlib import Path
from typing import Any

import pytest

from calipers.testing import SimulatedJudge
from calipers.types import TrajectoryGroup
from groups import group_of
from report_browser import PAYLOADS, RUN, Browser, hostile_group
from reported import judged, member, page_of, report_of, result_of

pytestmark = pytest.mark.timeout(300)

HIDDEN = "\u202e\u202c\u2066\u2069\u200b\ufeff\U000e0041"


def hostile(text: str, n: int) -> tuple[dict[str, Any], TrajectoryGroup]:
    """A result and its group with ``text`` in every place."""
    attack = {"kind": text, "message": 1, "role": text, "excerpt": text, "certainty": text}
    verdict = {"met": False, "reason": text, "quote": text}
    one = member(
        f"a{text}", 0.4, explanation=text, attacks=[attack], criteria={text: verdict}, metadata={text: text},
        stderr=0.1,
    )  # fmt: skip
    other = member("b", None, reason=text, status=text)
    judges = [{"judge": text, "answers": 1, "scored": 1, "usage": {}}]
    result = result_of(f"{n}{text}", one, other, warnings=[text], status=text, judges=judges, more={text: text})
    return result, hostile_group(text, result["group_id"])


OPEN_ALL = """
const buttons = [".more", ".choices button", ".image button"].map((one) => `main ${one}`).join();
for (let turn = 0; turn < 3; turn += 1) {
  for (const one of document.querySelectorAll("main details:not([open])")) one.querySelector("summary").click();
  for (const one of document.querySelectorAll(buttons)) one.click();
}
for (const one of document.querySelectorAll("main *")) {
  for (const kind of ["mouseover", "focus", "error", "load", "toggle"]) one.dispatchEvent(new Event(kind));
}
"""
FOREIGN = """
const tags = "iframe, object, embed, form, base, link, meta[http-equiv=refresh], foreignObject, svg script";
const isOurs = (script) => script.type === "module" || script.type.startsWith("application/x-calipers-");
const isBad = (one, name) =>
  name.startsWith("on") || name === "srcdoc" || (name === "href" && !one.getAttribute(name).startsWith("#"));
const found = [
  ...document.querySelectorAll(tags),
  ...[...document.scripts].filter((one) => !isOurs(one)),
  ...[...document.querySelectorAll("*")].filter((one) => one.getAttributeNames().some((name) => isBad(one, name))),
];
return found.map((one) => one.outerHTML.slice(0, 200));
"""
FITS = "const main = document.querySelector('main'); return main.scrollWidth <= main.clientWidth"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group for each payload."""
    results, groups = zip(*(hostile(text, n) for n, text in enumerate(PAYLOADS)), strict=True)
    return page_of(tmp_path_factory.mktemp("hostile"), results, *groups)


def test_nothing_of_a_hostile_group_runs_or_loads_and_it_is_shown_as_text(browser: Browser, page: Path):
    browser.open(page)
    for number, payload in enumerate(PAYLOADS):
        browser.until(f"document.querySelector('main').dataset.group?.startsWith('{number}')")
        browser.run(OPEN_ALL)
        time.sleep(0.2)  # a handler that was set off would run after this script
        assert browser.run("return window.ran ?? null") is None, number
        assert browser.run(FOREIGN) == [], number
        assert browser.run("return performance.getEntriesByType('resource').map((one) => one.name)") == [], number
        assert browser.run("return document.querySelector('main').checkVisibility()"), "a style of theirs applies"
        assert browser.run("return location.protocol") == "file:"
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), number
        assert browser.run(FITS), number
        shown = browser.run("return document.body.innerText")
        assert not set(shown) & set(HIDDEN), "invisible characters are shown as labels"
        if payload == f"<script>{RUN}</script>":
            assert payload in browser.text(".candidate .judge-words")
        if "\u202e" in payload:
            labels = browser.texts(".candidate .judge-words .hidden-character")
            assert labels[:4] == ["U+202E", "U+202C", "U+2066", "U+2069"]
            assert "U+E0041 U+E0042" in labels
        browser.run("document.querySelector('.list').focus()")
        browser.press("j")
    errors = [one["message"] for one in browser.driver.get_log("browser") if one["level"] == "SEVERE"]
    assert errors == []


def test_the_browser_itself_refuses_what_the_page_does_not_do(browser: Browser, page: Path):
    """The policy holds even if the page's own code had a fault: this code has the faults."""
    browser.open(page)
    refused = browser.run(
        "try { document.body.innerHTML = '<img src=x onerror=\"window.ran=1\">'; return false; }"
        "catch (error) { return error instanceof TypeError; }"
    )
    assert refused, "text is parsed as HTML"
    browser.run(
        "const one = document.createElement('div'); document.body.append(one);"
        "one.setAttribute('style', 'position:fixed'); window.styled = getComputedStyle(one).position;"
        "const image = document.createElement('img'); document.body.append(image);"
        "image.src = 'https://example.org/x.png';"
    )
    assert browser.run("return window.styled") == "static", "an inline style applies"
    browser.until("true")
    blocked = [one["message"] for one in browser.driver.get_log("browser")]
    assert any("example.org" in one and "Content Security Policy" in one for one in blocked)
    # Scripts of the driver may call eval; a timer is the page's own.
    browser.run(
        "setTimeout(() => { try { eval('1'); window.evaluated = 'done' } catch { window.evaluated = 'refused' } })"
    )
    browser.until("window.evaluated")
    assert browser.run("return window.evaluated") == "refused"


async def test_a_hostile_reply_of_a_judge_is_text(browser: Browser, tmp_path: Path):
    text = f"<img src=x onerror='{RUN}'></script><script>{RUN}</script>"
    judge = SimulatedJudge({"a": 0.4, "b": 0.6}, write=lambda rows, _: text + str(len(rows)))
    results, ledger = await judged(tmp_path, [group_of({name: name + text for name in "ab"})], [judge])
    browser.open(report_of(tmp_path, results, ledger), "g")
    browser.click(".question .choices button", "reply")
    assert text in browser.text(".question .raw")
    browser.run(OPEN_ALL)
    assert browser.run("return window.ran ?? null") is None
    assert browser.run(FOREIGN) == []
