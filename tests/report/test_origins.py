"""By whom and by which standard a group was judged: the route of a cascade, and criteria written for its prompt."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.report import Judged
from calipers.report.cascades import cascade_route
from calipers.report.details import details_of
from calipers.report.plain import describe_group
from calipers.report.prompt_criteria import written_criteria
from calipers.testing import Noise, SimulatedJudge
from criteria_writers import Both, criteria
from groups import group_of
from report_browser import Browser
from reported import details_in, judged, member, report_of, result_of, write_lines

pytestmark = pytest.mark.timeout(300)

NAMES = ("good", "fair", "poor")
ROUTES = {
    "sure": {"slot": 0, "judge": "cheap", "why": "sure", "confidence": 0.3, "error": None, "thresholds": [0.2]},
    "unsure": {"slot": 1, "judge": "strong", "why": "unsure", "confidence": 0.05, "error": None, "thresholds": [0.2]},
    "check": {"slot": 1, "judge": "strong", "why": "check", "confidence": 0.4, "error": 0.125, "thresholds": [0.2]},
    "late": {"slot": 0, "judge": "cheap", "why": "late", "confidence": 0.1, "error": None, "thresholds": [0.2]},
}
WRITTEN: dict[str, Any] = {
    "written": [
        {"id": "w1", "text": "States that the product is 42.", "points": 6.0, "veto": True},
        {"id": "w2", "text": "Shows a way <b>to</b> it.", "points": -3.0, "veto": False},
    ],
    "problem": None,
    "calls": 1,
    "usage": {},
    "version": 2,
    "guards": ["w2"],
    "retired": 1,
    "saturation": {"w2": 0.96},
    "question": "abc",
}


def judged_by(**keys: Any) -> dict[str, Any]:
    return result_of("g", member("a", 0.9), member("b", 0.2), **keys)


def test_a_route_is_read_value_by_value() -> None:
    assert cascade_route(ROUTES["check"]) == ROUTES["check"]
    assert cascade_route(None) is None
    odd = {
        "slot": True,
        "judge": 7,
        "why": "later",
        "confidence": "1",
        "error": float("nan"),
        "thresholds": [None, "x"],
    }
    nothing = {"slot": None, "judge": None, "why": "unknown", "confidence": None, "error": None}
    assert cascade_route(odd) == nothing | {"thresholds": [None, None]}
    assert cascade_route({"thresholds": 3}) == nothing | {"thresholds": []}


def test_criteria_are_read_value_by_value() -> None:
    first, second = (written_criteria(WRITTEN) or {})["criteria"]
    assert first == WRITTEN["written"][0] | {"guard": False, "saturation": None}
    assert (second["guard"], second["saturation"]) == (True, 0.96)
    assert written_criteria("w1") is None
    nothing = {"problem": None, "calls": None, "version": None, "retired": None}
    assert written_criteria({"written": 3, "guards": 3, "saturation": [], "calls": True}) == nothing | {"criteria": []}
    unknown = {"id": "None", "text": None, "points": None, "veto": False, "guard": False, "saturation": None}
    found = written_criteria({"written": ["w1", {"id": None, "points": "6"}], "guards": [["w1"]]})
    assert found == nothing | {"criteria": [unknown]}


def test_what_is_shown_is_not_shown_again_among_further_keys_and_what_cannot_be_read_is() -> None:
    found = details_of(Judged(0, judged_by(cascade=ROUTES["sure"], prompt_criteria=WRITTEN), None))
    assert found["more"] == {}
    assert found["flags"] == []
    assert details_of(Judged(0, judged_by(cascade="x", prompt_criteria=[1]), None))["more"] == {
        "cascade": "x",
        "prompt_criteria": [1],
    }


def test_the_terminal_names_both() -> None:
    both = judged_by(cascade=ROUTES["check"], prompt_criteria=WRITTEN)
    text = describe_group(details_of(Judged(0, both, None)), width=100)
    assert "cascade: strong, check, confidence 0.400, disagreement 0.125" in text
    assert "w1 (6, veto): States that the product is 42." in text
    none = judged_by(prompt_criteria={"written": [], "problem": "the reply was of no use"})
    text = describe_group(details_of(Judged(0, none, None)), width=100)
    assert "no criteria were written\n  the reply was of no use" in text


def test_a_redacted_group_keeps_the_reason_and_the_numbers_and_no_text() -> None:
    hidden = {"written": [{"id": "w1", "text": "xsecretx", "points": 6, "veto": True}], "problem": "xsecretx"}
    result = judged_by(cascade=ROUTES["unsure"] | {"judge": "xsecretx"}, prompt_criteria=hidden)
    assert "xsecretx" in json.dumps(details_of(Judged(0, result, None))), "the test can fail"
    found = details_of(Judged(0, result, None), redact=True)
    assert "xsecretx" not in json.dumps(found)
    assert found["route"] == ROUTES["unsure"] | {"judge": None}
    assert found["written"]["criteria"][0]["points"] == 6
    assert "escalated" in found["flags"]


def test_the_page_says_which_judge_of_a_cascade_scored_a_group_and_why(browser: Browser, tmp_path: Path) -> None:
    results = [judged_by(cascade=one) | {"group_id": name} for name, one in ROUTES.items()]
    browser.open(report_of(tmp_path, write_lines(tmp_path / "scored.jsonl", results)))
    browser.group("sure")
    assert browser.text(".route") == "Cascade: scored by cheap. It was sure. Confidence 0.300, threshold 0.200."
    for name, words in (
        ("unsure", "Escalated: the judge before it was not sure. Confidence 0.050, threshold 0.200."),
        ("check", "Disagreement found by the check: 0.125"),
        ("late", "the last judge asked was cheap. No scores count"),
    ):
        browser.run("location.hash = `group=${arguments[0]}`", name)
        browser.group(name)
        assert words in browser.text(".route")
    browser.click(".controls .flag", "escalated")
    assert browser.texts(".row-head .name")[:1] == ["unsure"]
    assert browser.text(".said").startswith("1 of 4 groups")


async def _run(folder: Path, question: str) -> tuple[Path, Path]:
    group = group_of(dict.fromkeys(NAMES, "42") | {"fair": "41", "poor": "7"}, group_id="g", question=question)
    injected = {"text": "<img src=x onerror='window.ran=1'> names the product, 42.", "points": 2, "veto": False}
    judge = Both(criteria(injected, {"text": "Shows how \u202e42 comes about.", "points": 3, "veto": False}))
    return await judged(folder, [group], [judge], criteria="auto")


async def test_the_page_shows_the_criteria_of_a_real_run_as_text(browser: Browser, tmp_path: Path) -> None:
    results, ledger = await _run(tmp_path, "What is 6 * 7?")
    page = report_of(tmp_path, results, ledger)
    (detail,) = details_in(page)
    assert [one["points"] for one in detail["written"]["criteria"]] == [2.0]  # hidden characters are refused
    browser.open(page)
    browser.group("g")
    assert "Criteria for this prompt 1, written once for the prompt" in browser.text(".written summary")
    assert "<img src=x onerror='window.ran=1'> names the product, 42." in browser.text(".written")
    assert browser.run("return window.ran ?? null") is None
    assert browser.run("return document.querySelector('.written img')") is None


async def test_the_page_shows_a_real_cascade(browser: Browser, tmp_path: Path) -> None:
    quality = {"good": 0.9, "fair": 0.5, "poor": 0.1}
    answers = {name: f"answer {name}" for name in quality}
    groups = [group_of(answers, group_id=f"g{n}", question=f"What is {n}?") for n in range(4)]
    cheap, strong = SimulatedJudge(quality, Noise(0.2), model="cheap"), SimulatedJudge(quality, model="strong")
    panel = {"mode": "cascade", "confidence": 0.9}
    results, ledger = await judged(tmp_path, groups, [cheap, strong], panel=panel)
    browser.open(report_of(tmp_path, results, ledger))
    browser.group("g0")
    assert "Escalated: the judge before it was not sure." in browser.text(".route")
    assert "threshold 0.900" in browser.text(".route")
    assert "escalated" in browser.text(".group-head")


def test_hostile_criteria_and_routes_are_text(browser: Browser, tmp_path: Path) -> None:
    text = "</script><script>window.ran=1</script><svg onload='window.ran=1'> \u202ereversed"
    hostile = {"id": text, "text": text, "points": 1, "veto": True}
    named = judged_by(
        cascade={"slot": 0, "judge": text, "why": text, "thresholds": [1]},
        prompt_criteria={"written": [hostile], "problem": text, "guards": [text], "saturation": {text: 0.5}},
    )
    none = judged_by(prompt_criteria={"written": [], "problem": text}) | {"group_id": "none"}
    browser.open(report_of(tmp_path, write_lines(tmp_path / "scored.jsonl", [named, none])))
    browser.group("g")
    assert "svg onload" in browser.text(".written li")
    assert "met by 50 % of earlier answers" in browser.text(".written li")
    assert "U+202E" in browser.text(".route")
    assert "does not know why" in browser.text(".route")
    browser.run("location.hash = 'group=none'")
    browser.group("none")
    assert "No criteria were written for this prompt: </script>" in browser.text(".written")
    assert browser.run("return window.ran ?? null") is None
