"""The label page in a real browser: ranking by keyboard, undoing, resuming, and what happens when things break."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from groups import group_of
from labelled import ANSWERS, groups_file
from report_browser import PAYLOADS, Browser, hostile_group

pytestmark = pytest.mark.timeout(300)

ENTER, BACKSPACE, ESCAPE, RIGHT, LEFT, SHIFT = "\ue007", "\ue003", "\ue00c", "\ue014", "\ue012", "\ue008"
IDLE = "document.documentElement.dataset.ready === 'true' && document.documentElement.dataset.busy === 'false'"
TEXTS = "return [...document.querySelectorAll('.candidate .message')].map((one) => one.innerText)"


class Page:
    """``calipers label`` in a process of its own, and its page in a browser."""

    def __init__(self, browser: Browser, *arguments: object) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CALIPERS_")}
        command = [sys.executable, "-m", "calipers", "label", *map(str, arguments)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.browser = browser
        lines = iter(self.process.stderr or ())
        self.address = next(line.strip() for line in lines if line.startswith("http://"))
        self.open()

    def open(self) -> None:
        self.browser.driver.get(self.address)
        self.idle()

    def idle(self) -> None:
        self.browser.until(IDLE)

    def press(self, *keys: str) -> None:
        self.browser.press(*keys)
        self.idle()

    def save(self) -> None:
        """Save, and wait for the next group."""
        before = self.token
        self.browser.press(ENTER)
        self.browser.until(f"{IDLE} && document.documentElement.dataset.group !== {before!r}")

    def shift(self, arrow: str) -> None:
        """Press Shift and an arrow: to the group labelled before, or to the next one."""
        from selenium.webdriver import ActionChains  # noqa: PLC0415 - is looked for by the fixture

        ActionChains(self.browser.driver).key_down(SHIFT).send_keys(arrow).key_up(SHIFT).perform()

    @property
    def token(self) -> str:
        return str(self.browser.run("return document.documentElement.dataset.group"))

    @property
    def strip(self) -> list[str]:
        return list(self.browser.texts(".strip-of-ranks li"))

    def end(self) -> None:
        """End the server as its user does."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=60)[1]
        assert self.process.returncode == 0, said

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@contextmanager
def page_of(browser: Browser, *arguments: object) -> Iterator[Page]:
    page = Page(browser, *arguments)
    try:
        yield page
    finally:
        browser.driver.get("about:blank")
        page.kill()


def saved(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_letter(line: dict[str, Any]) -> list[int | None]:
    """The ranks of a label in the order in which its candidates were shown."""
    return [line["ranks"][name] for name in line["shown"]]


def test_groups_are_ranked_with_the_keyboard(browser: Browser, tmp_path: Path):
    groups, labels = groups_file(tmp_path / "g.jsonl", count=4), tmp_path / "g.labels.jsonl"
    with page_of(browser, groups, "--annotator", "ann") as page:
        assert browser.text(".progress") == "0 of 4 groups labelled\nas ann"
        page.press("c", "a", "=", "b", "d")
        assert page.strip == ["1 C", "2 A = B", "3 D"]
        page.save()
        assert browser.text(".said").startswith("Saved at")
        page.press("d", ".")
        assert page.strip == ["1 D", "can\u2019t tell: A, B, C"]
        browser.click("textarea")
        browser.run("document.querySelector('textarea').focus()")
        page.press(*"both = bad.?", ESCAPE)
        page.save()
        page.press("a", "c", "b")
        browser.click(".candidate[data-at='3'] .put")
        assert page.strip == ["1 A", "2 C", "3 B", "4 D"]
        page.save()
        page.press(".")
        browser.press(ENTER)
        browser.until("document.querySelector('.empty')")
        assert browser.text("main") == "Every group has your label. You may close this page."
        page.end()
    lines = saved(labels)
    assert [by_letter(one) for one in lines] == [[2, 2, 1, 3], [None, None, None, 1], [1, 3, 2, 4], [None] * 4]
    assert [one["note"] for one in lines] == ["", "both = bad.?", "", ""]


def test_undo_takes_back_steps_and_then_the_saved_label(browser: Browser, tmp_path: Path):
    with page_of(browser, groups_file(tmp_path / "g.jsonl"), "--annotator", "ann") as page:
        page.press("b", ENTER)  # incomplete, so it is not saved
        assert browser.text(".said").startswith("A, C, D have no rank yet")
        assert not (tmp_path / "g.labels.jsonl").exists()
        page.press("b", "a", "b", "=", "c")
        page.press(BACKSPACE)
        assert page.strip == ["1 A", "2 B = \u2026", "no rank yet: C, D"]
        page.press(BACKSPACE, BACKSPACE)
        assert page.strip == ["1 A", "no rank yet: B, C, D"]
        page.press("a", "d", "a", "b", "c")
        first = page.token
        page.save()
        assert page.token != first
        page.press(BACKSPACE)
        browser.until(f"document.documentElement.dataset.group === {first!r}")
        page.idle()
        assert page.strip == ["1 D", "2 A", "3 B", "4 C"]
        assert browser.text(".progress").startswith("0 of 3")
        page.press("c", "c")  # removed, and put last again: a step that undo would take back
        page.save()
        assert browser.text(".progress").startswith("1 of 3")
        page.end()
    assert [one["ranks"] is None for one in saved(tmp_path / "g.labels.jsonl")] == [False, True, False]


def test_a_ranking_that_is_not_saved_is_left_only_on_purpose(browser: Browser, tmp_path: Path):
    with page_of(browser, groups_file(tmp_path / "g.jsonl"), "--annotator", "ann") as page:
        first = page.token
        browser.press("a")
        for answer, left in (("dismiss", False), ("accept", True)):
            page.shift(RIGHT)
            getattr(browser.driver.switch_to.alert, answer)()
            page.idle()
            assert (page.token != first) is left
        assert not (tmp_path / "g.labels.jsonl").exists()


def test_kill_9_of_the_server_loses_nothing_confirmed(browser: Browser, tmp_path: Path):
    groups, labels = groups_file(tmp_path / "g.jsonl"), tmp_path / "g.labels.jsonl"
    with page_of(browser, groups, "--annotator", "ann") as page:
        page.press("a", "b", "c", "d")
        page.save()
        page.press("d", "c", "b", "a")
        second, texts = page.token, browser.run(TEXTS)
        page.kill()
        page.press(ENTER)
        assert "The server does not answer" in browser.text(".failure")
        assert page.strip == ["1 D", "2 C", "3 B", "4 A"]
        assert len(saved(labels)) == 1
        browser.run("window.onbeforeunload = null")
    with page_of(browser, groups, "--annotator", "ann") as page:
        assert (page.token, browser.run(TEXTS)) == (second, texts), "resumed in another order"
        assert browser.text(".progress").startswith("1 of 3")
        page.press("d", "c", "b", "a")
        page.save()
        page.open()  # a reload
        assert browser.text(".progress").startswith("2 of 3")
        page.shift(LEFT)
        browser.until(f"{IDLE} && document.documentElement.dataset.group === {second!r}")
        assert page.strip == ["1 D", "2 C", "3 B", "4 A"]
    assert [by_letter(one) for one in saved(labels)] == [[1, 2, 3, 4], [4, 3, 2, 1]]


HOSTILE = [PAYLOADS[at] for at in (1, 2, 7, 11, 12, 14)]


def test_hostile_trajectories_run_nothing_and_are_shown_as_text(browser: Browser, tmp_path: Path):
    groups = groups_file(tmp_path / "g.jsonl", [hostile_group(text, f"{n}{text}") for n, text in enumerate(HOSTILE)])
    shown: list[str] = []
    with page_of(browser, groups, "--annotator", "<b>ann</b>") as page:
        for _ in HOSTILE:
            browser.run("for (const one of document.querySelectorAll('main summary, main .image button')) one.click()")
            shown.append(browser.text("main"))
            page.press("b", "=", "a")
            browser.press(ENTER)
            browser.until(f"{IDLE} && document.querySelector('.progress').innerText.startsWith('{len(shown)} of')")
        assert browser.run("return window.ran ?? null") is None
        assert browser.run("return document.querySelectorAll('form, iframe, svg, main script').length") == 0
        assert browser.text(".progress").endswith("as <b>ann</b>")
        asked = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert all(one.startswith(page.address) or one.endswith("/favicon.ico") for one in asked), asked
        assert [one for one in browser.driver.get_log("browser") if "Content Security" in one["message"]] == []
    assert [text for text in HOSTILE[:4] if not any(text in one for one in shown)] == []
    assert any("U+202E" in one and "U+200B" in one for one in shown)
    assert len(saved(tmp_path / "g.labels.jsonl")) == len(HOSTILE)


@pytest.mark.parametrize(("scheme", "size"), [("light", (1360, 900)), ("dark", (390, 844))])
def test_the_page_is_without_serious_fault(browser: Browser, tmp_path: Path, scheme: str, size: tuple[int, int]):
    browser.prefer(scheme)
    browser.resize(*size)
    marked = {"right": "# Title\n\n- `one`\n\n```sh\nls\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "close": "41"}
    groups = [group_of(ANSWERS | marked), group_of(ANSWERS, group_id="h")]
    with page_of(browser, groups_file(tmp_path / "g.jsonl", groups)) as page:
        assert browser.faults() == []
        page.press("a", "=", "b", "c", "=")
        assert browser.faults() == []
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        page.press(ENTER, "d", ".")
        page.kill()
        page.press(ENTER)
        assert browser.faults() == []
