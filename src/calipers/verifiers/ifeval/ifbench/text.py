"""How IFBench's rules read text: sentences by Punkt, words between blanks, and words without marks."""

from __future__ import annotations

import string
import unicodedata
from typing import Final

from calipers.verifiers.ifeval.punkt import parameters
from calipers.verifiers.ifeval.sentences import split_sentences

MARKS: Final = string.punctuation
_NO_MARKS: Final = str.maketrans("", "", MARKS)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text for IFBench's rules."""
    return split_sentences(text, parameters())


def without_marks(text: str) -> str:
    """Return ``text`` without ASCII marks, for IFBench's rules."""
    return text.translate(_NO_MARKS)


def bare(text: str) -> str:
    """Return ``text`` without ASCII marks and blanks around it, for IFBench's rules."""
    return text.strip(MARKS + " ")


def plain(text: str) -> str:
    """Return ``text`` without accents and all that is not ASCII, for IFBench's rules."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
