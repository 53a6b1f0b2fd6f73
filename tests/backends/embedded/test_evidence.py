from __future__ import annotations

import pytest

from calipers.backends.embedded import evidence
from calipers.types import Message
from embedded_cases import TASK, called, said


def test_the_answer_is_what_was_said_after_the_last_tool_result() -> None:
    own = [*said("I will look."), *called("get_order", "ok"), *said("In Oslo."), *said("Anything else?")]
    read = evidence.read_evidence(own)
    assert read.answer == "In Oslo.\nAnything else?"
    assert read.said == "I will look.\nIn Oslo.\nAnything else?"
    assert evidence.read_evidence(own[:3]).answer == "I will look."
    assert evidence.read_evidence([]).answer == ""


def test_thoughts_are_not_the_answer() -> None:
    assert evidence.read_evidence(said("<think>\nOslo? Bergen?</think>\nOslo.")).answer == "Oslo."


def test_text_parts_are_read_and_images_are_not() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
        {"type": "text", "text": "b"},
    ]
    assert evidence.message_text({"role": "user", "content": parts}) == "a\nb"


def test_results_go_to_their_calls_by_id_and_else_in_order() -> None:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("book", "pay")]
    results: list[Message] = [
        {"role": "tool", "tool_call_id": "pay", "content": "paid"},
        {"role": "tool", "tool_call_id": "book", "content": "Error: full"},
    ]
    by_id = evidence.read_evidence([{"role": "assistant", "tool_calls": calls}, *results]).calls
    assert [(call.name, call.result, call.failed) for call in by_id] == [
        ("book", "Error: full", True),
        ("pay", "paid", False),
    ]
    without: list[Message] = [{"role": "tool", "content": "first"}, {"role": "tool", "content": "second"}]
    assert [
        call.result for call in evidence.read_evidence([{"role": "assistant", "tool_calls": calls}, *without]).calls
    ] == [
        "first",
        "second",
    ]


@pytest.mark.parametrize(
    "result",
    [
        "Error: payment method not found",
        '{"error": "no such order"}',
        '{"isError": true, "content": []}',
        '{"success": false}',
        '{"status": "failed"}',
        "Traceback (most recent call last):\n  File",
        "ValueError: bad seat",
        "错误:订单不存在",
    ],
)
def test_a_result_that_reports_failure_is_seen(result: str) -> None:
    assert evidence.read_evidence(called("book", result)).calls[0].failed


@pytest.mark.parametrize(
    "result",
    ['{"error": null, "id": 1}', '{"errors_seen": 0}', "0 errors", '{"success": true}', "The failure rate is 3 %", ""],
)
def test_a_result_that_mentions_failure_is_not_one(result: str) -> None:
    assert not evidence.read_evidence(called("book", result)).calls[0].failed


def test_a_result_flagged_by_its_tool_failed_whatever_it_says() -> None:
    assert evidence.read_evidence(called("book", "ok", is_error=True)).calls[0].failed


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("get_order", False),
        ("search.web", False),
        ("calculate", False),
        ("book_seat", True),
        ("getOrder", False),
        ("target", True),
    ],
)
def test_a_tools_name_tells_look_ups_from_changes(name: str, changes: bool) -> None:  # noqa: FBT001 - the expected value
    assert evidence.read_evidence(called(name, "ok")).calls[0].changes is changes


def test_the_task_is_the_users_words_in_the_prefix_or_the_first_that_follow() -> None:
    system: Message = {"role": "system", "content": "policy"}
    later: Message = {"role": "user", "content": "later"}
    assert evidence.task_text([system, TASK], [later]) == TASK["content"]
    assert evidence.task_text([system], [*said("Hello"), later, TASK]) == "later"
    assert evidence.task_text([], []) == ""


def test_what_is_read_of_one_candidate_is_bounded_and_keeps_the_end() -> None:
    own = [message for i in range(1000) for message in said(f"{i} " + "x" * 20_000)]
    read = evidence.read_evidence([*own, *said("the end")])
    assert len(read.said) < evidence.CHARACTERS + 2 * evidence.MESSAGES
    assert read.said.endswith("the end")
    assert read.turns == evidence.MESSAGES
