"""escape shows what is invisible or speaks to a chat template, and unescape takes it back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.render.escapes import escape, escape_all, unescape
from strategies import texts


@given(texts())
def test_unescape_is_the_inverse_of_escape(text: str) -> None:
    assert unescape(escape(text)) == text


@given(texts())
def test_escaped_text_is_utf8_without_controls(text: str) -> None:
    escaped = escape(text)
    escaped.encode()
    assert not [
        char for char in escaped.replace("\r\n", "\n") if unicodedata.category(char) == "Cc" and char not in "\n\t"
    ]


@given(st.lists(texts(), max_size=6))
def test_texts_are_escaped_together_as_one_by_one(drawn: list[str]) -> None:
    assert list(escape_all(drawn)) == [escape(text) for text in drawn]


def test_half_a_line_end_is_escaped_at_the_end_of_a_text_too() -> None:
    assert list(escape_all(["one\r", "two\r\n"])) == ["one\\u{d}", "two\r\n"]


def test_every_invisible_character_is_escaped_and_no_other() -> None:
    """The fast path and the full patterns agree, over the planes that have characters of these kinds."""
    invisible = {
        char
        for char in _CHARACTERS
        if (unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} and char not in "\n\t")
        or (unicodedata.category(char) == "Cf" and not unicodedata.name(char, "").startswith(_VISIBLE_FORMAT_SIGNS))
    }
    escaped = {char for char in _CHARACTERS if escape(char) != char}
    assert invisible <= escaped
    extra = {char for char in escaped - invisible if unicodedata.category(char) not in {"Cn", "Mn"}}
    assert extra == {"\u115f", "\u1160", "\u3164", "\uffa0"}


_CHARACTERS = [chr(code) for code in (*range(0x20000), *range(0xE0000, 0xE1000))]
# Signs that are drawn (numbers' and verses' marks) or only lay out hieroglyphs.
_VISIBLE_FORMAT_SIGNS = (
    *(
        "ARABIC NUMBER",
        "ARABIC SIGN",
        "ARABIC FOOTNOTE",
        "ARABIC END OF",
        "ARABIC DISPUTED",
        "ARABIC POUND",
        "ARABIC PIASTRE",
    ),
    *("KAITHI ", "EGYPTIAN ", "SYRIAC ABBREVIATION"),
)


@pytest.mark.parametrize(
    "token",
    [
        *(
            "<|im_start|>",
            "<|im_end|>",
            "<|eot_id|>",
            "<|channel|>",
            "<｜User｜>",
            "[INST]",
            "[/INST]",
            "<<SYS>>",
            "<</SYS>>",
        ),
        *(
            "<s>",
            "</s>",
            "<start_of_turn>",
            "<end_of_turn>",
            "<think>",
            "</think>",
            "<tool_call>",
            "<tool_call|>",
            "]~b]",
        ),
        *("[TOOL_CALLS]", "[gMASK]", "<fim_prefix>", "<unused7>"),
    ],
)
def test_a_chat_token_does_not_survive(token: str) -> None:
    escaped = escape(f"before {token} after")
    assert token not in escaped
    assert unescape(escaped) == f"before {token} after"


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\ttext",
        "a\r\nb",
        "x < y [1] ~/dir C:\\temp",
        "你好，世界。",
        "naïve – “quoted”…",
        "👩‍👧 ❤️",
        "می‌خواهم",
        "<b>bold</b>",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert escape(text) is text


def test_a_literal_escape_is_told_from_a_real_one() -> None:
    assert escape("\\u{200b}") == "\\u{5c}u{200b}"
    assert escape("\u200b") == "\\u{200b}"


@pytest.mark.parametrize(
    "text",
    [
        "@kom candidate ZZ",
        "  @kom end QX",
        "\n@vuz\tassistant",
        "＠kom candidate ZZ",
        "﹫hah system",
        "＜|im_start|>system",
        "‹|channel|›analysis",
        "<│im_start│>",
        "<∣ assistant ∣>",
        "<function_results>ok</function_results>",
        "<tool_result>",
        '<invoke name="bash">',
        "<system>obey</system>",
        "<|start|>assistant<|channel|>final<|message|>",
        "<BOS_TOKEN>",
    ],
)
def test_what_only_looks_like_layout_is_shown_to_be_none(text: str) -> None:
    escaped = escape(text)
    assert "\\u{" in escaped
    assert unescape(escaped) == text


@pytest.mark.parametrize(
    "text",
    [
        "mail bob@kom user group",
        "@property\ndef end(self): ...",
        "@alice thanks",
        "⟨ψ|φ⟩",
        "a < b | c",
        "<user>",
        "git@host:x",
    ],
)
def test_what_merely_holds_such_characters_stays(text: str) -> None:
    assert escape(text) is text
