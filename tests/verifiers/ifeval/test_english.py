"""The built-in knowledge of English splits ordinary text."""

import pytest

from calipers.verifiers.ifeval.punkt import built_in_parameters
from calipers.verifiers.ifeval.sentences import LOWER, LOWER_OPENING, split_sentences


@pytest.mark.parametrize(("text", "count"), [
    ("Dr. Smith met Mrs. Jones at 5 p.m. They talked.", 2),
    ("She lives in the U.S. However, he does not.", 2),
    ("Apples vs. pears. Ask Ms. Lee.", 2),
    ("I. Introduction\nII. The plan", 3),
    ("From point A to point B. It goes on.", 2),
    ("J. K. Rowling wrote it.", 1),
    ("Well... Finally. Well... Anderson.", 3),
])  # fmt: skip
def test_ordinary_text_is_split_as_a_reader_would(text: str, count: int) -> None:
    assert len(split_sentences(text, built_in_parameters())) == count


def test_every_listed_word_is_one_that_can_open_a_sentence() -> None:
    """In lower case, seen in lower case, and never said to open a sentence so."""
    for word, seen in built_in_parameters().written.items():
        assert word == word.lower()
        assert seen & LOWER
        assert not seen & LOWER_OPENING
