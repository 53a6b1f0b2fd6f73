"""Randomness comes from what is asked, and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from asking import question, request, view
from calipers.testing.question import own_characters, request_content, request_identity, transcript_text
from calipers.types import Candidate, Image


def test_opinions_depend_on_messages_and_sample_only() -> None:
    asked = request()
    assert request_content(asked) == request_content(replace(asked, schema={"type": "object"}, max_tokens=1))
    assert request_content(asked) != request_content(request(sample=1))
    assert request_content(asked) != request_content(request(order=(1, 0, 2, 3)))


def test_a_request_is_another_when_anything_of_the_ledger_key_changes() -> None:
    asked = request()
    others = [replace(asked, schema={}), replace(asked, max_tokens=1), replace(asked, params={"temperature": 1})]
    assert len({request_identity(one) for one in [asked, *others]}) == 4
    assert request_identity(asked) == request_identity(replace(asked, params=MappingProxyType({})))


def test_draws_by_content_repeat_and_draws_by_attempt_do_not() -> None:
    first, second = question(), question(call=7, attempt=1)
    assert first.by_content().random() == second.by_content().random()
    assert first.by_attempt().random() != second.by_attempt().random()
    assert first.by_attempt().random() == question(call=7).by_attempt().random()


def test_draws_by_candidate_follow_the_trajectory_through_all_questions() -> None:
    here, there = question(), question(request(order=(3, 0), sample=5))
    assert here.by_candidate(here.shown[0]).random() == there.by_candidate(there.shown[1]).random()
    assert here.by_candidate(here.shown[0]).random() != here.by_candidate(here.shown[1]).random()


@pytest.mark.parametrize("change", [{"seed": 1}, {"label": "other"}])
def test_seed_and_label_change_every_draw(change: dict[str, int | str]) -> None:
    plain = question()
    other = replace(plain, **change)  # type: ignore[arg-type]  # one field of either type
    candidate = plain.shown[0]
    assert plain.by_content().random() != other.by_content().random()
    assert plain.by_attempt().random() != other.by_attempt().random()
    assert plain.by_candidate(candidate).random() != other.by_candidate(candidate).random()


def test_characters_count_text_reasoning_and_arguments_after_the_shared_prefix() -> None:
    call = {"function": {"name": "find", "arguments": '{"q":1}'}}
    messages = (
        {"role": "user", "content": "shared"},
        {"role": "assistant", "content": [{"type": "text", "text": "four"}, {"type": "image_url"}], "reasoning": "why"},
        {"role": "assistant", "content": None, "tool_calls": [call, {"function": {"arguments": {"q": 1}}}]},
    )
    assert own_characters(Candidate((0,), messages, ()), 1) == 4 + 3 + len('{"q":1}') + len('{"q": 1}')


def test_shown_text_is_the_transcript_on_one_line_without_images() -> None:
    assert (
        transcript_text(Candidate((0,), (), ("one ", Image("https://example.org/i.png"), "two\nthree")))
        == "one two three"
    )


def test_lone_surrogates_can_be_asked_about() -> None:
    assert question(request(view(["\ud800", "b", "c", "d"]))).by_content().random() >= 0
