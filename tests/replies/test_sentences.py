"""Running text is cut into sentences without losing any, and other people's words are taken out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.rejected import Rejected
from calipers.replies.sentences import (
    before_next_example,
    blank_quotations,
    both_ends,
    json_of_code_block,
    json_of_text,
    plain_punctuation,
    prepare_reply,
    split_sentences,
    without_code_blocks,
)


def test_the_last_sentence_is_open_when_the_text_just_stops() -> None:
    assert [(part.text, part.closed) for part in split_sentences("One. Two\nThree, and")] == [
        ("One.", True),
        ("Two", True),
        ("Three, and", False),
    ]
    assert split_sentences("一。二。")[-1].closed


@given(st.text(alphabet="ab .!?\n。", max_size=200))
def test_sentences_stand_where_they_say(text: str) -> None:
    for part in split_sentences(text):
        assert text[part.start : part.start + len(part.text)] == part.text


def test_of_endless_text_only_the_end_is_cut_into_sentences() -> None:
    parts = split_sentences("One. " * 100_000)
    assert len(parts) <= 400
    assert parts[-1].text == "One."


@given(st.text())
def test_plain_punctuation_keeps_every_position(text: str) -> None:
    assert len(plain_punctuation(text)) == len(text)


def test_typographic_signs_and_private_characters_become_plain() -> None:
    assert plain_punctuation("“Ａ”：【1】’\ue000") == '"A":[1]\'?'


def test_long_runs_shrink_and_words_do_not() -> None:
    assert prepare_reply("*" * 50 + "aaaaaaaaaaaa").text == "******aaaaaaaaaaaa"


def test_code_blocks_go_and_a_few_words_in_the_last_one_stay() -> None:
    assert without_code_blocks("before\n```py\ncode\n```\nafter").split() == ["before", "after"]
    assert without_code_blocks("before\n```\nnever closed").split() == ["before"]
    assert without_code_blocks("verdict:\n```\nA\n```").split() == ["verdict:", "A"]


def test_long_quotations_are_blank_and_quoted_names_are_not() -> None:
    assert blank_quotations('It says "A is better than B" and "B".').split() == ["It", "says", "and", "B", "."]


def test_json_is_read_where_the_reply_ends_with_it() -> None:
    assert json_of_text('Here it is: {"a": 1}') == {"a": 1}
    assert json_of_text('{"a": 1} as asked') is None
    assert json_of_text("[" * 100_000 + "]" * 100_000) is None
    assert json_of_text('```json\n{"a": 1}\n```\n') == {"a": 1}
    assert json_of_text("True") is True
    assert json_of_code_block('```json\n{"a": 1}\n```\nas asked') == {"a": 1}
    assert json_of_code_block('so\n```json\n{"a": 1}\n```\nas asked') is None


def test_a_new_example_ends_the_reply_only_when_something_was_said_before_it() -> None:
    example = "# Instruction:\nName a fruit.\n# Output (a):\nPear"
    assert before_next_example(f"Output (b)\n{example}") == "Output (b)\n"
    assert before_next_example(example) == example


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" \n", "empty reply"),
        ("<think>so", "the reasoning never ended"),
        (("```\n" + "x" * 100 + "\n```\n") * 2, "the reply has only code blocks"),
    ],
)
def test_nothing_to_read_is_a_reason(text: str, why: str) -> None:
    with pytest.raises(Rejected, match=why):
        prepare_reply(text)


def test_reasoning_and_special_tokens_are_gone() -> None:
    reply = prepare_reply("<think>A?</think>B<|eot_id|>")
    assert reply.text.strip() == "B"


def test_an_endless_sentence_is_cut_into_pieces() -> None:
    """The patterns that read a sentence are searched in a piece of it, so that their time is bounded."""
    assert [len(part.text) for part in split_sentences("a" * 1_000)] == [1_000]
    assert [(len(part.text), part.start) for part in split_sentences(" " + "a" * 1_001)] == [(1_000, 1), (1, 1_001)]


def test_of_many_sentences_the_first_and_the_last_are_read() -> None:
    assert len(split_sentences("No. " * 400)) == 400
    parts = split_sentences("".join(f"No {n}. " for n in range(401)))
    assert [part.text for part in parts] == [f"No {n}." for n in range(401) if n != 20]


@pytest.mark.parametrize(
    ("items", "ends"), [("", ""), ("a", "a"), ("abcd", "abcd"), ("abcde", "abde"), ("abcdefgh", "abgh")]
)
def test_of_both_ends_each_item_comes_once(items: str, ends: str) -> None:
    assert "".join(both_ends(items, 2)) == ends


def test_a_code_block_goes_wherever_the_reply_begins() -> None:
    for blanks in ("", "\n", " \n\n"):
        assert prepare_reply(f"{blanks}Verdict: yes\n```py\nno\n```\nSo it is.").text.split() == [
            "Verdict:", "yes", "So", "it", "is.",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("B is better.\n# Input:\nfoo", "B is better.\n# Input:\nfoo"),
        ("B is better.\n# Input:\nfoo\n# Output (a):\nPear", "B is better.\n"),
        ("# Output (b):\nis better.\n# Input:\nfoo\n# Output (a):\nPear", "# Output (b):\nis better.\n"),
        ("# Output (b):\nis better.\n# Input:\nfoo", "# Output (b):\nis better.\n# Input:\nfoo"),
        ("B is better.\nUser: go on", "B is better.\n"),
    ],
)
def test_an_example_begins_with_a_turn_or_has_a_candidate_after_it(text: str, kept: str) -> None:
    assert before_next_example(text) == kept
