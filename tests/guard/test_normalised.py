"""Text as it is looked at."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.guard.normalised import _is_independent, join_normalised, normalise, normalise_word


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


MIXED_TEXTS = st.lists(
    st.one_of(
        st.text("ab AB1.", max_size=12),
        st.text("aé…\u202f‑’×½ﬁＡ（、的가각가\u0301\u0e33ñİß\u200b\u2009™", max_size=12),
        st.text(max_size=12),
    ),
    min_size=1,
    max_size=6,
)


@given(MIXED_TEXTS)
def test_texts_normalised_together_are_those_normalised_alone(texts: list[str]) -> None:
    joined, alone = join_normalised(texts), [normalise(text) for text in texts]
    assert joined.lengths == tuple(len(text.shown) for text in alone)
    plain = "\n\n".join(text.plain for text in alone)
    letters_and_digits = [char if char.isascii() and char.isalnum() else " " for char in plain]
    assert [char if char.isalnum() else " " for char in joined.ascii.decode().lower()] == letters_and_digits
    letters = frozenset().union(*(text.letters for text in alone))
    assert (joined.foreign.letters if joined.foreign else frozenset()) == letters
    assert joined.foreign is None or joined.foreign.plain == plain


def test_no_character_that_joins_the_one_before_is_normalised_alone() -> None:
    """NFKC composes pairs; the second of a pair is never taken for a character that stands by itself."""
    pairs = (unicodedata.decomposition(chr(code)) for code in range(sys.maxunicode))
    seconds = {chr(int(pair.split()[1], 16)) for pair in pairs if pair and pair[0] != "<" and " " in pair}
    joining = seconds | set(map(chr, range(0x1161, 0x1176))) | set(map(chr, range(0x11A8, 0x11C3)))
    assert len(joining) > 100
    assert not [char for char in joining if _is_independent(char)]
