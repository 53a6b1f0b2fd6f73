"""Scores told as two lists in one order: ``1 and 2 receive 71 and 87 respectively``, in any language that says so.

A list of names with anything but as many numbers after it says nothing about its last name.
"""

from __future__ import annotations

import re
from itertools import pairwise

from calipers.extract.caveats.asides import Number, Sentence, sentences
from calipers.extract.scores.found import Statement
from calipers.extract.scores.names import Names

_LIST = re.compile(
    r"(?P<name>[\w-]{1,60})[\"')\]*]{0,3}(?:\s{0,2}[,&、，]\s{0,2}(?:and\s)?|\s(?:and|und|y|et|e|и|і|en|i|ve|và|och|og|a|dan)\s|\s?[和与及]\s?)"
    r"(?:(?:the\s)?[^\W\d]{3,20}\s)?\Z",
    re.IGNORECASE,
)
_NEAR = 16
"""Characters between two numbers of one list."""


def is_listed(before: str, names: Names) -> bool:
    """Whether an id is the last of several: ``1 and 2 receive 71``; its number would be theirs, too, or one of several."""
    found = _LIST.search(before[-100:])
    if found is None or names.match(found["name"]) is None:
        return False
    lead = before[-100:][: found.start()].rstrip()
    return not lead.endswith((":", "=", ">", "→", "："))  # ``1: 2, 2: 1``: a score, not a name


def read_respective(line: str, names: Names) -> list[Statement]:
    """What a line says of several candidates in turn; empty where it does not, or not plainly."""
    if not any(char.isdecimal() for char in line) or sum(id_ in line for id_ in names.ids) < 2:  # a list
        return []
    for sentence in sentences(line, names.ids):
        if sentence.has("RESPECTIVELY") and not sentence.has("CONDITION"):
            said = _of_sentence(sentence, names)
            if said:
                return said
    return []


def _of_sentence(sentence: Sentence, names: Names) -> list[Statement]:
    ids, numbers = _lists(sentence, names)
    values = numbers[: len(ids)]
    if len(ids) < 2 or len(values) < len(ids) or len(set(ids)) < len(ids):  # a list
        return []
    if any(not 0 < later.start - one.end <= _NEAR for one, later in pairwise(values)):
        return []
    if len(numbers) > len(ids) and numbers[len(ids)].start - values[-1].end <= _NEAR:
        return []  # a longer list than there are names
    if sentence.is_count(values[-1]) and not _is_told_after(sentence, values[-1]):
        return []
    return [Statement(id_, sentence.text[value.start : value.end]) for id_, value in zip(ids, values, strict=True)]


def _is_told_after(sentence: Sentence, number: Number) -> bool:
    """Whether the word for *respectively* is all that follows a number."""
    after = Sentence(sentence.text[number.end :], ())
    return any(start == 1 for start, _ in after.hits.get("RESPECTIVELY", ()))


def _lists(sentence: Sentence, names: Names) -> tuple[list[str], list[Number]]:
    """The ids named, in order, and the numbers after the last of them; ids may be numbers themselves."""
    if not all(id_.isdecimal() for id_ in names.ids):
        mentions = sentence.mentions
        end = mentions[-1].end if mentions else 0
        return [mention.id_ for mention in mentions], [number for number in sentence.numbers if number.start >= end]
    ids: list[str] = []
    every = Sentence(sentence.text, ()).numbers
    for number in every:
        id_ = names.match(sentence.text[number.start : number.end])
        if id_ is None or id_ in ids:
            break
        ids.append(id_)
    return ids, every[len(ids) :]
