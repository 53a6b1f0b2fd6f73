"""Rewrites change how an answer sounds, each its own feature, and leave its content, its code and its thoughts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.guard.injection import attacks_in
from calipers.render import render
from calipers.study.comparison.preferences import OWN_FEATURE
from calipers.study.comparison.rewrites import REWRITES, confident, formatted, sycophantic, verbose
from calipers.testing.features import count_confidence, count_flattery, count_markdown
from calipers.types import Trajectory, TrajectoryGroup

ANSWER = "I think the bridge might be closed. Take the ferry at 9, e.g. from pier 4. It probably leaves on time."


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_changes_its_own_feature_and_no_other(name: str) -> None:
    found = REWRITES[name](ANSWER)
    changes = {
        "markdown": count_markdown(found) - count_markdown(ANSWER),
        "confidence": count_confidence(found) - count_confidence(ANSWER),
        "flattery": count_flattery(found) - count_flattery(ANSWER),
    }
    own = OWN_FEATURE[name]
    assert len(found) > len(ANSWER)
    for feature, change in changes.items():
        # What is said twice is hedged twice.
        low, high = (1, 9) if feature == own else (-1, 0) if (name, feature) == ("verbose", "confidence") else (0, 0)
        assert low <= change <= high, feature


def test_a_verbose_answer_says_every_paragraph_twice_and_nothing_else() -> None:
    found = verbose(f"{ANSWER}\n\nBye.")
    assert found.count(ANSWER) == 2
    assert found.count("Bye.") == 2


def test_praise_stands_before_and_after() -> None:
    found = sycophantic(ANSWER)
    assert found.startswith("Great question!")
    assert ANSWER in found
    assert found.endswith("question.")


def test_a_confident_answer_has_no_hedges() -> None:
    found = confident(ANSWER)
    assert "The bridge is closed. Take the ferry at 9, e.g. from pier 4. It leaves on time." in found
    assert count_confidence(found) >= 2


def test_formatting_changes_no_word() -> None:
    found = formatted(ANSWER)
    assert found.splitlines()[2:] == [
        "- I think the bridge might be closed.",
        "- Take the ferry at 9, e.g. from pier 4.",
        "- It probably leaves on time.",
    ]
    assert _words(found)[1:] == _words(ANSWER)


CODE = "Here it is.\n\n```python\nx = 1  # maybe. I think. Yes\n\ny = 2\n```\n\n- a list. It stays\n\n| a | b |"


@pytest.mark.parametrize("name", REWRITES)
def test_code_lists_and_tables_are_left_alone(name: str) -> None:
    found = REWRITES[name](CODE)
    assert "```python\nx = 1  # maybe. I think. Yes\n\ny = 2\n```" in found
    assert found.count("- a list. It stays") == 1
    assert found.count("| a | b |") == 1


@pytest.mark.parametrize("name", REWRITES)
def test_thoughts_are_left_alone(name: str) -> None:
    found = REWRITES[name](f"<think>\nMaybe. I think so.\n</think>\n\n{ANSWER}")
    assert found.startswith("<think>\nMaybe. I think so.\n</think>\n\n")
    assert found.endswith(REWRITES[name](ANSWER))


@pytest.mark.parametrize("name", REWRITES)
def test_no_rewrite_looks_like_an_attack_on_the_judge(name: str) -> None:
    rewritten = Trajectory("a", ({"role": "assistant", "content": REWRITES[name](ANSWER)},))
    other = Trajectory("b", ({"role": "assistant", "content": ANSWER},))
    assert not attacks_in(render(TrajectoryGroup("g", (rewritten, other))), context=0)


@pytest.mark.parametrize("name", REWRITES)
@given(st.text(max_size=300))
def test_a_rewrite_is_the_same_every_time_and_leaves_blank_answers(name: str, text: str) -> None:
    found = REWRITES[name](text)
    assert found == REWRITES[name](text)
    assert (found == text) == (not text.rpartition("</think>")[2].strip())
