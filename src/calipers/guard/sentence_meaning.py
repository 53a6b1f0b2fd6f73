"""Derive what the words of a sentence mean together: which words are adjacent, who is addressed, what is ordered.

``sentence_words`` knows the meaning of single words, and ``attack_rules`` decides which meanings are an attack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from calipers.guard.sentence_words import Sentence
from calipers.guard.vocabulary import BITS, Language, Mask, unspaced_languages, word_list

BESIDE: Final = 4
"""A noun may follow "this" at a distance of at most this many words."""
BESIDE_BEFORE: Final = 2
"""A "this" that comes after its noun may follow it at a distance of at most this many words."""
NEAR: Final = 5
_FAR: Final = 8
_TOUCHING: Final = 4
"""In scripts without spaces, at most this many characters separate "this" from its noun."""
_CALLED = re.compile(r"(?:\s*#\d)?\s*[\])}>*_\"']{0,3}\s*[,:!\])>—–-]")
"""Text after a name at the beginning of a sentence which shows that the sentence addresses the bearer of the name."""

_HIGHEST, _HIGHEST_SCORE, _SCORE = BITS["highest"], BITS["highest_score"], BITS["score"]
_AWARD, _PLEASE, _IGNORE, _PREVIOUS = BITS["award"], BITS["please"], BITS["ignore"], BITS["previous"]
_THIS, _THIS_AFTER, _MINE, _RATE_THIS = BITS["this"], BITS["this_after"], BITS["mine"], BITS["rate_this"]
_ANSWER, _WORK, _THIS_ANSWER, _THIS_WORK = BITS["answer"], BITS["work"], BITS["this_answer"], BITS["this_work"]
_JUDGE, _REFEREE, _SALUTATION, _YOU = BITS["judge"], BITS["referee"], BITS["salutation"], BITS["you"]
_ADDRESSED, _GREETED, _NARRATOR = BITS["addressed"], BITS["greeted"], BITS["narrator"]
_INSTRUCTIONS, _IGNORE_INSTRUCTIONS = BITS["instructions"], BITS["ignore_instructions"]
_RUBRIC, _RUBRIC_HEADING, _IGNORE_RUBRIC = BITS["rubric"], BITS["rubric_heading"], BITS["ignore_rubric"]


def combined_meaning(sentence: Sentence, language: Language, first: int, last: int) -> Mask:
    """Return the concepts of an attack on the judge that some words of a sentence state together in ``language``."""
    known = sentence.combined.get((language, first, last))
    if known is None:
        known = sentence.combined[language, first, last] = _combined_meaning(sentence, language, first, last)
    return known


def _combined_meaning(sentence: Sentence, language: Language, first: int, last: int) -> Mask:
    masks = [sentence.numbers.get(place, 0) for place in range(first, min(last, len(sentence.words)))]
    for place, meanings in enumerate(sentence.meanings[first:last]):
        for other, mask in meanings:
            if other == language:
                masks[place] |= mask
    return _meaning(_Part(masks, sentence, first, language in unspaced_languages()))


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a sentence that begins with word ``first``. ``masks`` are the concepts of each of its words."""

    masks: list[Mask]
    sentence: Sentence
    first: int
    is_unspaced: bool

    def word(self, place: int) -> str:
        return self.sentence.words[self.first + place]

    def span(self, place: int) -> tuple[int, int]:
        return self.sentence.spans[self.first + place]

    def positions_of(self, wanted: Mask) -> list[int]:
        """Return the positions of words in this part that mean any of the attack's concepts ``wanted``."""
        return [place for place, mask in enumerate(self.masks) if mask & wanted]

    def around(self, first: int, last: int) -> Mask:
        """Return the attack concepts of words in this part from position ``first`` to before position ``last``."""
        return reduce(or_, self.masks[max(0, first) : last], 0)

    def are_near(self, one: Mask, other: Mask, distance: int) -> bool:
        """Whether words for the two concepts of an attack are at most ``distance`` words from each other."""
        others = self.positions_of(other)
        return any(abs(place - near) <= distance for place in self.positions_of(one) for near in others)

    def is_of_school(self, place: int) -> bool:
        """Whether the word "grader" at ``place`` means pupils ("sixth graders"), which is no sign of an attack."""
        return bool(place) and self.word(place - 1) in word_list("ordinals")


def _meaning(part: _Part) -> Mask:
    whole = reduce(or_, part.masks, 0)
    found = whole & ~(_THIS | _THIS_AFTER | _AWARD) | _this_answer(part, whole)
    if whole & (_JUDGE | _REFEREE) and _is_addressed(part):
        found |= _ADDRESSED
    if whole & _JUDGE and whole & _SALUTATION and _is_greeted(part):
        found |= _GREETED
    if whole & _RUBRIC and _is_rubric_heading(part):
        found |= _RUBRIC_HEADING
    if whole & _HIGHEST and whole & _SCORE and part.are_near(_HIGHEST, _SCORE, NEAR):
        found |= _HIGHEST_SCORE
    if whole & _AWARD and _is_ordered(part, addressed=bool(found & _ADDRESSED)):
        found |= _AWARD
    if found & _HIGHEST_SCORE:
        found |= _HIGHEST | _SCORE
    return found | (_order_to_ignore(part) if whole & _IGNORE else 0)


def _this_answer(part: _Part, whole: Mask) -> Mask:
    """Return the concepts that stand for the candidate's own answer: in one word, as "rate this", or
    as "this" and a noun.
    """
    found = _THIS_WORK | _THIS_ANSWER if whole & _MINE else 0
    if whole & _RATE_THIS and any(_is_object(part, place) for place in part.positions_of(_RATE_THIS)):
        found |= _THIS_WORK
    if whole & (_THIS | _THIS_AFTER) and whole & (_ANSWER | _WORK):
        found |= _this_with_noun(part)
    return found


def _is_object(part: _Part, place: int) -> bool:
    """Whether "this" in "rate this" means the candidate, and does not belong to a noun after it."""
    is_me = part.word(place) == "me"
    if is_me and not part.around(place - 2, place) & (_AWARD | _SCORE):
        return False
    after = place + 1 + (not is_me)
    return after >= len(part.masks) or bool(part.masks[after]) or part.word(after) in word_list("little")


def _this_with_noun(part: _Part) -> Mask:
    """Return the concepts meant by "this" near a noun for an answer or a piece of work, as in "this response"."""
    found = 0
    for place in part.positions_of(_THIS | _THIS_AFTER):
        first = max(0, place - BESIDE_BEFORE) if part.masks[place] & _THIS_AFTER else place
        last = place + BESIDE if part.masks[place] & _THIS else place
        for other in range(first, min(last + 1, len(part.masks))):
            if part.masks[other] & (_ANSWER | _WORK) and (not part.is_unspaced or _touch(part, place, other)):
                found |= _THIS_WORK | (_THIS_ANSWER if part.masks[other] & _ANSWER else 0)
    return found


def _touch(part: _Part, one: int, other: int) -> bool:
    (_, end), (begin, _) = sorted((part.span(one), part.span(other)))
    return begin - end <= _TOUCHING


def _is_addressed(part: _Part) -> bool:
    """Whether a sentence addresses a judge and does not only mention one."""
    for place in part.positions_of(_JUDGE | _REFEREE):
        if part.is_of_school(place):
            continue
        is_judge = bool(part.masks[place] & _JUDGE)
        if (part.around(place - 5, place) | part.around(place + 1, place + 2 + is_judge)) & _SALUTATION:
            return True
        if part.around(place - 4, place + 3 * is_judge) & _YOU:
            return True
        begins = place <= 5
        if begins and is_judge and part.word(0) in word_list("to_whom"):
            return True
        if begins and part.word(0) == "as" and part.around(place + 1, place + 4) & _YOU:
            return True
        if place <= 3 and _CALLED.match(part.sentence.plain, part.span(place)[1]):
            return True
    return False


def _is_greeted(part: _Part) -> bool:
    return any(
        part.around(place - 4, place) & _SALUTATION and not part.is_of_school(place)
        for place in part.positions_of(_JUDGE)
    )


def _is_rubric_heading(part: _Part) -> bool:
    """Whether a sentence begins with a word for a rubric and a colon."""
    last = len(part.sentence.words) - part.first
    return any(
        part.sentence.plain.startswith(":", part.span(after)[1])
        for place in part.positions_of(_RUBRIC)
        if place < 3
        for after in range(place, min(place + 3, last))
    )


def _is_ordered(part: _Part, *, addressed: bool) -> bool:
    """Whether a sentence orders the judge to award a score, and does not only narrate that a score is awarded."""
    for place in part.positions_of(_AWARD):
        if place and part.word(place - 1) == "to":
            return True
        if not addressed and part.around(place + 1, place + 2) & _REFEREE:
            continue
        just_before = part.around(place - 2, place)
        if just_before & _NARRATOR and not just_before & _PLEASE:
            continue
        by_judge = part.around(place - 4, place) & (_REFEREE | _JUDGE)
        if addressed or not by_judge or part.around(0, place) & (_PLEASE | _SALUTATION):
            return True
    return False


def _order_to_ignore(part: _Part) -> Mask:
    """Return the concepts for an order to ignore the rubric, or previous instructions."""
    found = 0
    if any(_is_order_to_ignore(part, place) for place in part.positions_of(_IGNORE)):
        if part.are_near(_IGNORE, _RUBRIC, _FAR):
            found |= _IGNORE_RUBRIC
        near = part.are_near(_IGNORE, _INSTRUCTIONS, _FAR) and part.are_near(_PREVIOUS, _INSTRUCTIONS, NEAR)
        if near and not _has_topic(part):
            found |= _IGNORE_INSTRUCTIONS
    return found


def _is_order_to_ignore(part: _Part, place: int) -> bool:
    """Whether "ignore" is an order to the judge, and not a report, an option (``--ignore-rules``) or
    about own words.
    """
    before = part.around(place - 3, place)
    if before & (_REFEREE | _NARRATOR) or part.sentence.plain.startswith("--", max(0, part.span(place)[0] - 2)):
        return False
    if place and part.word(place - 1) == "to" and not before & (_PLEASE | _YOU):
        return False
    return "my" not in (part.word(after) for after in range(place + 1, min(place + 3, len(part.masks))))


def _has_topic(part: _Part) -> bool:
    """Whether the instructions to be ignored have a topic other than judging."""
    return any(
        place + 1 < len(part.masks)
        and part.word(place + 1) in word_list("topic")
        and not part.around(place + 2, place + 6) & (_SCORE | _JUDGE | _RUBRIC | _ANSWER | _HIGHEST)
        for place in part.positions_of(_INSTRUCTIONS)
    )
