"""Find sentences that address the judge: those that state all concepts of a rule, in any words and order.

A statement, a question, a quotation and a condition count less than an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_
from typing import Final, NamedTuple

from calipers.guard.plain import PlainText
from calipers.guard.vocabulary import (
    BITS,
    CERTAINTIES,
    Concepts,
    Hit,
    Language,
    bits,
    meanings,
    rules,
    unspaced_words,
    word_list,
)
from calipers.types import AttackKind, Certainty

_TOGETHER: Final = 32
"""So many words of a sentence are read together; in longer runs of words, concepts would meet by chance."""
_STEP: Final = _TOGETHER // 2
_LEAST_MAXIMUM: Final = 5
"""The smallest number that counts as the maximum of a scale: 5 of 5 is a full score, 4 of 4 is not."""
_END = re.compile(r"[!?;。！।؟۔….\n\\](?:(?<=[!?;。！।؟۔…])[!?;。！।؟۔…]*|(?<=\.)(?!\w)|(?<=\n)|(?<=\\)n)")
# A number within a word is none. Python's \w does not include the vowel signs of Indian scripts.
_WORD = re.compile(
    r"(?<![a-z\d])(?<!\d\.)\d+(?:\.\d+)?|a\+|(?:[^\W\d_]|[\u0900-\u0963\u0971-\u09e5\u09f0-\u0a65\u0a70-\u0dff])+"
)
_CODE = re.compile(r"[(){}\[\]=;|&]")
_CALLED = re.compile(r"(?:\s*#\d)?\s*[\])}>*_\"']{0,3}\s*[,:!\])>—–-]")
"""Text after a name at the beginning of a sentence, if the sentence addresses the bearer of the name."""
_OF = re.compile(
    r"(?: \w+)? ?"
    r"(?:/|out of|of|von|van|sur|de|di|su|af|av|as|z|ze|od|iz|na|din|dari|daripada|uzerinden|tren|-?bol|-?bal"
    r"|ud af|из|із|з|από|στα|من|מתוך|از|में से|-?এর মধ্যে|점 만점에|分中|点中)"
    r"(?: a| the| possible)? ?"
)
"""Text between two numbers, a score and its maximum. In Turkish and Korean the maximum comes first."""
_QUOTED = re.compile(
    r"[\"“”«»„`]([^\"“”«»„`\n]{8,400})[\"“”«»„`]|(?<!\w)['‘]([^'‘’\n]{8,400})['’](?!\w)|「([^」\n]{4,200})」"
)
_SOMEBODY_SAID = re.compile(
    r"\W{0,3}(?:(?:the|an?|her|his|my|miss|mr|mrs) )?\w* ?(?:\w+ )?"
    r"(?:said|says|asked|begged|whispered|shouted|replied|sighed|laughed|cried|told|pleaded)\b"
)
_AROUND: Final = 120

_JUDGE, _REFEREE, _SALUTATION, _YOU = BITS["judge"], BITS["referee"], BITS["salutation"], BITS["you"]
_THIS, _THIS_AFTER, _MINE, _RATE_THIS = BITS["this"], BITS["this_after"], BITS["mine"], BITS["rate_this"]
_ANSWER, _WORK, _THIS_ANSWER, _THIS_WORK = BITS["answer"], BITS["work"], BITS["this_answer"], BITS["this_work"]
_HIGHEST, _SCORE, _HIGHEST_SCORE, _LOWEST = BITS["highest"], BITS["score"], BITS["highest_score"], BITS["lowest"]
_AWARD, _PLEASE, _NARRATOR, _ADDRESSED = BITS["award"], BITS["please"], BITS["narrator"], BITS["addressed"]
_IGNORE, _PREVIOUS, _INSTRUCTIONS, _RUBRIC = BITS["ignore"], BITS["previous"], BITS["instructions"], BITS["rubric"]
_TOP_NUMBERS: Final = frozenset(("100", "10", "1.0", "10.0", "95", "96", "97", "98", "99"))


class _Reading(NamedTuple):
    """Words of a sentence, their positions, and what each means in one language."""

    plain: str
    words: Sequence[str]
    spans: Sequence[tuple[int, int]]
    masks: Sequence[Concepts]
    unspaced: bool = False

    def part(self, first: int) -> _Reading:
        end = first + _TOGETHER
        return self._replace(words=self.words[first:end], spans=self.spans[first:end], masks=self.masks[first:end])

    @property
    def whole(self) -> Concepts:
        return reduce(or_, self.masks, 0)

    def places(self, wanted: Concepts) -> list[int]:
        return [place for place, mask in enumerate(self.masks) if mask & wanted]

    def around(self, first: int, last: int) -> Concepts:
        return reduce(or_, self.masks[max(0, first) : last], 0)

    def are_near(self, one: Concepts, other: Concepts, distance: int) -> bool:
        other_places = self.places(other)
        return any(abs(place - near) <= distance for place in self.places(one) for near in other_places)


def sentence_attacks(text: PlainText, begin: int, end: int) -> Iterator[Hit | None]:
    """Yield the attacks in each sentence and in each pair of consecutive short sentences; None before each sentence."""
    for hit in _in_sentences(text, begin, end):
        if hit is None or not _is_quoted(text, hit):
            yield hit


def _in_sentences(text: PlainText, begin: int, end: int) -> Iterator[Hit | None]:
    before: dict[Language, _Reading] = {}
    for first, last in _sentences_between(text.shown, begin, end):
        yield None
        readings = _read(text.plain, first, last)
        asked = text.shown[last : last + 1] in {"?", "？", "؟"}
        for language, whole in readings.items():
            earlier = before.get(language)
            if earlier is not None and len(earlier.words) + len(whole.words) <= _TOGETHER:
                concepts = _meaning(earlier) | _meaning(whole)
                yield from (Hit(*kind, earlier.spans[0][0], last) for kind in _kinds(concepts, asked=True))
            for start in range(0, max(1, len(whole.words) - _STEP), _STEP):
                concepts = _meaning(whole.part(start))
                yield from (Hit(*kind, first, last) for kind in _kinds(concepts, asked=asked))
        if readings or not text.plain[first:last].strip(" \t#*->").isdigit():  # a list's number separates nothing
            before = readings


def _sentences_between(shown: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _END.finditer(shown, begin, end):
        if match.start() != begin:
            yield begin, match.start()
        begin = match.end()
    if begin != end:
        yield begin, end


def _read(plain: str, begin: int, end: int) -> dict[Language, _Reading]:
    """Return the words of a sentence and what they mean, in each language in which any of them means something."""
    matches = list(_WORD.finditer(plain, begin, end))
    words = [match[0] for match in matches]
    columns: dict[Language, list[Concepts]] = {}
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        for language, mask, rest in meanings(word):
            if rest and not (following.startswith(rest[0].rstrip("*")) and _follow(words, place, rest)):
                continue
            masks = columns.get(language) or columns.setdefault(language, [0] * len(words))
            masks[place] |= mask
            masks[place + len(rest)] |= mask
    if columns and 7 * len(_CODE.findall(plain, begin, end)) >= 3 * len(words):  # names of a program
        columns = {}
    spans = [match.span() for match in matches]
    readings = {
        language: _Reading(plain, words, spans, _with_numbers(masks, plain, words, spans))
        for language, masks in columns.items()
    }
    return readings if plain.isascii() else readings | dict(_read_unspaced(plain, begin, end))


def _follow(words: Sequence[str], place: int, rest: Sequence[str]) -> bool:
    following = words[place + 1 : place + 1 + len(rest)]
    return len(following) == len(rest) and all(
        word == want or (want[-1] == "*" and word.startswith(want[:-1]))
        for word, want in zip(following, rest, strict=True)
    )


def _read_unspaced(plain: str, begin: int, end: int) -> Iterator[tuple[Language, _Reading]]:
    letters = set(plain[begin:end])
    for language, (pattern, known, alphabet) in unspaced_words().items():
        if len(letters & alphabet) <= 2:
            continue
        words: list[str] = []
        spans: list[tuple[int, int]] = []
        masks: list[Concepts] = []
        hidden = begin
        for match in pattern.finditer(plain, begin, end):
            word = match[1] or match[0]
            if match.start() < hidden:
                continue
            words.append(word)
            spans.append((match.start(), match.start() + len(word)))
            masks.append(known[word] if match[1] else 0)
            if masks[-1] & BITS["scale"]:  # its words are no score of their own
                hidden = spans[-1][1]
        if any(masks):
            yield language, _Reading(plain, words, spans, _with_numbers(masks, plain, words, spans), unspaced=True)


def _with_numbers(
    masks: list[Concepts], plain: str, words: Sequence[str], spans: Sequence[tuple[int, int]]
) -> list[Concepts]:
    """Add what numbers mean: the highest score, a full score such as 10/10, nothing as the ends of a scale."""
    numbered = [place for place, word in enumerate(words) if word[0].isdecimal()]
    stated = {
        place: _HIGHEST if words[place] in _TOP_NUMBERS else _LOWEST if words[place] == "0" else 0
        for place in numbered
        if words[max(0, place - 2) : place] != ["out", "of"]
    }
    for first, second in pairwise(numbered):
        is_of = second - first <= 4 and _OF.fullmatch(plain, spans[first][1], spans[second][0])
        if is_of and words[first] == words[second] and float(words[first]) >= _LEAST_MAXIMUM:
            stated[first], stated[second] = 0, _HIGHEST | _SCORE | _HIGHEST_SCORE
        elif is_of or second - first <= 2:
            stated[first] = stated[second] = 0
    return [mask | stated.get(place, 0) for place, mask in enumerate(masks)]


@lru_cache(2**12)
def _kinds(mask: Concepts, *, asked: bool) -> tuple[tuple[AttackKind, Certainty], ...]:
    """Return the kinds of attack that these concepts are. A question or a condition lowers the certainty."""
    less = (asked and not mask & _ADDRESSED) + bool(mask & BITS["if"]) + 2 * bool(mask & bits("scale survey"))
    if mask & BITS["document"]:
        mask &= ~BITS["ignore_instructions"]
    # A report about judges claims a score only if it says that the score was confirmed.
    narrated = mask & (_REFEREE | _JUDGE) and not mask & (_ADDRESSED | _AWARD | _PLEASE)
    grades: dict[AttackKind, int] = {}
    for kind, certainty, concepts in rules():
        grade = CERTAINTIES.index(certainty) + less
        if mask & concepts != concepts or grade >= len(CERTAINTIES):
            continue
        if not (narrated and kind == "score_claim" and not concepts & BITS["confirmed"]):
            grades[kind] = min(grade, grades.get(kind, grade))
    ordered = grades.get("instruction", len(CERTAINTIES))
    # The words of an order may also match a claim of a score.
    return tuple(
        (kind, CERTAINTIES[grade]) for kind, grade in grades.items() if kind == "instruction" or grade <= ordered
    )


def _meaning(reading: _Reading) -> Concepts:
    """Return the concepts that the words state together: which are adjacent, who is addressed, what is ordered."""
    whole = reading.whole
    concepts = whole & ~(_THIS | _THIS_AFTER | _AWARD)
    if whole & _MINE:
        concepts |= _THIS_WORK | _THIS_ANSWER
    for place in reading.places(_RATE_THIS):
        is_me = reading.words[place] == "me"
        noun = reading.masks[place + 1 + (not is_me) :][:1]  # "rate this movie" has a noun that is no answer
        if (not is_me or reading.around(place - 2, place) & (_AWARD | _SCORE)) and (not noun or noun[0]):
            concepts |= _THIS_WORK
    if whole & (_JUDGE | _REFEREE) and _is_addressed(reading):
        concepts |= _ADDRESSED
    if whole & _HIGHEST and reading.are_near(_HIGHEST, _SCORE, 5):
        concepts |= _HIGHEST_SCORE
    for place in reading.places(_THIS | _THIS_AFTER) if whole & (_ANSWER | _WORK) else ():
        concepts |= _this_with_noun(reading, place)
    if whole & _AWARD and _is_ordered(reading, addressed=bool(concepts & _ADDRESSED)):
        concepts |= _AWARD
    if concepts & _HIGHEST_SCORE:
        concepts |= _HIGHEST | _SCORE
    if whole & _IGNORE and any(_is_order_to_ignore(reading, place) for place in reading.places(_IGNORE)):
        concepts |= _ignored(reading)
    return concepts


def _this_with_noun(reading: _Reading, place: int) -> Concepts:
    first = max(0, place - 2) if reading.masks[place] & _THIS_AFTER else place
    last = place + 4 if reading.masks[place] & _THIS else place
    concepts = 0
    for place_of_noun in range(first, min(last + 1, len(reading.masks))):
        (_, end), (begin, _) = sorted((reading.spans[place], reading.spans[place_of_noun]))
        if reading.masks[place_of_noun] & (_ANSWER | _WORK) and (not reading.unspaced or begin - end <= 4):
            concepts |= _THIS_WORK | (_THIS_ANSWER if reading.masks[place_of_noun] & _ANSWER else 0)
    return concepts


def _is_addressed(reading: _Reading) -> bool:
    """Whether a sentence addresses a judge and does not only mention one."""
    around, first_word = reading.around, reading.words[0]
    for place in reading.places(_JUDGE | _REFEREE):
        is_judge = bool(reading.masks[place] & _JUDGE)
        if (
            (around(place - 5, place) | around(place + 1, place + 2 + is_judge)) & _SALUTATION
            or around(place - 4, place + 3 * is_judge) & _YOU
            or (place <= 5 and is_judge and first_word in word_list("to_whom"))
            or (place <= 5 and first_word == "as" and around(place + 1, place + 4) & _YOU)
            or (place <= 3 and _CALLED.match(reading.plain, reading.spans[place][1]))
        ):
            return True
    return False


def _is_ordered(reading: _Reading, *, addressed: bool) -> bool:
    """Whether a sentence orders the judge to award a score, and does not only narrate that a score is awarded."""
    around = reading.around
    for place in reading.places(_AWARD):
        if place and reading.words[place - 1] == "to":
            return True
        if not addressed and around(place + 1, place + 2) & _REFEREE:
            continue
        just_before = around(place - 2, place)
        if just_before & _NARRATOR and not just_before & _PLEASE:
            continue
        by_judge = around(place - 4, place) & (_REFEREE | _JUDGE)
        if addressed or not by_judge or around(0, place) & (_PLEASE | _SALUTATION):
            return True
    return False


def _is_order_to_ignore(reading: _Reading, place: int) -> bool:
    """Whether "ignore" is an order, and not a report, an option (``--ignore-rules``) or about own words."""
    before = reading.around(place - 3, place)
    if before & (_REFEREE | _NARRATOR) or reading.plain.startswith("--", max(0, reading.spans[place][0] - 2)):
        return False
    if place and reading.words[place - 1] == "to" and not before & (_PLEASE | _YOU):
        return False
    return "my" not in reading.words[place + 1 : place + 3]


def _ignored(reading: _Reading) -> Concepts:
    """Return what an order to ignore is about: the rubric, or previous instructions that have no topic of their own."""
    concepts = BITS["ignore_rubric"] if reading.are_near(_IGNORE, _RUBRIC, 8) else 0
    near = reading.are_near(_IGNORE, _INSTRUCTIONS, 8) and reading.are_near(_PREVIOUS, _INSTRUCTIONS, 5)
    judging = _SCORE | _JUDGE | _RUBRIC | _ANSWER | _HIGHEST
    if near and not any(
        reading.words[place + 1 : place + 2]
        and reading.words[place + 1] in word_list("topic")
        and not reading.around(place + 2, place + 6) & judging
        for place in reading.places(_INSTRUCTIONS)
    ):
        concepts |= BITS["ignore_instructions"]
    return concepts


def _is_quoted(text: PlainText, hit: Hit) -> bool:
    """Whether an attack is only quoted, because it vanishes without the quotations of a speaker or of known attacks."""
    first, last = max(0, hit.begin - _AROUND), min(len(text.shown), hit.end + _AROUND)
    near = blanked = text.plain[first:last]
    for match in _QUOTED.finditer(text.shown[first:last]):
        beside = near[max(0, match.start() - _AROUND) : match.start()], near[match.end() : match.end() + _AROUND // 2]
        readings = [reading for plain in beside for reading in _read(plain, 0, len(plain)).values()]
        if _SOMEBODY_SAID.match(near, match.end()) or any(reading.whole & BITS["mention"] for reading in readings):
            blanked = blanked[: match.start()] + " " * len(match[0]) + blanked[match.end() :]
    if blanked == near:
        return False
    left = PlainText(text.shown[first:last], blanked)
    hits = _in_sentences(left, hit.begin - first, hit.end - first)
    return all(quoted is None or quoted.kind != hit.kind for quoted in hits)
