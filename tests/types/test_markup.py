"""Results in a notebook: what they show is what they hold, and nothing of theirs is markup."""

import asyncio
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.doctor.diagnosis import Check, Diagnosis
from calipers.testing import Noise, SimulatedJudge
from calipers.types import GroupResult, TrajectoryResult, Usage
from calipers.types.markup import escaped, table
from groups import FOUR, QUALITY, group_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \u202edesrever\u200b & \"quoted\" 'too' </td></table>"
ALLOWED = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre"}
ATTRIBUTES = {"style"}


class Tags(HTMLParser):
    """The tags and attributes of some HTML, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(result: object) -> Tags:
    found = Tags(result._repr_html_())  # type: ignore[attr-defined]
    assert found.tags <= ALLOWED
    assert found.attributes <= ATTRIBUTES
    assert found.open == []
    return found


def result(**more: object) -> GroupResult:
    members = (
        TrajectoryResult(HOSTILE, "scored", 0.25, 0.3, 0.1, explanation=HOSTILE),
        TrajectoryResult("none", "abstained", reason=HOSTILE),
        TrajectoryResult("best", "scored", 1.0, 0.9),
    )
    return GroupResult(HOSTILE, "partial", members, 3, Usage(cost_usd=0.5), warnings=(HOSTILE,) * 100)


def test_a_result_is_its_ranking_and_a_missing_score_is_no_number():
    found = shown(result())
    order = [found.text.index(name) for name in ("best", "0.250", "none")]
    assert order == sorted(order)
    assert "abstained: <script>" in found.text
    assert re.search(r"none–––", found.text), "no reward, no score, no error: no number"
    assert "and 36 more" in found.text
    assert "$0.5000" in found.text


def test_text_that_hides_or_reverses_is_labelled():
    found = shown(result())
    assert "[U+202E]desrever[U+200B]" in found.text
    assert not set(found.text) & set("\u202e\u200b")


def test_a_judged_group_renders_itself():
    group = group_of(FOUR)
    found = asyncio.run(calipers.Judge(SimulatedJudge(QUALITY, Noise(0.1)), orders=2).score_group(group))
    text = shown(found).text
    assert all(name in text for name in FOUR)
    assert all(f"{reward:.3f}" in text for reward in found.rewards if reward is not None)


def test_a_diagnosis_renders_itself():
    checks = (Check("format", "good", HOSTILE), Check("order", "bad", "flips"))
    found = shown(Diagnosis("judge/" + HOSTILE, checks, "unfit", HOSTILE, {"orders": 2}))
    assert "orders = 2" in found.text
    assert "flips" in found.text


@given(st.text() | st.text(min_size=290, max_size=320))
def test_escaped_text_is_short_and_has_no_markup(text: str):
    found = escaped(text)
    assert not re.search(r"[<\x00-\x1f\x7f]", found)
    read = Tags(f"<p>{found}</p>")
    assert read.tags == {"p"}
    assert len(re.sub(r"\[U\+[0-9A-F]{4,6}\]", "?", read.text)) <= 301


def test_a_result_is_a_data_frame_in_which_a_missing_number_is_nan():
    frame = pytest.importorskip("pandas") and result().to_pandas()
    assert list(frame["status"]) == ["scored", "abstained", "scored"]
    assert list(frame["reward"].isna()) == [False, True, False]


def test_a_long_table_is_cut_and_says_so():
    found = table(("n",), ([n] for n in range(100)))
    assert found.count("<tr>") == 65
    assert "and 36 more" in found


def test_importing_calipers_imports_no_markup():
    code = "import sys, calipers, calipers.types; print([m for m in sys.modules if 'markup' in m and 'calipers' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
