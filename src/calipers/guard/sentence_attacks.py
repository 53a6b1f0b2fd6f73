"""Finds sentences that are prompt injection, in whatever words, order and language.

A sentence is an attack if it states all the concepts of a rule (``rules``). What is narrated, asked, quoted or under a
condition counts less than an order. Not responsible for what a sentence states (``sentence_meaning``), nor for finding
the parts of a text worth reading (``prefilter``).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from calipers.guard.normalised import NormalisedText
from calipers.guard.rules import COARSE, GRADES, Hit, coarse_at_most, is_better, may_be_attack, rules
from calipers.guard.sentence_meaning import meaning
from calipers.guard.sentence_words import Sentence, read
from calipers.guard.vocabulary import BITS, WORD, Language, Mask, alphabets, entry_of, unspaced_languages
from calipers.types import AttackKind

LONGEST: Final = 32
"""Words of a sentence that are read together: in more, concepts meet by chance."""
_STEP: Final = LONGEST // 2
_STILL_ADDRESSED: Final = 40
"""Words after a judge was addressed that are still said to that judge."""
_END = re.compile(r"[!?;。！？।؟۔…]+|\.(?!\w)|\n|\\n")
_GOES_ON = re.compile(r"[\w,] ?\n[ \t>*#/-]*[a-zà-ÿ]")
"""A line broken for its length."""
_CODE = re.compile(r"[(){}\[\]=;|&]")
_QUOTED = re.compile(
    r"[\"“”«»„`]([^\"“”«»„`\n]{8,400})[\"“”«»„`]|(?<!\w)['‘]([^'‘’\n]{8,400})['’](?!\w)|「([^」\n]{4,200})」"
)
_SOMEBODY_SAID = re.compile(
    r"\W{0,3}(?:(?:the|an?|her|his|my|miss|mr|mrs) )?\w* ?(?:\w+ )?"
    r"(?:said|says|asked|begged|whispered|shouted|replied|sighed|laughed|cried|told|pleaded)\b"
)
_AROUND: Final = 120

_AWARD, _PLEASE, _IF, _DOCUMENT = BITS["award"], BITS["please"], BITS["if"], BITS["document"]
_JUDGE, _REFEREE, _ADDRESSED, _CONFIRMED = BITS["judge"], BITS["referee"], BITS["addressed"], BITS["confirmed"]
_IGNORE_INSTRUCTIONS, _MENTION = BITS["ignore_instructions"], BITS["mention"]
_SCALE, _SURVEY = BITS["scale"], BITS["survey"]


def sentence_attacks(text: NormalisedText, spans: Sequence[tuple[int, int]]) -> Iterator[Hit]:
    """Attacks in the sentences between each two places; of each kind the most certain."""
    best: dict[AttackKind, Hit] = {}
    languages = tuple(
        code for code in unspaced_languages() if text.letters and len(text.letters & alphabets()[code]) > 2
    )
    for begin, end in _whole_sentences(text.shown, spans):
        for hit in _in_sentences(text, begin, end, languages):
            if is_better(hit, best) and not _is_quoted(text, hit, languages):
                best[hit.kind] = hit
    yield from best.values()


def _whole_sentences(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """``spans`` from the beginning of a sentence to the end of one; those that then touch become one."""
    if not spans:
        return
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    begin = end = -1
    for within, until in spans:
        first = ends[bisect_right(ends, within) - 1]
        last = ends[min(bisect_left(ends, until), len(ends) - 1)]
        if first > end >= 0:
            yield begin, end
        begin, end = (begin if 0 <= first <= end else first), max(end, last)
    yield begin, end


def _in_sentences(text: NormalisedText, begin: int, end: int, languages: Sequence[Language]) -> Iterator[Hit]:
    """What each sentence is, and each two short ones that follow each other."""
    addressed: dict[Language, int] = {}
    before: Sentence | None = None
    counted = 0
    for first, last in _sentences(text.shown, begin, end):
        sentence = read(text.plain, first, last, languages)
        counted += len(sentence.words)
        if not any(sentence.meanings) or _is_code(sentence):
            # The numbers of a list may stand between two sentences that belong together.
            before = before if all(map(str.isdigit, sentence.words)) else None
            continue
        still = {language for language, when in addressed.items() if counted - when <= _STILL_ADDRESSED}
        asked = text.shown[last : last + 1] in {"?", "？", "؟"}
        for language, mask in _meanings(sentence, still):
            if mask & _ADDRESSED:
                addressed[language] = counted - len(sentence.words)
            yield from _hits(mask | (_ADDRESSED if language in still else 0), (first, last), asked=asked)
        if before is not None and len(before.words) + len(sentence.words) <= LONGEST:
            broken = _GOES_ON.match(text.shown, before.end - 1) is not None
            yield from _of_two(before, sentence, broken=broken)
        before = sentence


def _is_code(sentence: Sentence) -> bool:
    """Whether it has so many brackets and the like that it is a program, where names of all sorts meet."""
    begin, end = sentence.spans[0][0], sentence.spans[-1][1]
    return 7 * len(_CODE.findall(sentence.plain, begin, end)) >= 3 * len(sentence.words)


def _meanings(sentence: Sentence, still_addressed: set[Language]) -> Iterator[tuple[Language, Mask]]:
    for start in range(0, max(1, len(sentence.words) - _STEP), _STEP):
        for language, mask in sentence.states(start, start + LONGEST).items():
            found = coarse_at_most(mask)
            judge = COARSE["judge"] if language in still_addressed else 0
            if found & COARSE["judge"] or may_be_attack(found | judge):
                yield language, meaning(sentence, language, start, start + LONGEST)


def _of_two(one: Sentence, other: Sentence, *, broken: bool) -> Iterator[Hit]:
    """What two sentences are together: less certain than in one, unless it is ``broken`` by a line's end only."""
    before, after = one.states(0, LONGEST), other.states(0, LONGEST)
    for language in before.keys() & after.keys():
        if may_be_attack(coarse_at_most(before[language] | after[language])):
            mask = meaning(one, language, 0, LONGEST) | meaning(other, language, 0, LONGEST)
            yield from _hits(mask, (one.begin, other.end), asked=not broken)


def _hits(mask: Mask, span: tuple[int, int], *, asked: bool) -> Iterator[Hit]:
    """What a sentence is; less certain where it is a question or under a condition, and then perhaps nothing."""
    less = (asked and not mask & _ADDRESSED) + bool(mask & _IF) + 2 * bool(mask & (_SCALE | _SURVEY))
    if mask & _DOCUMENT:
        mask &= ~_IGNORE_INSTRUCTIONS
    # A report of what judges did is a claim of a score only if it says that this was confirmed.
    narrated = mask & (_REFEREE | _JUDGE) and not mask & (_ADDRESSED | _AWARD | _PLEASE)
    found: dict[AttackKind, int] = {}
    for rule in rules():
        grade = GRADES.index(rule.certainty) + less
        if mask & rule.mask != rule.mask or grade >= len(GRADES):
            continue
        if not (narrated and rule.kind == "score_claim" and not rule.mask & _CONFIRMED):
            found[rule.kind] = min(grade, found.get(rule.kind, grade))
    ordered = found.get("instruction", len(GRADES))
    for kind, grade in found.items():
        if kind == "instruction" or grade <= ordered:  # much in an order of a score could be a claim of a score, too
            yield Hit(kind, GRADES[grade], *span)


def _sentences(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _END.finditer(text, begin, end):
        if match.start() > begin:
            yield begin, match.start()
        begin = match.end()
    if begin < end:
        yield begin, end


def _is_quoted(text: NormalisedText, hit: Hit, languages: Sequence[Language]) -> bool:
    """Whether it is only quoted: no attack is left without quotations of somebody, or of what is called an attack."""
    first, last = max(0, hit.begin - _AROUND), min(len(text.shown), hit.end + _AROUND)
    near, plain = text.shown[first:last], text.plain[first:last]
    blanked = plain
    for match in _QUOTED.finditer(near):
        before = plain[max(0, match.start() - _AROUND) : match.start()]
        after = plain[match.end() : match.end() + _AROUND // 2]
        if _SOMEBODY_SAID.match(plain, match.end()) or _mentions_attacks(f"{before} {after}"):
            blanked = blanked[: match.start()] + " " * len(match[0]) + blanked[match.end() :]
    if blanked == plain:
        return False
    left = NormalisedText(near, blanked, text.letters)
    return all(other.kind != hit.kind for other in _in_sentences(left, hit.begin - first, hit.end - first, languages))


def _mentions_attacks(plain: str) -> bool:
    words = WORD.findall(plain)
    for place, entry in enumerate(map(entry_of, words)):
        masks = [mask for _, mask in entry.alone] + [phrase.mask for phrase in entry.begun(words, place)]
        if any(mask & _MENTION for mask in masks):
            return True
    return False
