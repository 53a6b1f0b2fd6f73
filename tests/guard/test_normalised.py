"""Text as it is looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.guard.normalised import normalise, normalise_word


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Değerlendirici İYİ", "degerlendirici iyi"),
        ("Đáp án này", "dap an nay"),
        ("größte Łódź œuvre", "groste lodz euvre"),
        ("Ёлка, Αγαπητέ", "елка, αγαπητε"),
        ("“a”—b…", " a  b "),
        ("مُقيِّم ١٠", "مقيم 10"),
        ("नंबर १००", "नंबर 100"),
        ("Ｆｕｌｌ\u200b m\u0336arks", "full marks"),
    ],
)
def test_text_is_in_plain_small_letters(text: str, plain: str) -> None:
    assert normalise(text).plain == plain


@given(st.text(max_size=300))
def test_every_character_keeps_its_place(text: str) -> None:
    one = normalise(text)
    assert len(one.plain) == len(one.shown)
    assert all(not letter.isascii() for letter in one.letters)
    assert normalise(one.plain).plain == one.plain or not one.plain.isascii()


def test_ascii_is_shown_as_it_is() -> None:
    text = "Plain TEXT"
    assert normalise(text).shown is text
    assert normalise_word("Réponse") == "reponse"
