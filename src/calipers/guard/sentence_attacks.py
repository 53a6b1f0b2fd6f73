"""Find sentences that are prompt injection, in many wordings and languages.

A sentence is an attack if it states all concepts of a rule (``attack_rules``). A statement, a question, a quotation and
a condition count less than an order. ``sentence_meaning`` derives the concepts that a sentence states, and
``prefilter`` selects the parts of a text to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from calipers.guard.attack_rules import (
    COARSE,
    GRADES,
    Hit,
    attack_rules,
    is_more_certain,
    may_be_attack,
    possible_coarse_concepts,
)
from calipers.guard.normalised import NormalisedText
from calipers.guard.possible_sentences import (
    LONGEST,
    STEP,
    may_contain_attack,
    sentences_between,
    whole_sentences,
)
from calipers.guard.sentence_meaning import combined_meaning
from calipers.guard.sentence_words import Sentence, read_sentence
from calipers.guard.vocabulary import BITS, WORD, Language, Mask, alphabets, find_entry, unspaced_languages
from calipers.types import AttackKind, Certainty
from calipers.types.steps import Steps

_STILL_ADDRESSED: Final = 40
"""After words that address a judge, this many words still address that judge."""
_GOES_ON = re.compile(r"[\w,] ?\n[ \t>*#/-]*[a-zà-ÿ]")
"""A line break inside a sentence."""
_AFTER_CERTAIN: Final = 256
"""After a certain attack, this many more sentences of a text are read. Lists of known attacks have fewer."""
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


def sentence_attacks(text: NormalisedText, spans: Sequence[tuple[int, int]]) -> Steps[list[Hit]]:
    """Return the most certain attack on the judge of each kind in the sentences that ``spans`` touch, in steps.

    A text with a certain attack and very many suspicious sentences is not read to its end.
    """
    best: dict[AttackKind, Hit] = {}
    languages = unspaced_languages_of(text.letters)
    left = _AFTER_CERTAIN
    for begin, end in whole_sentences(text.shown, spans):
        if not languages and not (yield from may_contain_attack(text.shown, text.plain, begin, end)):
            continue
        for hit in _in_sentences(text, begin, end, languages):
            if hit is None:
                yield
                left -= any(found.certainty == "certain" for found in best.values())
                if not left:
                    return list(best.values())
            elif is_more_certain(hit, best) and not _is_quoted(text, hit, languages):
                best[hit.kind] = hit
    return list(best.values())


def unspaced_languages_of(letters: frozenset[str]) -> tuple[Language, ...]:
    """Return the languages without spaces in which a text with these letters may state an attack."""
    return tuple(code for code in unspaced_languages() if letters and len(letters & alphabets()[code]) > 2)


def _in_sentences(text: NormalisedText, begin: int, end: int, languages: Sequence[Language]) -> Iterator[Hit | None]:
    """Yield the attacks in each sentence, and in each pair of consecutive short sentences.

    None is yielded before each sentence.
    """
    addressed: dict[Language, int] = {}
    before: Sentence | None = None
    counted = 0
    for first, last in sentences_between(text.shown, begin, end):
        yield None
        sentence = read_sentence(text.plain, first, last, languages)
        counted += len(sentence.words)
        if not any(sentence.meanings) or _is_code(sentence):
            # List numbers may separate two sentences that belong together.
            before = before if all(map(str.isdigit, sentence.words)) else None
            continue
        still = {language for language, when in addressed.items() if counted - when <= _STILL_ADDRESSED}
        asked = text.shown[last : last + 1] in {"?", "？", "؟"}
        for language, mask in _meanings(sentence, still):
            if mask & _ADDRESSED:
                addressed[language] = counted - len(sentence.words)
            yield from _matching_rules(mask | (_ADDRESSED if language in still else 0), (first, last), asked=asked)
        if before is not None and len(before.words) + len(sentence.words) <= LONGEST:
            broken = _GOES_ON.match(text.shown, before.end - 1) is not None
            yield from _in_two_sentences(before, sentence, broken=broken)
        before = sentence


def _is_code(sentence: Sentence) -> bool:
    """Whether a sentence has so many brackets that it is program code, whose names would match rules by chance."""
    begin, end = sentence.spans[0][0], sentence.spans[-1][1]
    return 7 * len(_CODE.findall(sentence.plain, begin, end)) >= 3 * len(sentence.words)


def _meanings(sentence: Sentence, still_addressed: set[Language]) -> Iterator[tuple[Language, Mask]]:
    for start in range(0, max(1, len(sentence.words) - STEP), STEP):
        for language, mask in sentence.concepts_between(start, start + LONGEST).items():
            found = possible_coarse_concepts(mask)
            judge = COARSE["judge"] if language in still_addressed else 0
            if found & COARSE["judge"] or may_be_attack(found | judge):
                yield language, combined_meaning(sentence, language, start, start + LONGEST)


def _in_two_sentences(one: Sentence, other: Sentence, *, broken: bool) -> Iterator[Hit]:
    """Yield attacks in two sentences together. They are less certain, except if only a line break separates the two."""
    before, after = one.concepts_between(0, LONGEST), other.concepts_between(0, LONGEST)
    for language in before:  # not a set of both, whose order differs between processes
        if language in after and may_be_attack(possible_coarse_concepts(before[language] | after[language])):
            mask = combined_meaning(one, language, 0, LONGEST) | combined_meaning(other, language, 0, LONGEST)
            yield from _matching_rules(mask, (one.begin, other.end), asked=not broken)


def _matching_rules(mask: Mask, span: tuple[int, int], *, asked: bool) -> Iterator[Hit]:
    """Yield the attacks whose rules these concepts match. A question or a condition lowers the
    certainty, perhaps to none.
    """
    return (Hit(kind, certainty, *span) for kind, certainty in _matching_kinds(mask, asked))


@lru_cache(2**12)
def _matching_kinds(mask: Mask, asked: bool) -> tuple[tuple[AttackKind, Certainty], ...]:  # noqa: FBT001 - a cache's key
    """Return the kinds of attack whose rules these concepts match. Few combinations of concepts occur in a text."""
    less = (asked and not mask & _ADDRESSED) + bool(mask & _IF) + 2 * bool(mask & (_SCALE | _SURVEY))
    if mask & _DOCUMENT:
        mask &= ~_IGNORE_INSTRUCTIONS
    # A report about judges claims a score only if it says that the score was confirmed.
    narrated = mask & (_REFEREE | _JUDGE) and not mask & (_ADDRESSED | _AWARD | _PLEASE)
    found: dict[AttackKind, int] = {}
    for rule in attack_rules():
        grade = GRADES.index(rule.certainty) + less
        if mask & rule.mask != rule.mask or grade >= len(GRADES):
            continue
        if not (narrated and rule.kind == "score_claim" and not rule.mask & _CONFIRMED):
            found[rule.kind] = min(grade, found.get(rule.kind, grade))
    ordered = found.get("instruction", len(GRADES))
    # The words of an order may also match a claim of a score.
    return tuple((kind, GRADES[grade]) for kind, grade in found.items() if kind == "instruction" or grade <= ordered)


def _is_quoted(text: NormalisedText, hit: Hit, languages: Sequence[Language]) -> bool:
    """Whether an attack is only quoted, because it vanishes without the quotations of a speaker or of known attacks."""
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
    found = _in_sentences(left, hit.begin - first, hit.end - first, languages)
    return all(other is None or other.kind != hit.kind for other in found)


def _mentions_attacks(plain: str) -> bool:
    words = WORD.findall(plain)
    for place, entry in enumerate(map(find_entry, words)):
        masks = [mask for _, mask in entry.alone] + [phrase.mask for phrase in entry.phrases_at(words, place)]
        if any(mask & _MENTION for mask in masks):
            return True
    return False
