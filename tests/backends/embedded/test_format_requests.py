from __future__ import annotations

import pytest

from calipers.backends.embedded.format_requests import requested_format_checks


@pytest.mark.parametrize(
    ("task", "keeps", "misses"),
    [
        ("Answer in JSON.", '```json\n{"a": 1}\n```', "a is 1"),
        ("End with \\boxed{result}.", "so \\boxed{3}", "so 3"),
        ("Answer yes or no.", "Yes, it does.", "It depends."),
        ("Use bullet points.", "- one\n- two", "one and two"),
        ("In at most 5 words, why?", "Because it rained", "Because it rained all day and all night long"),
        ("Write at least 12 words.", "word " * 12, "too short"),
        ("Explain in two sentences.", "First. Second.", "Only one."),
        ("Explain in one sentence.", "Only one.", "First. Second. Third."),
    ],
)
def test_a_wish_is_kept_or_missed(task: str, keeps: str, misses: str) -> None:
    (check,) = requested_format_checks(task)
    assert check(keeps)
    assert not check(misses)


@pytest.mark.parametrize(
    "task", ["", "Where is order 4711?", "The JSONL reader fails.", "He said three things in a word salad."]
)
def test_a_task_without_such_a_wish_has_no_checks(task: str) -> None:
    assert requested_format_checks(task) == ()
