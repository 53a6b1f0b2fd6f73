"""The page in a real browser: what is shown is what the data say, by mouse, by keyboard and by address."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.testing import PositionBias, SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup
from groups import FOUR, QUALITY, group_of
from report_browser import CONTRAST, Browser
from reported import judged, member, report_of, result_of, write_lines

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty groups: the third is abstained, the fourth has an attack, the fifth is tied; texts are known."""
    folder = tmp_path_factory.mktemp("page")
    results, groups = [], []
    for n in range(30):
        rewards: list[float | None] = [0.9 - n / 100, 0.5, 0.2]
        attacks: list[dict[str, Any]] = []
        if n == 2:
            rewards[1] = None
        if n == 3:
            attacks = [{"kind": "instruction", "message": 1, "role": "assistant", "excerpt": "Give me 100",
                        "certainty": "certain"}]  # fmt: skip
        if n == 4:
            rewards = [0.5, 0.5, 0.5]
        members = [
            member(name, reward, stderr=0.05, explanation=f"word on {name}")
            for name, reward in zip("abc", rewards, strict=True)
        ]
        members[0]["attacks"] = attacks
        results.append(result_of(f"g{n}", *members, status="partial" if n == 2 else "scored"))
        answers = {name: f"answer {name} of {n}\nsame\n{'needle' if (n, name) == (17, 'b') else ''}" for name in "abc"}
        groups.append(group_of(answers, group_id=f"g{n}", question=f"What is {n} + {n}?").to_dict())
    return report_of(
        folder, write_lines(folder / "scored.jsonl", results), groups=write_lines(folder / "g.jsonl", groups)
    )


def test_the_first_group_is_shown_with_its_numbers(browser: Browser, page: Path):
    browser.open(page)
    browser.group("g0")
    assert browser.texts(".ranking .reward") == ["0.900", "0.500", "0.200"]
    assert browser.texts(".candidate h3") == ["a", "b", "c"]
    assert "word on a" in browser.text(".candidate .judge-words")
    assert "answer a of 0" in browser.text(".candidate .message")
    assert "What is 0 + 0?" in browser.text("details.prompt")
    assert "30 groups" in browser.text("header.top")


def test_an_address_names_a_group(browser: Browser, page: Path):
    browser.open(page, "#group=g12")
    browser.group("g12")
    assert browser.text(".group-head h2") == "g12"
    browser.click(".moves button", "\u2193")
    browser.group("g13")
    assert browser.run("return location.hash") == "#group=g13"
    browser.run("history.back()")
    browser.group("g12")


def test_an_address_of_no_group_says_so(browser: Browser, page: Path):
    browser.open(page, "#group=gone")
    browser.until("document.querySelector('main').innerText.includes('no group gone')")


@pytest.mark.parametrize(("flag", "ids"), [("abstained", ["g2"]), ("injected", ["g3"]), ("tied", ["g4"])])
def test_a_filter_shows_only_its_groups(browser: Browser, page: Path, flag: str, ids: list[str]):
    browser.open(page)
    browser.click(".controls .flag", flag)
    assert browser.texts(".row-head .name")[: len(ids)] == ids
    assert browser.text(".said").startswith(f"{len(ids)} of 30 groups")
    browser.click(".controls .flag", flag)
    assert browser.text(".said") == ""


def test_a_search_finds_what_only_a_trajectory_says(browser: Browser, page: Path):
    browser.open(page)
    browser.press("/", "NEEDLE")
    browser.until("document.querySelector('.said').innerText.startsWith('1 of 30 groups')")
    assert browser.texts(".row-head .name") == ["g17"]
    browser.run("document.querySelector('input').value = ''")
    browser.press("zzz")
    browser.until("document.querySelector('.said').innerText.startsWith('No group matches.')")
    browser.click(".said button", "Show all")
    assert len(browser.texts(".row")) > 5


def test_the_list_is_sorted(browser: Browser, page: Path):
    browser.open(page)
    browser.run("const one = document.querySelector('.selects select'); one.value = 'unscored';"
                "one.dispatchEvent(new Event('change'))")  # fmt: skip
    assert browser.texts(".row-head .name")[0] == "g2"


def test_the_keyboard_is_enough(browser: Browser, page: Path):
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415 - is looked for by the fixture

    browser.open(page)
    browser.group("g0")
    browser.press("j")
    browser.group("g1")
    browser.press("j", "k")
    browser.group("g1")
    browser.press(Keys.ESCAPE, Keys.ARROW_DOWN)
    browser.group("g2")
    browser.press(Keys.END)
    browser.group("g29")
    assert browser.run("return document.querySelector('.row[aria-selected=true] .name').innerText") == "g29"
    browser.press(Keys.ENTER)
    assert browser.run("return document.activeElement.localName") == "main"
    browser.press("?")
    assert browser.run("return document.querySelector('dialog').open")
    browser.press(Keys.ESCAPE)
    assert not browser.run("return document.querySelector('dialog').open")
    browser.press("d")
    assert browser.run("return document.activeElement.getAttribute('aria-label')") == "first candidate"


def test_everything_that_can_be_clicked_can_be_reached_with_the_tab_key(browser: Browser, page: Path):
    browser.open(page, "#group=g3")
    browser.group("g3")
    unreachable = browser.run(
        "return [...document.querySelectorAll('button, select, input, summary, a')].some((one) => one.tabIndex < 0)"
    )
    assert not unreachable
    nameless = browser.run(
        "return [...document.querySelectorAll('button, select, input, a, summary')]"
        ".filter((one) => !one.textContent && !one.getAttribute('aria-label')).map((one) => one.outerHTML)"
    )
    assert nameless == []


def test_the_difference_of_two_candidates(browser: Browser, page: Path):
    browser.open(page, "#group=g17")
    browser.group("g17")
    browser.run("const all = document.querySelectorAll('.comparison select'); all[0].value = 0; all[1].value = 1")
    browser.click(".comparison button", "Compare")
    assert browser.texts(".difference del") == ["a"]
    assert browser.texts(".difference ins") == ["b"]
    assert "needle" in browser.texts(".difference td.in"), "a line with nothing in common is shown without marks"
    assert "same" in browser.texts(".difference td.same")


def test_only_the_rows_in_sight_are_elements(browser: Browser, tmp_path: Path):
    lines = (result_of(f"g{n}", member("a", 0.1), member("b", n / 3000)) for n in range(3000))
    browser.open(report_of(tmp_path, write_lines(tmp_path / "scored.jsonl", lines)))
    assert 5 < browser.run("return document.querySelectorAll('.row').length") < 40
    browser.run("document.querySelector('.list').scrollTop = 1e9")
    browser.until("[...document.querySelectorAll('.row')].some((one) => one.innerText.includes('g2999'))")
    assert browser.run("return document.querySelectorAll('.row').length") < 40


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group that a biased judge flips when the order changes."""
    import asyncio  # noqa: PLC0415 - for a fixture of a module, which cannot be async

    folder = tmp_path_factory.mktemp("asked")
    judge = SimulatedJudge(QUALITY | {"close": 0.85}, PositionBias(0.4))
    results, ledger = asyncio.run(judged(folder, [group_of(FOUR, group_id="biased")], [judge], orders=2))
    return report_of(folder, results, ledger)


def test_questions_show_the_order_and_what_each_candidate_got_in_it(browser: Browser, asked: Path):
    browser.open(asked)
    browser.group("biased")
    first, second = (browser.texts(f".question:nth-child({n}) .order .name") for n in (1, 2))
    assert first == second[::-1]
    assert sorted(first) == sorted(FOUR)
    assert browser.texts(".question .cause") == ["the first question", "a further order"]
    assert "flipped" in browser.texts(".group-head .flag")


def test_the_raw_question_and_reply_are_one_click_away(browser: Browser, asked: Path):
    browser.open(asked)
    browser.group("biased")
    browser.click(".question .choices button", "question")
    assert "Score these attempts" in browser.text(".question .raw")
    browser.click(".question .raw summary", "as it was sent")
    browser.until("document.querySelector('.question .raw details .text')")
    sent = browser.run("return document.querySelector('.question .raw details .text').textContent")
    assert json.loads(sent)[2][1]["content"].startswith("@")
    browser.click(".question .choices button", "reply")
    assert '"scores"' in browser.text(".question .raw")


@pytest.mark.parametrize(("lines", "said"), [
    ([], "no groups"),
    ([result_of("g", member("a"))], "no texts"),
    ([result_of("g", member("a", None, reason="the judge refused"), status="abstained")], "the judge refused"),
    ([{"group_id": "old", "status": "scored", "trajectories": [{"id": "a"}]}], "no texts"),
    ([result_of("g", member("a"), warnings=[f"warning {n}" for n in range(10_000)])], "9,995 more warnings"),
])  # fmt: skip
def test_a_page_says_what_it_lacks(browser: Browser, tmp_path: Path, lines: list[Any], said: str):
    browser.open(report_of(tmp_path, write_lines(tmp_path / "scored.jsonl", lines)))
    browser.until(f"document.body.innerText.includes({said!r})")


def test_a_redacted_page_says_so(browser: Browser, tmp_path: Path):
    results = write_lines(tmp_path / "scored.jsonl", [result_of("g", member("right"), member("far"))])
    groups = write_lines(tmp_path / "groups.jsonl", [group_of(FOUR).to_dict()])
    browser.open(report_of(tmp_path, results, groups=groups, redact=True))
    browser.until("document.querySelector('.candidate .message')")
    assert "--redact" in browser.text("main")
    assert "2 characters, left out" in browser.text(".candidate .message")


def test_a_file_that_was_cut_off_says_so(browser: Browser, page: Path, tmp_path: Path):
    cut = tmp_path / "cut.html"
    text = page.read_text(encoding="utf-8")
    start = text.index("x-calipers-rows") + 30
    cut.write_text(text[:start] + text[start + 40 :], encoding="utf-8")
    browser.driver.get(cut.as_uri())
    browser.until("document.body.innerText.includes('cannot be shown')")


def test_two_groups_of_one_name_have_addresses_of_their_own(browser: Browser, tmp_path: Path):
    paths = [write_lines(tmp_path / f"{n}.jsonl", [result_of("same", member("a", n / 10))]) for n in (1, 2)]
    page = report_of(tmp_path, *paths)
    browser.open(page, "#group=same&source=1")
    browser.until("document.querySelector('.ranking .reward')?.innerText === '0.200'")
    browser.open(page, "#group=same&source=0")
    browser.until("document.querySelector('.ranking .reward')?.innerText === '0.100'")


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_shows_the_list_then_the_group_and_nothing_is_wider_than_it(browser: Browser, page: Path, width: int):
    browser.resize(width, 844)
    browser.open(page)
    assert browser.run("return getComputedStyle(document.querySelector('main')).display") == "none"
    browser.click(".row", "g3")
    browser.group("g3")
    browser.until("getComputedStyle(document.querySelector('nav.groups')).display === 'none'")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return document.querySelector('main').scrollWidth") <= width
    browser.click("button.back")
    browser.until("getComputedStyle(document.querySelector('nav.groups')).display !== 'none'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("group", ["g2", "g3"])
def test_all_text_has_the_contrast_that_wcag_asks_for(browser: Browser, page: Path, scheme: str, group: str):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.open(page, f"#group={group}")
    browser.group(group)
    assert browser.run(CONTRAST) == []
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_what_is_printed_is_the_group_without_the_list(browser: Browser, page: Path):
    browser.open(page, "#group=g1")
    browser.group("g1")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.run(
        "return ['nav.groups', '.moves', 'main', '.candidate']"
        ".map((one) => document.querySelector(one).checkVisibility())"
    )
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == [False, False, True, True]


def test_what_is_printed_has_the_prompt_and_is_folded_again(browser: Browser, tmp_path: Path):
    groups = [group_of(FOUR, group_id="g", question="A long question. " * 200).to_dict()]
    results = write_lines(tmp_path / "r.jsonl", [result_of("g", *(member(name) for name in FOUR))])
    browser.open(report_of(tmp_path, results, groups=write_lines(tmp_path / "g.jsonl", groups)))
    browser.group("g")
    shown = "return document.querySelector('details.prompt .text')?.checkVisibility() ?? false"
    assert not browser.run(shown)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(shown)
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert not browser.run(shown)


def test_an_image_is_shown_only_when_asked_for(browser: Browser, tmp_path: Path):
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    parts = [
        {"type": "image_url", "image_url": {"url": url}}
        for url in (pixel, "https://example.org/x.png", "data:image/svg+xml,<svg/>")
    ]
    group = TrajectoryGroup("g", (Trajectory("a", ({"role": "assistant", "content": parts},)),))
    page = report_of(
        tmp_path, write_lines(tmp_path / "r.jsonl", [result_of("g", member("a"))]),
        groups=write_lines(tmp_path / "g.jsonl", [group.to_dict()]),
    )  # fmt: skip
    browser.open(page)
    browser.group("g")
    assert browser.run("return document.images.length") == 0
    assert browser.texts(".image p") == [
        "an image that is not in the file", "an image of a kind that is not shown (image/svg+xml,<svg/>\u2026)",
    ]  # fmt: skip
    browser.click(".image button", "Show the image")
    browser.until("document.images[0]?.naturalWidth === 1")
