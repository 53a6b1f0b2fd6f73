"""Decides whether a sentence after a verdict gives a candidate a score that differs from the verdict's.

``asides`` finds the names and numbers in the sentence. ``retractions`` checks for the other ways to invalidate a
verdict.
"""

from __future__ import annotations

from calipers.replies.caveats.asides import GivenScores, Number, Sentence
from calipers.replies.caveats.phrases import kinds_of_clause

BRIEF_SENTENCE = 3
"""A sentence without a verb has at most this many words: ``KB: 50``."""


def gives_another_score(sentence: Sentence, stated: GivenScores, spoken_of: set[str]) -> bool:
    """Whether a sentence gives a candidate a score that differs from the extracted score."""
    if not stated.scores or not sentence.numbers:
        return False
    head = kinds_of_clause(sentence.clauses[0][0]) if sentence.clauses else set()
    cued = bool({"HESITATION", "CORRECTION_BEFORE_COLON"} & head) or starts_with_phrase(
        sentence, "HESITATION", "ORDERS_A_CHANGE"
    )
    return any(_is_another(sentence, number, stated, spoken_of, cued=cued) for number in sentence.numbers)


def _is_another(sentence: Sentence, number: Number, stated: GivenScores, spoken_of: set[str], *, cued: bool) -> bool:
    """Whether a number in a sentence is a new score for a candidate, different from the candidate's score in the
    verdict.
    """
    beside = sentence.id_beside(number)
    owners = [beside] if beside is not None else sentence.ids_nearest(number)
    if any(stated.equals_score_of(number, id_) for id_ in sentence.ids_nearest(number)) or not stated.could_be_score(
        number
    ):
        return False
    talk = cued or sentence.has_phrase("AWARDS", "SCORES") or sentence.has_unit(number)
    if sentence.is_given_up(number) or _is_content(sentence, number, stated, cued=cued, talk=talk):
        return False
    old = repeats_score(sentence, stated)
    if owners:
        return beside is not None or old or talk or not sentence.has_phrase("CONTENT")
    if len(stated.ids) > 1 and any(stated.equals_score_of(number, id_) for id_ in stated.ids):
        return False
    known = old or bool(spoken_of)
    short = len(sentence.folded.split()) <= BRIEF_SENTENCE
    if len(stated.ids) == 1:  # if there is only one candidate, the number can only be about that candidate
        return talk or (short and not sentence.has_phrase("CONTENT"))
    return (cued and (known or short)) or (
        sentence.has_phrase("AWARDS") and (known or sentence.has_phrase("GROUPS", "CANDIDATES"))
    )


def _is_content(sentence: Sentence, number: Number, stated: GivenScores, *, cued: bool, talk: bool) -> bool:
    """Whether a number is no score: it counts something, is hypothetical, or continues a count (``3 steps, BC 5``)."""
    if sentence.counts_something(number) or (number.counted and number.whole not in stated.scale):
        return True
    if sentence.has_phrase("CONDITION") and not cued:
        return True
    return number.start > sentence.counted and not talk


def starts_with_phrase(sentence: Sentence, *kinds: str) -> bool:
    """Whether a sentence beside an extracted verdict begins with a phrase of one of the kinds."""
    return any(start == 1 for kind in kinds for start, _ in sentence.hits.get(kind, ()))


def repeats_score(sentence: Sentence, stated: GivenScores) -> bool:
    """Whether a sentence repeats an extracted score."""
    return any(stated.equals_score_of(number, id_) for number in sentence.numbers for id_ in stated.ids)
