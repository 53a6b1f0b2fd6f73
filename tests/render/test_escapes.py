"""escape shows what is invisible or speaks to a chat template, and unescape takes it back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.render.escapes import escape, escape_all_in_steps, escape_in_steps, unescape
from calipers.types.steps import run_steps
from strategies import texts


@given(st.lists(texts(), max_size=6))
def test_escaped_text_is_utf8_without_controls_and_unescape_is_the_inverse(drawn: list[str]) -> None:
    escaped = list(map(escape, drawn))
    assert list(run_steps(escape_all_in_steps(drawn))) == escaped
    assert list(map(unescape, escaped)) == drawn
    for text in escaped:
        text.encode()
        assert not [
            char for char in text.replace("\r\n", "\n") if unicodedata.category(char) == "Cc" and char not in "\n\t"
        ]


def test_half_a_line_end_is_escaped_at_the_end_of_a_text_and_a_literal_escape_is_told_from_a_real_one() -> None:
    assert list(run_steps(escape_all_in_steps(["one\r", "two\r\n"]))) == ["one\\u{d}", "two\r\n"]
    assert escape("\\u{200b}") == "\\u{5c}u{200b}"
    assert escape("\u200b") == "\\u{200b}"


def test_a_long_text_is_escaped_in_steps_that_do_not_show() -> None:
    assert sum(1 for _ in escape_in_steps("<|im_start|>" * 20_000)) == 14
    for token in (*TOKENS, *LOOK_ALIKE, "\u200b\u200b", "\r\n", "\\u{41}", "\u0645\u200c"):
        for before in range(2**14 - len(token), 2**14 + 1):
            text = f"{' ' * before}{token} "
            assert escape(text) == " " * before + escape(f" {token} ")[1:], (before, token)


# Signs that are drawn (numbers' and verses' marks) or only lay out hieroglyphs.
_VISIBLE_FORMAT_SIGNS = (
    "ARABIC NUMBER", "ARABIC SIGN", "ARABIC FOOTNOTE", "ARABIC END OF", "ARABIC DISPUTED", "ARABIC POUND",
    "ARABIC PIASTRE", "KAITHI ", "EGYPTIAN ", "SYRIAC ABBREVIATION",
)  # fmt: skip


@pytest.mark.slow
def test_every_invisible_character_is_escaped_and_no_other() -> None:
    """The fast path and the full patterns agree, over the planes that have characters of these kinds."""
    characters = [chr(code) for code in (*range(0x20000), *range(0xE0000, 0xE1000))]
    invisible = {
        char
        for char in characters
        if (unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} and char not in "\n\t")
        or (unicodedata.category(char) == "Cf" and not unicodedata.name(char, "").startswith(_VISIBLE_FORMAT_SIGNS))
    }
    escaped = {char for char in characters if escape(char) != char}
    assert invisible <= escaped
    extra = {char for char in escaped - invisible if unicodedata.category(char) not in {"Cn", "Mn"}}
    assert extra == {"\u115f", "\u1160", "\u3164", "\uffa0"}


TOKENS = [
    "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|channel|>", "<｜User｜>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "<s>", "</s>", "<start_of_turn>", "<end_of_turn>", "<think>", "</think>", "<tool_call>", "<tool_call|>", "]~b]",
    "[TOOL_CALLS]", "[gMASK]", "<fim_prefix>", "<unused7>",
]  # fmt: skip
LOOK_ALIKE = [
    "@kom candidate ZZ", "  @kom end QX", "\n@vuz\tassistant", "＠kom candidate ZZ", "﹫hah system",
    "@kom marks layout lines.", "@k\u00a0candidate ZZ", "@komkomkomkomkom end",
    "＜|im_start|>system", "‹|channel|›analysis", "<│im_start│>", "<∣ assistant ∣>",
    "<function_results>ok</function_results>", "<tool_result>", '<invoke name="bash">', "<system>obey</system>",
    "<|start|>assistant<|channel|>final<|message|>", "<BOS_TOKEN>",
]  # fmt: skip
ORDINARY = [
    "plain\n\ttext", "a\r\nb", "x < y [1] ~/dir C:\\temp", "你好，世界。", "naïve – “quoted”…", "👩‍👧 ❤️", "می‌خواهم",
    "<b>bold</b>", "mail bob@kom user group", "@property\ndef end(self): ...", "@alice thanks", "⟨ψ|φ⟩", "a < b | c",
    "<user>", "git@host:x", "\u05e9\u05dc\u05d5\u05dd",
]  # fmt: skip


def test_tokens_of_chat_templates_and_what_only_looks_like_layout_are_shown_to_be_none() -> None:
    for token in TOKENS:
        escaped = escape(f"before {token} after")
        assert token not in escaped
        assert unescape(escaped) == f"before {token} after"
    for text in LOOK_ALIKE:
        assert "\\u{" in escape(text), text
        assert unescape(escape(text)) == text
    assert [text for text in ORDINARY if escape(text) is not text] == []
