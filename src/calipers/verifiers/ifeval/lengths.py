"""``length_constraints:...``: sentences, paragraphs and words counted. ``fixed`` differs outside Latin script."""

from __future__ import annotations

import re
from typing import Final

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.verifiers.ifeval.arguments import Relation
from calipers.verifiers.ifeval.punkt import parameters
from calipers.verifiers.ifeval.rule import Mode, Rule, counted
from calipers.verifiers.ifeval.sentences import sentences
from calipers.verifiers.ifeval.whole_words import HANGUL, UNSPACED, folded, whole, word_counts

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_WORD = re.compile(r"\w+")
_FIRST_WORD_ENDS = re.compile(r"[.,?!'\"]")
_ATTACHED = re.compile(f"[{UNSPACED}{HANGUL}]$")
_MARKS = "。！？｡．।॥؟۔።፧။។៕։༎‼⁇⁈⁉᠃᠉"
_CLOSING, _OPENING = "」』”’）》〉】)\\]\"'", "「『“‘（《〈【(\\[\"'"
_GREEK = "(?<=[\u0370-\u037d\u037f-\u03ff\u1f00-\u1fff][;\u037e])(?=\\s|$)"
"""Greek asks with a semicolon."""
_ENDS = re.compile(f"(?<=[{_MARKS}])(?![{_MARKS}{_CLOSING}])|(?<=[{_MARKS}][{_CLOSING}])(?=[\\s{_OPENING}])|{_GREEK}")
"""Where a sentence ends in other scripts: after its last mark, and after what closes with it."""
_UNMARKED = re.compile("[\u0e00-\u0fff]")
"""Thai and Lao, where a space may end a sentence or a phrase, and Tibetan, where a stroke may."""


def _number_sentences(mode: Mode, response: str, *, num_sentences: int, relation: Relation) -> Verdict:
    """Punkt's sentences: ``e.g. this`` ends a sentence, and a list number such as ``1.`` is a sentence.

    Punkt knows ``.``, ``!`` and ``?``. ``fixed`` also knows what ends sentences in other scripts, and has no verdict on
    text in those that mark no end.
    """
    if mode == "fixed" and len(_UNMARKED.findall(response)) * 2 > sum(map(str.isalpha, response)):
        return Verdict(None, "nothing in this script marks the end of a sentence")
    pieces = _ENDS.split(response) if mode == "fixed" else [response]
    found = sum(len(sentences(piece, parameters())) for piece in pieces)
    return counted(found, "sentences", relation, num_sentences)


def _number_paragraphs(_: Mode, response: str, *, num_paragraphs: int) -> Verdict:
    """Paragraphs are separated by ``***`` and by nothing else; an empty paragraph between two others fails."""
    pieces = _DIVIDER.split(response)
    blank = [position for position, piece in enumerate(pieces) if not piece.strip()]
    if any(0 < position < len(pieces) - 1 for position in blank):
        return Verdict(False, "an empty paragraph between two dividers")
    return counted(len(pieces) - len(blank), "paragraphs", "exactly", num_paragraphs)


def _number_words(mode: Mode, response: str, *, num_words: int, relation: Relation) -> Verdict:
    r"""Runs of ``\w`` by Python's ``re``: ``don't`` is two, and vowel signs split words of Indic scripts.

    In ``fixed`` they do not, and text without spaces between its words has a verdict if any count of them gives the
    same.
    """
    if mode != "fixed":
        return counted(len(_WORD.findall(response)), "words", relation, num_words)
    least, most = (counted(count, "words", relation, num_words) for count in word_counts(response))
    unclear = Verdict(None, f"{least.reason.split()[0]} to {most.reason}, and no spaces between them")
    return least if least.met is most.met else unclear


def _nth_paragraph_first_word(
    mode: Mode, response: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> Verdict:
    """Paragraphs are separated by an empty line. Blank ones are not counted, but they are when the nth is picked.

    The first word ends at a blank or an ASCII mark; in ``fixed`` it ends as a whole word if its script has no spaces.
    """
    if not 1 <= nth_paragraph <= num_paragraphs:
        raise InputError(f"nth_paragraph: must be from 1 to num_paragraphs ({num_paragraphs}), is {nth_paragraph}")
    pieces = response.split("\n\n")
    count = sum(1 for piece in pieces if piece.strip())
    if nth_paragraph > count:
        return counted(count, "paragraphs", "at least", nth_paragraph)
    paragraph = pieces[nth_paragraph - 1]
    if not (words := paragraph.split()):
        return Verdict(False, f"paragraph {nth_paragraph} is empty")
    word = _FIRST_WORD_ENDS.split(words[0].lstrip("'").lstrip('"'))[0]
    attached = mode == "fixed" and _ATTACHED.search(first_word)
    begins = attached and re.match(r"[^\w]*" + whole(first_word), folded(paragraph), re.IGNORECASE)
    # Letter by letter, as the official checker does it: a whole word would get its final sigma.
    if not begins and "".join(map(str.lower, word)) != first_word.lower():
        return Verdict(False, f"paragraph {nth_paragraph} begins with {word!r}, not {first_word!r}")
    return counted(count, "paragraphs", "exactly", num_paragraphs)


RULES: Final[dict[str, Rule]] = {
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_paragraphs": _number_paragraphs,
    "length_constraints:number_words": _number_words,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph_first_word,
}
