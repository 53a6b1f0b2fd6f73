"""Counts properties of a text for the embedded judge: terms, numbers, sums, repetition, script, and a cut-off end.

This module knows no messages, groups or weights. Every function is linear in its input, whose size its callers limit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d(?:[\d,]{0,14}\d)?(?:\.\d{1,9})?")
# Scripts without spaces, and Hangul, whose words inflect: their terms are pairs of characters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"[.!?。！？]+(?=\s|$)|[。！？]|\n+")
_LAST_CHARACTERS = frozenset(".!?。！？…)]}\"'”’」』】》`*|>:：~)）;；")
_STOP = frozenset(
    _WORD.findall(
        "about above after again also because been before being below between both cannot could does doing down "
        "during each from further have having here hers himself into itself just like make more most much need only "
        "other ours over please same should some such than that their them then there these they this those through "
        "under until very want were what when where which while whom will with would your yours using write give "
        "given following based answer question tell"
    )
)
_STEM = 5
"""How many first letters of words are compared. This is rough and fast, and works for all languages with spaces."""


def words(text: str) -> list[str]:
    """Return the lower-cased words of a candidate's text for the embedded backend. In scripts without spaces, return
    overlapping pairs of characters.
    """
    if text.isascii() or not _UNSPACED.search(text):
        return _WORD.findall(text.lower())
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if _UNSPACED.search(word):
            found.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            found.append(word)
    return found


def terms(tokens: Sequence[str]) -> set[str]:
    """Return the stems of a text's meaningful words for the embedded backend, without short words and common English
    words.

    Numbers and pairs of characters are included.
    """
    return {word[:_STEM] for word in tokens if (len(word) > 3 or not word.isascii()) and word not in _STOP} | {
        word for word in tokens if word.isdigit()
    }


def numbers(text: str) -> list[str]:
    """Return the numbers in a candidate's text, as the embedded backend compares them: without thousands commas and
    trailing zeros.
    """
    return [plain_number(found) for found in _NUMBER.findall(text)]


def plain_number(number: str) -> str:
    """Return a number from a text as the embedded backend compares it, without commas and trailing zeros: ``1,200.50``
    is ``1200.5``.
    """
    bare = number.replace(",", "")
    return bare.rstrip("0").rstrip(".") if "." in bare else bare


_CONCLUSION = re.compile(
    r"(?:\\boxed\{\s*|####\s*|\b(?:answer|result|total)(?: is| =|:)|^\s*a\s*[:=]|答案(?:是|为|為|:|:)?|答え(?:は|:|:)?)"
    r"[^\n\d]{0,12}(-?\d(?:[\d,]{0,14}\d)?(?:\.\d{1,9})?)",
    re.IGNORECASE | re.MULTILINE,
)


def concluding_number(text: str) -> str | None:
    """Return the number that a candidate's text gives as its answer, for the embedded backend, or None.

    It is the last number marked as the answer. In a very short text without a mark, it is the last number.
    """
    marked = _CONCLUSION.findall(text[-600:])
    if marked:
        return plain_number(str(marked[-1]))
    found = numbers(text) if len(text) <= 80 else []
    return found[-1] if found else None


_VALUE = r"\$?(-?\d[\d,]{0,14}(?:\.\d{1,9})?)"
_EQUATION = re.compile(
    r"(?<![\w.,%)+*/=×÷^-])"
    + _VALUE
    + r"((?:\s?[-+*/x×÷]\s?\$?\d[\d,]{0,14}(?:\.\d{1,9})?){1,6})\s?=\s?"
    + _VALUE
    + r"(?![\d%^])"
)
_STEP = re.compile(r"([-+*/x×÷])\s?\$?(\d[\d,]{0,14}(?:\.\d{1,9})?)")


def count_calculations(text: str) -> tuple[int, int]:
    """Return, for the embedded backend, how many calculations like ``3 * 60 = 180`` a text shows, and how many are
    wrong. Only the first 64 are counted.
    """
    checked = wrong = 0
    if "=" not in text:
        return 0, 0
    for found in _EQUATION.finditer(text):
        value = _evaluate(found[1], found[2])
        if value is None:
            continue
        checked += 1
        shown = found[3].rstrip(",").replace(",", "")
        decimals = len(shown.partition(".")[2])
        wrong += abs(value - float(shown)) > 0.51 * 10.0**-decimals + 1e-9 * abs(value)
        if checked == 64:
            break
    return checked, wrong


def _evaluate(first: str, rest: str) -> float | None:
    """Return the value of the calculation that begins with ``first``, or None for a division by zero."""
    total, product = 0.0, float(first.rstrip(",").replace(",", ""))
    for operator, digits in _STEP.findall(rest):
        value = float(digits.rstrip(",").replace(",", ""))
        if operator in "*x×":
            product *= value
        elif operator in "/÷":
            if value == 0:
                return None
            product /= value
        else:
            total += product
            product = value if operator == "+" else -value
    return total + product


def repetition_share(tokens: Sequence[str]) -> float:
    """Return, for the embedded backend, how repetitive a text is, in [0, 1]: how far the share of repeated three-word
    runs exceeds a fifth.

    Ordinary prose of any length repeats up to a fifth. A text of fewer than eight words gets 0.
    """
    runs = len(tokens) - 2
    if runs < 6:
        return 0.0
    repeated = 1.0 - len(set(zip(tokens, tokens[1:], tokens[2:], strict=False))) / runs
    return max(0.0, (repeated - 0.2) / 0.8)


def sentence_count(text: str) -> int:
    """Return the approximate number of sentences in a text, for the embedded backend."""
    return sum(1 for piece in _SENTENCE_END.split(text) if piece.strip())


def is_cut(text: str) -> bool:
    """Return, for the embedded backend, whether a candidate's text stops in the middle of a sentence or inside a code
    fence.

    Short texts, and last lines without prose, may end anywhere.
    """
    if text.count("```") % 2:
        return True
    text = text.rstrip()
    last = text[text.rfind("\n") + 1 :]
    if not text or text[-1] in _LAST_CHARACTERS or len(text) < 80:
        return False
    # A list item, a formula or a number may be the last line. A long line of words that ends in a small letter is cut
    # off.
    return len(last) > 60 and (text[-1].islower() or text[-1] in ",，、-(")


def script(text: str) -> str:
    """Return, for the embedded backend, the prevailing script of a text: ``unspaced``, ``latin`` or ``other``, or ""
    for a text without letters.

    Only the first 2,000 characters are counted.
    """
    head = text[:2000]
    if head.isascii():
        return "latin" if any(map(str.isalpha, head[:200])) else ""
    unspaced = sum(map(len, _UNSPACED.findall(head)))
    letters = sum(map(str.isalpha, head))
    latin = sum(1 for character in head if character.isalpha() and character < "\u0250")
    if not letters:
        return ""
    # A CJK character carries about as much as three letters.
    return "unspaced" if 3 * unspaced > letters - unspaced else ("latin" if 2 * latin > letters else "other")
