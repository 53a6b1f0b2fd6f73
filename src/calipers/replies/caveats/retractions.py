"""Decides whether words beside a verdict take it back, void it, reverse its scale, or give a candidate another score.

These checks can only lead to a rejection. The phrases are lists in ``words``. This file says what each phrase, or a
combination of phrases, does to the verdict. ``quotations`` decides whether a verdict is the judge's own. If no text
follows a verdict, nothing is searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from calipers.replies.caveats.asides import (
    GivenScores,
    Number,
    Sentence,
    sentences_beside,
    split_clauses,
    without_quotations,
)
from calipers.replies.caveats.phrases import find_phrases, fold_words, kinds_of_clause
from calipers.replies.caveats.score_changes import (
    BRIEF_SENTENCE,
    gives_another_score,
    repeats_score,
    starts_with_phrase,
)
from calipers.replies.scores.found import StatedScale as Scale
from calipers.replies.scores.stated import described_scale

_NEAR = 64
"""At most this many characters separate two phrases that belong together."""
_PREDICATE = 20
"""At most this many characters separate a subject from its predicate."""
_SHORT = 6
"""A sentence with at most this many words makes only one statement."""

_VERDICT = ("SCORES", "NUMBERS")
_AFTER_HEAD = (":", "：", "-", "–", "—")
_WRAPPING = " `~\r\n\t"
_GOES_ON = re.compile(r"[ `~\r\n\t]{0,12}(?:is|are|was|were|ist|war|sind|est|sont|es|son|è|sono|это|是|は)\s")
"""The verb of a sentence whose subject is the verdict before it: ``{...} is what the response told me to write``."""

TAKEN_BACK = "words after the verdict take it back"
VOID = "words beside the verdict say that its scores mean nothing"
TURNED = "words beside the verdict reverse its scale"
UNREAD = "the judge says that it did not read the candidates"
DISOWNED = "words after the verdict say that it is not the judge's"


def why_taken_back(
    after: str,
    ids: Sequence[str] = (),
    *,
    scores: Mapping[str, float] | None = None,
    scale: tuple[float, float] = (0, 1),
) -> str | None:
    """Return why the words ``after`` an extracted verdict invalidate it, or None if they do not."""
    if not any(char.isalnum() for char in after):
        return None
    stated = GivenScores(scores or {}, tuple(ids), scale)
    spoken_of: set[str] = set()
    if _GOES_ON.match(after):
        after = f"this {after.lstrip(_WRAPPING)}"
    for whole in sentences_beside(after, stated.ids):
        sentence = _own_words(whole)
        reason = why_withdrawn(sentence) or _emptied(sentence, stated)
        if reason is None and scores is None and _is_turning(sentence):
            reason = TAKEN_BACK
        if reason is None and scores is not None:
            reason = _rescored(sentence, stated, spoken_of)
        if reason is not None:
            return reason
        spoken_of = sentence.named_ids or spoken_of
    return None


def _rescored(sentence: Sentence, stated: GivenScores, spoken_of: set[str]) -> str | None:
    """Return why a sentence invalidates a verdict of scores: it questions the scores or gives other ones."""
    if (
        starts_with_phrase(sentence, "DISCARD") and not sentence.named_ids and repeats_score(sentence, stated)
    ) or _is_questioned(sentence):
        return TAKEN_BACK
    if not gives_another_score(sentence, stated, spoken_of):
        return None
    return f"words after the verdict give {', '.join(sorted(sentence.named_ids)) or 'a candidate'} another score"


def why_void(before: str, ids: Sequence[str] = (), *, scale: tuple[float, float] = (0, 1)) -> str | None:
    """Return why words ``before`` an extracted verdict void it: its scores mean nothing, or low scores are good."""
    stated = GivenScores({}, tuple(ids), scale)
    every = list(sentences_beside(before, stated.ids))
    for place, whole in enumerate(every):
        sentence = _own_words(whole)
        if place + 1 == len(every) or sentence.has_phrase("SCORES"):
            reason = _emptied(sentence, stated)
            if reason is not None:
                return reason
        elif _is_unread(sentence):
            return UNREAD
    return None


def takes_score_back(between: str, ids: Sequence[str] = ()) -> bool:
    """Whether words between two extracted scores take the first score back: ``80 (no, wait, 50)``."""
    return any(_is_withdrawn(_own_words(whole)) for whole in sentences_beside(between, ids))


def begins_with_worst(*words: str) -> bool | None:
    """Whether words around an extracted order say that its first is the worst. None if they also say the opposite."""
    found = [find_phrases(fold_words(piece)) for piece in words]
    worst = any("WORST_FIRST" in one for one in found)
    return None if worst and any("BEST_FIRST" in one for one in found) else worst


def begins_with_best(*words: str) -> bool:
    """Whether words around an extracted order say that it begins with the best candidate."""
    return any("BEST_FIRST" in find_phrases(fold_words(piece)) for piece in words)


def words_after_document(text: str) -> str:
    """Extract the words after the last bracket of a reply that contains a JSON document."""
    end = max(text.rfind("}"), text.rfind("]"))
    return text[end + 1 :].lstrip("`~ \r\n") if end >= 0 else ""


def lone_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Extract the clauses of a judge's reply that are not values of a key, each with the punctuation mark after it.

    A hesitation at the beginning of a clause is removed. Words after a colon are the value of a key and so no clause,
    unless the key is a hesitation: ``wait: no``.
    """
    is_value = False
    for clause, mark in split_clauses(text):
        words = clause
        for place in (1, 2, 3):
            head, rest = " ".join(clause.split()[:place]), " ".join(clause.split()[place:])
            if rest and _heads_of(head):
                words = rest
        if not is_value:
            yield words, mark
        is_value = mark.startswith((":", "：")) and not _heads_of(clause)


def _heads_of(words: str) -> set[str]:
    return kinds_of_clause(words) & {"CORRECTION", "CORRECTION_BEFORE_COLON", "HESITATION", "RETRACTION"}


def why_withdrawn(sentence: Sentence) -> str | None:
    """Return why a sentence after any extracted verdict invalidates it: it takes the verdict back, or disowns it."""
    if _is_withdrawn(sentence) or _is_swap(sentence) or _is_discarded(sentence):
        return TAKEN_BACK
    return DISOWNED if _is_disowned(sentence) else None


def _own_words(sentence: Sentence) -> Sentence:
    """Return the sentence, without its quotations if it reports what a candidate says."""
    plain = without_quotations(sentence.text)
    if plain == sentence.text or not (sentence.named_ids or sentence.has_phrase("SAYS", "CANDIDATES")):
        return sentence
    return Sentence(plain, sentence.ids, first=sentence.first)


# --- retractions --- --------------------------------------------------------------------------------------------------


def _is_withdrawn(sentence: Sentence) -> bool:
    if sentence.has_phrase("RETRACTION"):
        return True
    for place, (clause, mark) in enumerate(sentence.clauses):
        kinds = kinds_of_clause(clause)
        if "CORRECTION" in kinds:
            return True
        if place == 0 and mark[:1] in _AFTER_HEAD and mark:
            if "CORRECTION" in find_phrases(f" {clause} ") and len(clause.split()) <= _SHORT:
                return True
            if "CORRECTION_BEFORE_COLON" in kinds:
                rest = sentence.clauses[1:]
                return bool(rest and (sentence.numbers or sentence.named_ids or sentence.has_phrase(*_VERDICT)))
    if (
        sentence.has_phrase("CORRECTION")
        and len(sentence.folded.split()) <= BRIEF_SENTENCE
        and not (sentence.named_ids or sentence.has_phrase("CANDIDATES"))
    ):
        return True
    words = [clause for clause, _ in sentence.clauses]
    return len(words) > 1 and all("HESITATION" in kinds_of_clause(word) for word in words)


def _is_turning(sentence: Sentence) -> bool:
    """Whether a sentence begins with a hesitation: ``Actually, ...``.

    After a verdict in words, any word after the hesitation may be another verdict. After scores, a number must follow.
    """
    return len(sentence.clauses) > 1 and "HESITATION" in kinds_of_clause(sentence.clauses[0][0])


def _is_swap(sentence: Sentence) -> bool:
    if not sentence.has_phrase("SWAPS"):
        return False
    if len(sentence.named_ids) > 1 or len(_bare_ids(sentence)) > 1:
        return True
    if sentence.named_ids or sentence.has_phrase("CANDIDATES"):
        return not sentence.named_ids and sentence.has_phrase("SCORES")
    return (
        sentence.has_phrase(*_VERDICT)
        or (sentence.has_phrase("THIS", "GROUPS") and sentence.first)
        or _is_short(sentence)
    )


def _bare_ids(sentence: Sentence) -> set[str]:
    words = sentence.folded.split()
    return {id_ for id_ in sentence.ids if id_.casefold() in words}


def _is_short(sentence: Sentence) -> bool:
    return len(sentence.folded.split()) <= _SHORT and sentence.first


def _is_discarded(sentence: Sentence) -> bool:
    """Whether a sentence discards the verdict and not a candidate: ``Ignore the scores above``."""
    if sentence.named_ids or not sentence.has_phrase("DISCARD"):
        return False
    if sentence.has_phrase(*_VERDICT) and not sentence.has_phrase("CANDIDATES"):
        return True
    if sentence.first and _is_turning(sentence):
        return True
    return sentence.first and sentence.has_phrase("THIS") and not sentence.has_phrase("CANDIDATES")


def _is_disowned(sentence: Sentence) -> bool:
    points = [start for start, _ in sentence.hits.get("THIS", ())]
    says = [start for start, _ in sentence.hits.get("SAYS", ())]
    who = bool(sentence.named_ids) or sentence.has_phrase("CANDIDATES")
    injected = sentence.hits.get("INJECTED", ())
    if injected and (points or sentence.has_phrase(*_VERDICT) or any(start == 1 for start, _ in injected)):
        return True
    early = [point for point in points if point <= 40]  # early enough to be the subject of the sentence
    return (
        who
        and any(point <= said for point in early for said in says)
        and (sentence.first or sentence.has_phrase(*_VERDICT))
    )


# --- void verdicts, reversed scales, candidates that were not read --- ------------------------------------------------


def _emptied(sentence: Sentence, stated: GivenScores) -> str | None:
    if _is_void(sentence):
        return VOID
    if _is_turned(sentence, stated):
        return TURNED
    return UNREAD if _is_unread(sentence) else None


def _is_void(sentence: Sentence) -> bool:
    if sentence.has_phrase("ONLY_EXAMPLE") and not sentence.named_ids:
        return True
    voids = sentence.hits.get("MEANINGLESS", ())
    if not voids or len(sentence.ids) == 1:
        return bool(voids) and _is_void_of_one(sentence, voids)
    scores = [span for kind in _VERDICT for span in sentence.hits.get(kind, ())]
    if not scores:
        if sentence.named_ids or sentence.has_phrase("CANDIDATES"):
            return False
        return sentence.has_phrase("FIRST_PERSON") or (sentence.first and sentence.has_phrase("THIS"))
    if sentence.named_ids:
        return any(
            _closes(sentence, end) and abs(start - end_) <= _NEAR // 2 for start, end in voids for _, end_ in scores
        )
    return any(-_NEAR <= start - other <= _NEAR for start, _ in voids for other, _ in scores)


def _is_void_of_one(sentence: Sentence, voids: Sequence[tuple[int, int]]) -> bool:
    """Whether a sentence says that the judge's verdict on a single candidate is meaningless: ``My score is a guess``.

    If there is one candidate, words such as *random* or *guess* usually describe it (``The final number is a guess, so
    a low score``), and the verdict is valid.
    """
    scores = sentence.hits.get("SCORES", ())
    for start, end in voids:
        if any(
            0 <= start - score_end <= _PREDICATE or 0 <= score_start - end <= 1 for score_start, score_end in scores
        ):
            return True
        if any(0 <= start - mine <= _PREDICATE for _, mine in sentence.hits.get("FIRST_PERSON", ())):
            return bool(scores) or not sentence.has_phrase("CANDIDATES")
    return sentence.first and sentence.has_phrase("THIS") and (bool(scores) or not sentence.has_phrase("CANDIDATES"))


def _closes(sentence: Sentence, end: int) -> bool:
    return not sentence.folded[end:].strip()


def _is_turned(sentence: Sentence, stated: GivenScores) -> bool:
    if sentence.has_phrase("LOWER_IS_BETTER") and not sentence.named_ids:
        return True
    if isinstance(described_scale(sentence.text), Scale) or " rank" in f" {sentence.folded}":
        return False  # the sentence describes another scale on which high numbers are good, or explains what ranks mean
    low, high = stated.scale
    for kind, right in (("BEST", high), ("WORST", low)):
        if kind not in sentence.hits:
            continue
        for number in sentence.numbers:
            of_candidate = (
                _is_score(number, stated) and not sentence.has_phrase("SCORES", "MEANS") and "=" not in sentence.text
            )
            if number.part == right or sentence.named_ids or of_candidate:
                continue
            if _stands_for(sentence, number, kind) or (
                number.part in stated.scale and _is_called(sentence, number, kind)
            ):
                return True
    return False


def _is_score(number: Number, stated: GivenScores) -> bool:
    return f"{number.part:g}" in stated.ids or (
        number.part not in stated.scale and any(stated.equals_score_of(number, id_) for id_ in stated.ids)
    )


def _stands_for(sentence: Sentence, number: Number, kind: str) -> bool:
    """Whether a sentence says that a number means best or worst: ``0 is best``, ``0 = best``."""
    after = sentence.text[number.end : number.end + 40]
    words = fold_words(after.split(",")[0].split(";")[0])
    starts = [start for start, _ in find_phrases(words).get(kind, ())]
    return bool(starts) and len(words[: min(starts)].split()) <= 2  # such as "is the"


def _is_called(sentence: Sentence, number: Number, kind: str) -> bool:
    """Whether a sentence calls a number best or worst and ends with it: ``The best possible score is 0``."""
    words = fold_words(sentence.text[max(0, number.start - 60) : number.start])
    ends = [end for _, end in find_phrases(words).get(kind, ())]
    ended = not any(map(str.isalnum, sentence.text[number.end :]))
    return bool(ends) and ended and len(words[max(ends) :].split()) <= 4  # a noun and a copula may come between


def _is_questioned(sentence: Sentence) -> bool:
    """Whether a sentence is about the scores but does not justify them: ``These scores no longer stand``.

    A heading does not count. A sentence with the word *numbers* instead of *scores* counts only if it has a negation.
    """
    if sentence.named_ids or sentence.has_phrase("CANDIDATES") or sentence.numbers:
        return False
    negated = sentence.has_phrase("NEGATIONS")
    if sentence.has_phrase("SCORES") and not _is_heading(sentence):
        return negated or not sentence.has_phrase("JUSTIFICATION")
    return (
        negated
        and sentence.has_phrase("NUMBERS")
        and (sentence.has_phrase("FIRST_PERSON") or (sentence.first and sentence.has_phrase("THIS")))
    )


def _is_heading(sentence: Sentence) -> bool:
    text = sentence.text.strip(" *_")
    short = len(sentence.folded.split()) <= 3 and text[-1:] not in ".!。！"  # a title makes no statement
    return short or text.startswith(("#", "|")) or text.endswith((":", "："))


def _is_unread(sentence: Sentence) -> bool:
    return not sentence.named_ids and sentence.has_phrase("UNREAD") and sentence.has_phrase("CANDIDATES", "GROUPS")
