"""The part of a reply that is read, at the exact edges: limits, tags, fences, channels."""

from __future__ import annotations

import json

import pytest

from calipers.replies.text import (
    LIMIT,
    TOLERANT_LIMIT,
    condense_reply,
    end_of_reply,
    strip_fence,
    strip_reasoning,
)

GAP = "… {:,} characters left out …\n"


def test_the_limits_are_64_thousand_and_a_million_characters() -> None:
    assert (TOLERANT_LIMIT, LIMIT) == (2**16, 2**20)


@pytest.mark.parametrize(("text", "limit", "end"), [("abcd", 4, "abcd"), ("abcd", 3, "bcd"), ("abcd", 5, "abcd")])
def test_the_end_of_a_reply_is_as_long_as_allowed(text: str, limit: int, end: str) -> None:
    assert end_of_reply(text, limit) == end


def test_by_default_64_thousand_characters_of_the_end_stay() -> None:
    text = "".join(chr(65 + number % 26) for number in range(2**16 + 3))
    assert end_of_reply(text) == text[3:]
    assert end_of_reply(text[3:]) == text[3:]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("</think>b", "b"),
        ("<think>a", None),
        ("<think>a</think>b<think>c", None),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<THINK>a</Think>B", "B"),
        ("<thinking>a</thinking>b", "b"),
        ("<think" + " " * 63 + ">a</think>b", "b"),
        ("[think]a[/think]b", "b"),
        ("◁think▷a◁/think▷b", "b"),
        ("<|channel>thought a<channel|>b", "b"),
        ("a<seed:think>b</seed:think>c", "c"),
        ("say `</think>` here", "say `</think>` here"),
        ("say `</think>", ""),
        ("</think>` here", "` here"),
        ('"</think>" here', '"</think>" here'),
        ("<thinker>a</thinker>b", "<thinker>a</thinker>b"),
        ("a </think1> b", "a </think1> b"),
        ("İ <think>a</think>b", "b"),
        ('{"why": "</think>", "score": 1}', '{"why": "</think>", "score": 1}'),
        ('x {"why": "</think>", "score": 1} </think> y', " y"),
        ('{"why": "</think> unclosed', '{"why": "</think> unclosed'),
        ("1 < 2 and [3]", "1 < 2 and [3]"),
        ("analysisThe answer.assistantfinalB", "B"),
        ("analysisThe answer.assistantfinalBassistantfinalC", "C"),
        ("  analysisThe answer", None),
        ("analysis the answer.assistantfinalB", "analysis the answer.assistantfinalB"),
        ("<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>b<|return|>c", "b"),
        ("<|channel|>final<|message|>b", "b"),
        ("<|channel|>final json<|constrain|>x<|message|>b<|end|>", "b"),
        ("<|channel|>final<|message|>a<|end|><|channel|>final<|message|>b<|end|>", "b"),
        ("<|channel|>analysis<|message|>a", None),
    ],
)
def test_what_follows_the_reasoning_is_the_answer(text: str, rest: str | None) -> None:
    assert strip_reasoning(text) == rest


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("  a  ", "a"),
        ("```\na\n```", "a"),
        ("```json\n{}\n```", "{}"),
        ("~~~\na\n~~~", "a"),
        ("````\n```a```\n````", "```a```"),
        ("```\na\n```\nb\n```", "```\na\n```\nb\n```"),
        ("```a", "```a"),
        ("```(1)```", "(1)"),
        ("```{1}```", "{1}"),
        ("``a``", "``a``"),
        ("```\na", "a"),
        ("\n```\n a \n```\n", "a"),
    ],
)
def test_a_fence_around_the_whole_reply_is_removed(text: str, body: str) -> None:
    assert strip_fence(text) == body


def test_many_documents_are_skipped_up_to_a_bound() -> None:
    document = '{"a": "x </think> y"} '
    assert strip_reasoning("x " + document * 20) == "x " + document * 20
    assert strip_reasoning("x " + document * 33) != "x " + document * 33


def test_a_reply_of_exactly_a_megabyte_stays() -> None:
    text = "x" * 2**20
    assert condense_reply(text) is text
    assert condense_reply(f"{text} ") == text
    longer = f"{'y' * 5}{text}"
    assert condense_reply(longer) == GAP.format(len(longer) - 2**17) + text[: 2**17]


def test_long_reasoning_is_told_by_a_gap() -> None:
    reasoning, answer = f"<think>{'x' * 2**20}</think>", "The answer is B."
    whole = reasoning + answer
    assert condense_reply(whole) == f"<think>{GAP.format(len(reasoning))}</think>{answer}"
    opened = f"<think>{'x' * 2**20}"
    assert condense_reply(opened) == f"<think>{GAP.format(len(opened) - 2**17)}{opened[-(2**17) :]}"
    both = reasoning + "y" * (2**20 + 1)
    left = GAP.format(2**20 + 1 - 2**17) + "y" * 2**17
    assert condense_reply(both) == f"<think>{GAP.format(len(reasoning))}</think>{left}"


@pytest.mark.parametrize(("length", "texts", "kept"), [(2**20, 2, 8000), (8100, 140, 1000), (8100, 128, 8000)])
def test_strings_of_a_document_are_cut_to_the_longest_length_that_fits(length: int, texts: int, kept: int) -> None:
    row = ["x" * length] * texts
    row += ["y" * 60, "z" * 8000, "w" * 8001, "v" * 1000, "u" * 1001]
    shorter = [one if len(one) <= kept else f"{one[:kept]}…" for one in row]
    assert json.loads(condense_reply(json.dumps(row))) == shorter
    assert json.loads(condense_reply(f"```json\n{json.dumps(row)}\n```")) == shorter


def test_at_last_only_short_strings_stay() -> None:
    row = ["x" * 61, "y" * 60, *["z" * 1500] * 1100]
    assert json.loads(condense_reply(json.dumps(row))) == ["…", "y" * 60, *["…"] * 1100]


def test_white_space_between_strings_is_shortened_from_a_kilobyte_on() -> None:
    padding = json.dumps("x" * 2**20)
    whole = f'["a",{" " * 1022}"b",{" " * 1023}"c", {padding}]'
    short = condense_reply(whole)
    assert f'["a",{" " * 1022}"b", "c", ' in short


def test_a_document_is_not_cut_inside_an_escape() -> None:
    for at in range(6):
        text = "x" * (8000 - at) + "\\u00e9\\ud83d\\ude00" + "y" * 2**20
        short = json.loads(condense_reply(f'["{text}"]'))[0]
        assert short[:-1] == (json.loads(f'"{text}"'))[: len(short) - 1]
        assert 8000 - at <= len(short) - 1 <= 8000


def test_what_is_no_document_or_holds_too_many_strings_is_cut_from_the_front() -> None:
    for whole in (f"[1, {'x' * 2**20}", json.dumps([""] * 120_001 + ["x" * 2**20]), f"say {json.dumps(['x' * 2**20])}"):
        assert condense_reply(whole).startswith("… ")
