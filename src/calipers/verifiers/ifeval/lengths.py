"""Rules of IFEval and IFEvalG on lengths: numbers of sentences, paragraphs, words and letters.

``fixed`` differs from ``official`` in scripts other than Latin.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.types.scripts import UNSPACED
from calipers.verifiers.ifeval.arguments import Relation
from calipers.verifiers.ifeval.period_sentences import split_at_periods
from calipers.verifiers.ifeval.punkt import parameters
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if
from calipers.verifiers.ifeval.sentences import split_sentences
from calipers.verifiers.ifeval.treebank import treebank_words
from calipers.verifiers.ifeval.whole_words import HANGUL, normalise_words, word_counts, word_pattern

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_WORD = re.compile(r"\w+")
_LOWER = re.compile(r"\b[a-z]+\b")
_LETTER = re.compile("[a-zA-Z]")
_FIRST_WORD_ENDS = re.compile(r"[.,?!'\"]")
_ATTACHED = re.compile(f"[{UNSPACED}{HANGUL}]$")
_MARKS = "。！？｡．।॥؟۔።፧။។៕։༎‼⁇⁈⁉᠃᠉"
_CLOSING, _OPENING = "」』”’）》〉】)\\]\"'", "「『“‘（《〈【(\\[\"'"
_GREEK = "(?<=[\u0370-\u037d\u037f-\u03ff\u1f00-\u1fff][;\u037e])(?=\\s|$)"
"""Greek ends a question with a semicolon."""
_ENDS = re.compile(f"(?<=[{_MARKS}])(?![{_MARKS}{_CLOSING}])|(?<=[{_MARKS}][{_CLOSING}])(?=[\\s{_OPENING}])|{_GREEK}")
"""The end of a sentence in other scripts: after its last mark and the closing quotes and brackets that follow."""
_UNMARKED = re.compile("[\u0e00-\u0fff]")
"""Letters of Thai, Lao and Tibetan, in which a space or a stroke may end a sentence, but also only a phrase."""


def _number_sentences(mode: Mode, response: str, *, num_sentences: int, relation: Relation) -> Verdict:
    """Count sentences as Punkt does: ``e.g. this`` is two sentences, and a list number such as ``1.`` is a sentence.

    Punkt knows ``.``, ``!`` and ``?``. ``fixed`` also knows the marks that end sentences in other scripts. It gives no
    verdict on text in scripts without such marks.
    """
    if mode == "fixed" and len(_UNMARKED.findall(response)) * 2 > sum(map(str.isalpha, response)):
        return Verdict(None, "nothing in this script marks the end of a sentence")
    pieces = _ENDS.split(response) if mode == "fixed" else [response]
    found = sum(len(split_sentences(piece, parameters())) for piece in pieces)
    return count_verdict(found, "sentences", relation, num_sentences)


def _number_paragraphs(_: Mode, response: str, *, num_paragraphs: int) -> Verdict:
    """Count paragraphs, which only ``***`` separates. A response with an empty paragraph between two others fails."""
    return _paragraphs(_DIVIDER.split(response), num_paragraphs)


def _two_paragraphs(_: Mode, response: str) -> Verdict:
    """Require two paragraphs, which only ``***`` separates."""
    return _paragraphs(_DIVIDER.split(response), 2)


def _two_paragraphs_apart(_: Mode, response: str) -> Verdict:
    """Require two paragraphs, which only an empty line separates. A second empty line makes a paragraph."""
    return _paragraphs(response.split("\n\n"), 2)


def _paragraphs(pieces: list[str], asked: int) -> Verdict:
    blank = [position for position, piece in enumerate(pieces) if not piece.strip()]
    if any(0 < position < len(pieces) - 1 for position in blank):
        return Verdict(False, "an empty paragraph between two dividers")
    return count_verdict(len(pieces) - len(blank), "paragraphs", "exactly", asked)


def _number_words(mode: Mode, response: str, *, num_words: int, relation: Relation) -> Verdict:
    r"""Count words as matches of ``\w+``: ``don't`` is two words, and vowel signs split words of Indic scripts.

    ``fixed`` keeps Indic words whole. In text without spaces the number of words is only known as a range;
    ``fixed`` then gives a verdict if every number in the range would give the same verdict.
    """
    if mode != "fixed":
        return count_verdict(len(_WORD.findall(response)), "words", relation, num_words)
    least, most = (count_verdict(count, "words", relation, num_words) for count in word_counts(response))
    unclear = Verdict(None, f"{least.reason.split()[0]} to {most.reason}, and no spaces between them")
    return least if least.met is most.met else unclear


def _nth_paragraph_first_word(
    mode: Mode, response: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> Verdict:
    """Count paragraphs separated by empty lines, and compare the first word of the nth paragraph.

    As in the official checker, blank paragraphs are not counted, but they have numbers. The first word ends at a space
    or an ASCII mark. In ``fixed`` the first word in a script without spaces may be any whole word of that script.
    """
    if not 1 <= nth_paragraph <= num_paragraphs:
        raise InputError(f"nth_paragraph: must be from 1 to num_paragraphs ({num_paragraphs}), is {nth_paragraph}")
    pieces = response.split("\n\n")
    count = sum(1 for piece in pieces if piece.strip())
    if nth_paragraph > count:
        return count_verdict(count, "paragraphs", "at least", nth_paragraph)
    paragraph = pieces[nth_paragraph - 1]
    if not (words := paragraph.split()):
        return Verdict(False, f"paragraph {nth_paragraph} is empty")
    word = _FIRST_WORD_ENDS.split(words[0].lstrip("'").lstrip('"'))[0]
    attached = mode == "fixed" and _ATTACHED.search(first_word)
    begins = attached and re.match(r"[^\w]*" + word_pattern(first_word), normalise_words(paragraph), re.IGNORECASE)
    # Lower-case each letter separately, as the official checker does. Lower-casing the word would change a final sigma.
    if not begins and "".join(map(str.lower, word)) != first_word.lower():
        return Verdict(False, f"paragraph {nth_paragraph} begins with {word!r}, not {first_word!r}")
    return count_verdict(count, "paragraphs", "exactly", num_paragraphs)


def _counting_composition(_: Mode, response: str, *, n_sent: int, n_words: int) -> Verdict:
    """Require three paragraphs, separated by ``***``, of so many sentences of so many words, where marks are words.

    Blank text before the first or after the last divider is a paragraph without a sentence, so the response fails.
    """
    _require_one(n_sent=n_sent, n_words=n_words)
    pieces = _DIVIDER.split(response)
    for piece in pieces:
        sentences = split_at_periods(piece)
        if len(sentences) != n_sent:
            return count_verdict(len(sentences), "sentences in a paragraph", "exactly", n_sent)
        for sentence in sentences:
            if (words := len(treebank_words(sentence))) != n_words:
                return count_verdict(words, "words in a sentence", "exactly", n_words)
    return count_verdict(len(pieces), "paragraphs", "exactly", 3)


def _count_unique(_: Mode, response: str) -> Verdict:
    """Forbid that a word occurs twice with the same capitals. Marks are words: two commas are a repetition."""
    words = Counter(treebank_words(response))
    repeated = next((word for word, count in words.items() if count > 1), None)
    return verdict_if(met=repeated is None, otherwise=f"more than once: {str(repeated)[:80]!r}")


def _lowercase_counting(_: Mode, response: str, *, N: int) -> Verdict:  # noqa: N803 - its field
    """Allow at most ``N`` words of letters from a to z. ``don't`` is two of them."""
    _require_one(N=N)
    found = len(_LOWER.findall(response))
    return verdict_if(met=found <= N, otherwise=f"{found} lower-case words; asked: at most {N}")


def _letter_counting(_: Mode, response: str, *, N: int, relation: Relation) -> Verdict:  # noqa: N803 - its field
    """Count letters from a to z, in both cases."""
    _require_one(N=N)
    return count_verdict(len(_LETTER.findall(response)), "letters", relation, N)


def _require_one(**fields: int) -> None:
    for field, number in fields.items():
        if number < 1:  # the official checker draws a random number then
            raise InputError(f"{field}: must be 1 or more, is {number}")


RULES: Final[dict[str, Rule]] = {
    "count:count_unique": _count_unique,
    "count:counting_composition": _counting_composition,
    "count:lowercase_counting": _lowercase_counting,
    "letters:letter_counting": _letter_counting,
    "paragraphs:paragraphs": _two_paragraphs,
    "paragraphs:paragraphs2": _two_paragraphs_apart,
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_paragraphs": _number_paragraphs,
    "length_constraints:number_words": _number_words,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph_first_word,
}
