"""Count the words of a text that are in capitals, as IFEval does: by the Treebank rules of nltk 3.8.1's tokenizer.

The count depends only on where those rules separate letters from letters. So marks without letters are removed, in the
order in which nltk applies its rules, because the treatment of quotes and apostrophes depends on their neighbours at
that stage. Newer nltk (3.10) splits words at dashes and apostrophes differently.
"""

from __future__ import annotations

import re

from calipers.verifiers.ifeval.sentences import Parameters, split_sentences

# If every capital is followed by a small letter, no word is in capitals. The exceptions are 'Twas and An't, which the
# tokenizer's rules split after the capital (and CANnot, which has two capitals in a row).
_CAPITAL_ALONE = re.compile(r"[A-Z](?![a-z])|'T|[A-Z]n't")
_OPENING_MARKS = re.compile(r"^\"|[«“‘„`]+")
_CUT = " ` "  # with a space alone, the period before an opening quote would count as the last one
_OPENING_QUOTE = re.compile(r"(?<=[ (\[{<])(?:\"|'')")
_QUOTED_LETTER = re.compile(r"'(?![mtsdn])(?=\w\b)", re.IGNORECASE)
_LAST_PERIOD = re.compile(r"(?<=[^.])\.(?=[\])}>\"'»”’ ]*+\s*+$)")
_COLON = re.compile(r"[:,]([^\d])")
_EARLY_MARKS = re.compile(r"[:,]$|\.{2,}|[;@#$%&?!]")
_LATE_MARKS = re.compile(r"[*\[\](){}<>»”’\"]|--|''")
_LONE_APOSTROPHE = re.compile(r"(?<=[^'])' ")
_SHORT_ENDINGS = re.compile(r"(?<=[^' ])('[sSmMdD]?) ")
_LONG_ENDINGS = re.compile(r"(?<=[^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ")
_SPLIT = ("can|not", "d|'ye", "gim|me", "gon|na", "got|ta", "lem|me", "more|'n", "wan|na")
_TWO_IN_ONE = tuple(
    re.compile(r"\b({})({})\b".format(*pair.split("|")) + (r"(?=\s)" if pair == "wan|na" else ""), re.IGNORECASE)
    for pair in _SPLIT
)
_ANY_OF_THEM = re.compile("|".join(pair.replace("|", "") for pair in _SPLIT), re.IGNORECASE)
_TIS = tuple(re.compile(rf" ('t)({verb})\b", re.IGNORECASE) for verb in ("is", "was"))


def capital_words(text: str, parameters: Parameters) -> int:
    """Return the number of words in capitals as IFEval counts them: ``IT'S`` and ``CANNOT`` are two each."""
    return sum(
        sum(map(str.isupper, _words(sentence)))
        for sentence in split_sentences(text, parameters)
        if not sentence.isascii() or _CAPITAL_ALONE.search(sentence)
    )


def _words(sentence: str) -> list[str]:
    """Split a sentence into the words that can contain letters."""
    text = _OPENING_MARKS.sub(_CUT, sentence)
    text = _OPENING_QUOTE.sub(_CUT, text)
    text = _QUOTED_LETTER.sub("' ", text)
    text = _LAST_PERIOD.sub(" . ", text)
    text = _COLON.sub(r"  \1", text)
    text = _EARLY_MARKS.sub("  ", text)
    text = _LONE_APOSTROPHE.sub(" ' ", text)
    text = _LATE_MARKS.sub("  ", text)
    text = f" {' '.join(text.split())} "
    if "'" in text:
        text = _SHORT_ENDINGS.sub(r" \1 ", text)
        text = _LONG_ENDINGS.sub(r" \1 ", text)
    if _ANY_OF_THEM.search(text):
        for pattern in _TWO_IN_ONE:
            text = pattern.sub(r" \1 \2 ", text)
    if "'" in text:
        for pattern in _TIS:
            text = pattern.sub(r" \1 \2 ", text)
    return text.split()
