"""IFBench's rules ``count:...`` and ``ratio:...``: numbers of words of a kind, of sentences of a kind, and shares."""

from __future__ import annotations

import re
from typing import Final

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.verifiers.ifeval.ifbench.text import bare, sentences_of, without_marks
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if, word_list
from calipers.verifiers.ifeval.treebank import treebank_words

_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+")
_JAPANESE: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_TIMES: Final = (1, 2, 3, 5, 7)


def _word_count_range(_: Mode, response: str, *, min_words: int, max_words: int) -> Verdict:
    r"""Count words as matches of ``\w+``, from ``min_words`` to ``max_words``."""
    found = len(_WORD.findall(response))
    return verdict_if(
        met=min_words <= found <= max_words, otherwise=f"{found} words; asked: {min_words} to {max_words}"
    )


def _unique_word_count(_: Mode, response: str, *, N: int) -> Verdict:  # noqa: N803 - its field
    """Count different words, ignoring case and the marks around them. A lone mark is a word, once."""
    return count_verdict(len({bare(word) for word in response.lower().split()}), "different words", "at least", N)


def _conjunctions(_: Mode, response: str, *, small_n: int) -> Verdict:
    """Count different conjunctions, each with its capitals and the marks at it: ``and`` and ``and,`` are two."""
    known = word_list("conjunctions")
    found = {word for word in response.split() if bare(word).lower() in known}
    return count_verdict(len(found), "different conjunctions", "at least", small_n)


def _person_names(_: Mode, response: str, *, N: int) -> Verdict:  # noqa: N803 - its field
    """Count which of 50 first names occur as whole words."""
    found = sum(1 for name in word_list("first_names") if re.search(rf"\b{name}\b", response))
    return count_verdict(found, "names of the list", "at least", N)


def _numbers(_: Mode, response: str, *, N: int) -> Verdict:  # noqa: N803 - its field
    """Count runs of digits once all ASCII marks are gone, so that 1,000 and 3.5 are one number each."""
    return count_verdict(len(_NUMBER.findall(without_marks(response))), "numbers", "exactly", N)


def _punctuation(_: Mode, response: str) -> Verdict:
    """Require an interrobang (``!?``, ``?!`` or ``‽``), and beyond it each of ``. , ! ? ; :``."""
    rest = response.replace("?!", "", 1) if "?!" in response else response.replace("!?", "", 1)
    if len(rest) == len(response) and "‽" not in response:
        return Verdict(False, "no interrobang")
    missing = [mark for mark in ".,!?;:" if mark not in rest]
    return verdict_if(met=not missing, otherwise=f"missing: {' '.join(missing)}")


def _words_japanese(_: Mode, response: str, *, N: int) -> Verdict:  # noqa: N803 - its field
    """Require a Japanese letter in each ``N``-th word that is not a number or a mark."""
    if N < 1:  # the official checker stops at 0
        raise InputError(f"N: must be 1 or more, is {N}")
    for word in map(bare, response.split()[N - 1 :: N]):
        if word and not word.isdigit() and not _JAPANESE.search(word):
            return Verdict(False, f"not Japanese: {word[:80]!r}")
    return Verdict(True)


def _pronouns(_: Mode, response: str, *, N: int) -> Verdict:  # noqa: N803 - its field
    """Count pronouns among the words of the Penn Treebank; ``she/her`` is two."""
    known = frozenset(word_list("pronouns"))
    found = sum(1 for word in treebank_words(response.replace("/", " ").lower()) if word in known)
    return count_verdict(found, "pronouns", "at least", N)


def _keywords_multiple(
    _: Mode, response: str, *, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> Verdict:
    """Require the five keywords 1, 2, 3, 5 and 7 times, ignoring case, also inside longer words."""
    text = response.lower()
    for keyword, asked in zip((keyword1, keyword2, keyword3, keyword4, keyword5), _TIMES, strict=True):
        if (found := text.count(keyword.strip().lower())) != asked:
            return count_verdict(found, f"x {keyword!r}", "exactly", asked)
    return Verdict(True)


def _stop_words(_: Mode, response: str, *, percentage: int) -> Verdict:
    """Allow at most ``percentage`` % of the words to be English stop words (nltk's list of 198)."""
    words = _WORD.findall(response)
    if not words:
        return Verdict(False, "no words")
    stops = frozenset(word_list("stop_words"))
    share = sum(1 for word in words if word.lower() in stops) / len(words) * 100
    return verdict_if(met=share <= percentage, otherwise=f"{share:.1f} % stop words; asked: at most {percentage} %")


def _overlap(_: Mode, response: str, *, reference_text: str, percentage: int) -> Verdict:
    """Require that ``percentage`` % of the response's runs of three characters are the reference's, give or take 2."""
    runs, known = _trigrams(response), _trigrams(reference_text)
    if not runs:
        return Verdict(False, "shorter than three characters")
    share = len(runs & known) / len(runs) * 100
    met = percentage - 2 <= share <= percentage + 2
    return verdict_if(met=met, otherwise=f"{share:.1f} % overlap; asked: {percentage} %")


def _trigrams(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(len(text) - 2)}


def _sentence_type(_: Mode, response: str) -> Verdict:
    """Require twice as many sentences that end with a period as with a question mark."""
    statements, questions, _exclaimed = _ends(response)
    return verdict_if(met=statements == 2 * questions, otherwise=f"{statements} end with '.', {questions} with '?'")


def _sentence_balance(_: Mode, response: str) -> Verdict:
    """Require as many sentences that end with a period as with ``?`` and with ``!``."""
    ends = _ends(response)
    return verdict_if(
        met=len(set(ends)) == 1, otherwise=f"{ends[0]} end with '.', {ends[1]} with '?', {ends[2]} with '!'"
    )


def _ends(response: str) -> tuple[int, int, int]:
    lasts = [sentence[-1:] for sentence in sentences_of(response)]
    return lasts.count("."), lasts.count("?"), lasts.count("!")


def _sentence_words(_: Mode, response: str) -> Verdict:
    """Require three sentences with the same number of characters."""
    lengths = [len(sentence.strip()) for sentence in sentences_of(response)]
    if len(lengths) != 3:
        return count_verdict(len(lengths), "sentences", "exactly", 3)
    return verdict_if(met=len(set(lengths)) == 1, otherwise=f"{lengths[0]}, {lengths[1]} and {lengths[2]} characters")


RULES: Final[dict[str, Rule]] = {
    "count:conjunctions": _conjunctions,
    "count:keywords_multiple": _keywords_multiple,
    "count:numbers": _numbers,
    "count:person_names": _person_names,
    "count:pronouns": _pronouns,
    "count:punctuation": _punctuation,
    "count:unique_word_count": _unique_word_count,
    "count:word_count_range": _word_count_range,
    "count:words_japanese": _words_japanese,
    "ratio:overlap": _overlap,
    "ratio:sentence_balance": _sentence_balance,
    "ratio:sentence_type": _sentence_type,
    "ratio:sentence_words": _sentence_words,
    "ratio:stop_words": _stop_words,
}
