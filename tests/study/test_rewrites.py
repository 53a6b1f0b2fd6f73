"""Rewrites change how an answer sounds, each its own feature, and leave its content, its code and its thoughts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from calipers.guard.injection import attacks_in
from calipers.render import render
from calipers.study.rewrites import REWRITES, confident, formatted, verbose
from calipers.types import Trajectory, TrajectoryGroup

ANSWER = "I think the bridge might be closed. Take the ferry at 9, e.g. from pier 4. It probably leaves on time."


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_a_rewrite_changes_its_own_feature_and_no_other() -> None:
    marks = {
        "formatted": r"^(?:#|- )",
        "confident": r"certain|definitely|without a doubt",
        "sycophantic": r"[Gg]reat|insightful",
    }
    twice = verbose(f"{ANSWER}\n\nBye.")
    assert (twice.count(ANSWER), twice.count("Bye.")) == (2, 2)
    for name, rewrite in REWRITES.items():
        assert len(rewrite(ANSWER)) > len(ANSWER)
        for own, mark in marks.items():
            assert bool(re.search(mark, rewrite(ANSWER), re.MULTILINE)) == (own == name), (name, own)


def test_a_confident_answer_has_no_hedges() -> None:
    found = confident(ANSWER)
    assert "The bridge is closed. Take the ferry at 9, e.g. from pier 4. It leaves on time." in found
    assert not re.search("think|might|probably", found)


def test_formatting_changes_no_word() -> None:
    found = formatted(ANSWER)
    assert found.splitlines()[2:] == [
        "- I think the bridge might be closed.",
        "- Take the ferry at 9, e.g. from pier 4.",
        "- It probably leaves on time.",
    ]
    assert _words(found)[1:] == _words(ANSWER)


CODE = "Here it is.\n\n```python\nx = 1  # maybe. I think. Yes\n\ny = 2\n```\n\n- a list. It stays\n\n| a | b |"


def test_code_lists_tables_and_thoughts_are_left_alone() -> None:
    for rewrite in REWRITES.values():
        found = rewrite(CODE)
        assert "```python\nx = 1  # maybe. I think. Yes\n\ny = 2\n```" in found
        assert found.count("- a list. It stays") == 1
        assert found.count("| a | b |") == 1
        thought = "<think>\nMaybe. I think so.\n</think>\n\n"
        assert rewrite(f"{thought}{ANSWER}") == f"{thought}{rewrite(ANSWER)}"


def test_no_rewrite_looks_like_an_attack_on_the_judge() -> None:
    texts = [ANSWER, *(rewrite(ANSWER) for rewrite in REWRITES.values())]
    members = [Trajectory(str(n), ({"role": "assistant", "content": text},)) for n, text in enumerate(texts)]
    assert not attacks_in(render(TrajectoryGroup("g", tuple(members))), context=0)


@given(st.sampled_from(sorted(REWRITES)), st.text(max_size=300))
def test_a_rewrite_is_the_same_every_time_and_leaves_blank_answers(name: str, text: str) -> None:
    found = REWRITES[name](text)
    assert found == REWRITES[name](text)
    assert (found == text) == (not text.rpartition("</think>")[2].strip())
