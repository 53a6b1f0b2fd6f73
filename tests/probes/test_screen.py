import string

from hypothesis import given
from hypothesis import strategies as st

from calipers.probes.phrases import APART, WORDS
from calipers.probes.screen import any_word_in

looked_for = st.sampled_from(sorted(word.decode() for word in WORDS))
others = st.text(string.ascii_letters + string.digits, max_size=6)
spaces = st.sampled_from([" ", "\n", "\t", ", ", ". ", "(", ")", '"', "_", "\x1f", ""])
texts = st.lists(st.one_of(looked_for, looked_for.map(str.upper), others, spaces), max_size=30).map("".join)


@given(texts)
def test_it_finds_just_what_cutting_the_text_into_words_finds(text: str):
    assert any_word_in(text) == (not WORDS.isdisjoint(text.encode().translate(APART).split()))


@given(looked_for, others, st.sampled_from(["", " ", "\n", "!"]))
def test_a_word_is_found_wherever_it_stands(word: str, other: str, border: str):
    assert any_word_in(f"{other} {word}{border}")
    assert any_word_in(f"{border}{word} {other}")
    assert any_word_in(f"{other}  {word}")


def test_nothing_is_found_in_nothing():
    assert not any_word_in("")
    assert not any_word_in(" ")
