"""Responses find the prompts they answer."""

from typing import Any

import pytest

from calipers.errors import InputError
from calipers.verifiers.ifeval.rows import Prompt, Response, pair, read_prompt, read_response


def prompt(line: int, text: str | None = None, key: Any = None) -> Prompt:
    return Prompt(line, key if key is not None else 1000 + line, text if text is not None else f"prompt {line}", (), ())


def answer(line: int, to: str | None, key: Any = None) -> Response:
    return Response(line, f"answer {line}", key, to)


THREE = [prompt(1), prompt(2), prompt(3)]


def lines(prompts: list[Prompt], responses: list[Response]) -> list[tuple[int, int]]:
    return [(asked.line, given.line) for asked, given in pair(prompts, responses).pairs]


def test_responses_are_matched_by_prompt_in_any_order() -> None:
    shuffled = [answer(1, "prompt 3"), answer(2, "prompt 1"), answer(3, "prompt 2")]
    assert lines(THREE, shuffled) == [(3, 1), (1, 2), (2, 3)]


def test_keys_win_over_prompts() -> None:
    keyed = [answer(1, "prompt 1", key=1002), answer(2, "other", key="1003")]
    assert lines(THREE, keyed) == [(2, 1), (3, 2)]


def test_prompts_with_the_same_text_are_answered_in_turn() -> None:
    twins = [prompt(1, "same"), prompt(2, "same")]
    assert lines(twins, [answer(n, "same") for n in (1, 2, 3, 4)]) == [(1, 1), (2, 2), (1, 3), (2, 4)]


def test_a_prompt_that_differs_is_taken_by_its_line_with_a_warning() -> None:
    found = pair(THREE, [answer(1, "prompt 1"), answer(2, "prompt two"), answer(3, "prompt 3")])
    assert [(asked.line, given.line) for asked, given in found.pairs] == [(1, 1), (2, 2), (3, 3)]
    assert "line 2" in found.warnings[0]
    assert "1002" in found.warnings[0]
    assert not found.errors


def test_a_line_that_is_answered_already_is_not_taken() -> None:
    found = pair(THREE, [answer(1, "prompt 2"), answer(2, "prompt two"), answer(3, "prompt 3")])
    assert [(asked.line, given.line) for asked, given in found.pairs] == [(2, 1), (3, 3)]
    assert found.errors == ((2, "prompt: there is no such prompt in the data"),)
    assert [asked.line for asked in found.unanswered] == [1]


def test_files_that_have_nothing_to_do_with_each_other_are_not_matched_by_line() -> None:
    found = pair(THREE, [answer(n, f"another {n}") for n in (1, 2, 3)])
    assert not found.pairs
    assert len(found.errors) == 3


def test_responses_without_prompts_are_matched_by_line_where_there_are_as_many() -> None:
    assert lines(THREE, [answer(n, None) for n in (1, 2, 3)]) == [(1, 1), (2, 2), (3, 3)]
    assert lines(THREE, [answer(n, None) for n in (1, 2)]) == []


def test_prompts_without_a_response_are_told() -> None:
    assert [asked.line for asked in pair(THREE, [answer(1, "prompt 1")]).unanswered] == [2, 3]


GOOD = {
    "key": 1, "prompt": "p", "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
    "kwargs": [{}, {"keywords": ["a"], "num_words": None}],
}  # fmt: skip


def test_a_row_becomes_a_prompt_with_its_instructions_in_their_places() -> None:
    read = read_prompt(GOOD, 7, mode="official")
    assert [asked.id for asked in read.instructions] == GOOD["instruction_id_list"]
    assert (read.line, read.key, read.text) == (7, 1, "p")


@pytest.mark.parametrize(("change", "complaint"), [
    ({"instruction_id_list": None}, "instruction_id_list: is missing"),
    ({"kwargs": {}}, "kwargs: must be a list"),
    ({"kwargs": [{}]}, "kwargs: 1 given for 2 instructions"),
    ({"instruction_id_list": [], "kwargs": []}, "kwargs: 0 given for 0"),
    ({"kwargs": [{}, {"keywords": "a"}]}, r"kwargs\[1\]: keywords:existence: keywords: must be a list"),
    ({"kwargs": [{}, 3]}, r"kwargs\[1\]: keywords:existence: kwargs must be an object"),
    ({"instruction_id_list": ["nope", "keywords:existence"]}, r"instruction_id_list\[0\]: unknown instruction 'nope'"),
    ({"prompt": 3}, "prompt: must be text"),
])  # fmt: skip
def test_what_is_wrong_in_a_row_is_named_by_place_and_field(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_prompt(GOOD | change, 1, mode="official")


@pytest.mark.parametrize(("row", "complaint"), [
    ({}, "response: is missing"),
    ({"response": None}, "response: is missing"),
    ({"response": ["a"]}, "response: must be text"),
    ({"response": "a", "prompt": 1}, "prompt: must be text"),
])  # fmt: skip
def test_a_response_is_text(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_response(row, 1)
