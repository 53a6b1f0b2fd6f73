"""Reads whether a judge's reply says yes or no (met, correct, pass, compliant, PRESENT), in words, marks or JSON.

"Partly" is neither, and a reply that says both yes and no is rejected. Verdicts on several criteria are read by
``checklist``, graded answers by ``scores``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from calipers.replies.caveats.asides import without_quotations as without_quotes
from calipers.replies.caveats.denials import denies_preference, is_verdict_retracted
from calipers.replies.caveats.mentions import is_introduced_as_mention, is_reported_claim, is_topic_of_sentence
from calipers.replies.caveats.ownership import check_document_is_own, values_of_keys
from calipers.replies.caveats.phrases import fold_words
from calipers.replies.caveats.quotations import is_in_quotation_marks
from calipers.replies.caveats.retractions import lone_clauses, words_after_document
from calipers.replies.formats.known import Format, format_named
from calipers.replies.formats.values import stated_value
from calipers.replies.marks import Mark, agreed_value, find_marks
from calipers.replies.rejected import Rejected
from calipers.replies.sentences import (
    CONCLUDING,
    REFUSING,
    Sentence,
    blank_quotations,
    both_ends,
    plain_punctuation,
    prepare_reply,
    split_sentences,
)
from calipers.replies.text import reply_text
from calipers.replies.wordlists import list_words, regex_of_list
from calipers.types import Outcome

_Answer = Literal["yes", "no", "partly"]


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """The yes-or-no verdict read from a judge's reply: ``met`` is True, False, or None with the ``reason``."""

    met: bool | None
    outcome: Outcome
    reason: str | None = None


def extract_verdict(text: str | None, *, format: str | None = None) -> VerdictReading:  # noqa: A002 - what people call it
    """Extract yes (True) or no (False) from a judge's reply, or None if a careful reader would not be sure.

    The result is None for *partly correct*, a condition, a refusal, and a *yes* that the next sentence contradicts.
    ``format`` names the format that the judge was asked for (docs/reading.md). Raises ConfigError for an unknown format
    or a format without a verdict, and never because of the text. ``text`` None is an empty reply;
    anything else but text is a ConfigError.
    """
    text = reply_text(text)
    form = format_named(format, "verdict") if format is not None else None
    try:
        return _read(text) if form is None else _in_format(text, form)
    except Rejected as reject:
        return VerdictReading(None, "rejected", reject.reason)


def _read(text: str) -> VerdictReading:
    reply = prepare_reply(text)
    check_document_is_own(reply, _JSON_KEYS[0] | _JSON_KEYS[1])
    reading = _of_document(reply.document)
    if reading is None:
        return _in_words(reply.text)
    if is_verdict_retracted(words_after_document(text)):
        raise Rejected(_DOUBTED, doubt=True)
    return reading


def _in_words(text: str) -> VerdictReading:
    text = _BLOCK_QUOTE.sub("", text)
    parts = split_sentences(text) or [Sentence("", 0)]
    first, last = _first_word(parts[0]), _last_word(parts)
    found = [
        (_answer(mark.match), mark)
        for mark in find_marks(text, _VALUE, regex_of_list("verdicts", "SPOKEN_KEYS"))
        if not is_in_quotation_marks(text, mark.match.start())
    ]
    starts = [mark.match.start() for _, mark in found if mark.match[0].strip()]
    if all(text[:start].rstrip().endswith(("?", "？")) for start in starts) and _answers_bad_question(text):
        raise Rejected("the reply answers a question to which yes may be the bad answer", doubt=True)
    reading = _decided(found, [word for word in (first, last) if word], list(_stated(parts)))
    if reading is None:
        raise Rejected("the judge declined" if REFUSING.search(text) else "no verdict stated")
    if reading.outcome == "repaired":  # the last of several verdicts replaced the others
        return reading
    if any(word not in ("yes" if reading.met else "no", "partly") for word in _lone_words(parts)):
        raise Rejected("the reply says both yes and no", doubt=True)
    whole = parts[0] if first else parts[-1]
    if is_verdict_retracted(text[found[-1][1].match.end() if found else whole.start + len(whole.text) :]):
        raise Rejected(_DOUBTED, doubt=True)
    return reading


_DOUBTED = "words after the verdict take it back"
_BLOCK_QUOTE = re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)
_FAULT = regex_of_list("verdicts", "FAULT")
_BAD_QUESTION = re.compile(
    rf"(?:(?:\A|(?<=[.!\n]))[^.!?？\n]{{0,160}}\b(?:{_FAULT})\b[^.!?？\n]{{0,80}}[?？]\s{{0,4}}"
    rf"|(?:\A|(?<=\n))[#*_\s-]{{0,6}}(?:not\s\w+|(?:{_FAULT}))[*_]{{0,2}}\s?[:：]\s{{0,3}})"
    rf"[\"'*_`\[]{{0,4}}(?:{regex_of_list('verdicts', 'FAULT_ANSWER')})\b",
    re.IGNORECASE,
)
_NEAR = 400
_MOST_PARTS = 20


def _answers_bad_question(text: str) -> bool:
    """Whether *yes* is the bad verdict because a reply's question asks for a fault: ``Does it violate the rule? No.``.

    Only the beginning and the end of the reply are searched.
    """
    return any(_BAD_QUESTION.search(piece) for piece in (text[:_NEAR], text[-_NEAR:]))


def _lone_words(parts: list[Sentence]) -> Iterator[_Answer]:
    """Yield each yes and no that is a clause of its own: ``Yes ... actually no``. Answers to questions are omitted."""
    asked = False
    for part in both_ends(parts, _MOST_PARTS):
        for clause, mark in lone_clauses(blank_quotations(without_quotes(part.text), most=1)):
            was_asked, asked = asked, mark.startswith(("?", "？"))
            match = None if asked or was_asked else _plain_word().fullmatch(clause)
            if match is not None:
                yield _answer(match)


@cache
def _plain_word() -> re.Pattern[str]:
    """Return a regex for *yes* or *no* in folded text, after at most one short phrase such as *I would say*."""
    lead = r"(?:(?:it is|it s|i d say|i would say|i say|i mean|i meant|make that|so|therefore|the answer is)\s)?"
    no, yes = (
        "|".join(fold_words(word).strip() for word in list_words("verdicts", name))
        for name in ("NO_ALONE", "YES_ALONE")
    )
    return re.compile(rf"{lead}(?:(?P<no>{no})|(?P<yes>{yes}))(?P<partly>(?!))?")


def _in_format(text: str, form: Format) -> VerdictReading:
    found = stated_value(text, form, "verdict")
    met = form.verdict[found.value]
    if met is None:
        raise Rejected(f"neither met nor not met: {found.value}")
    return VerdictReading(met, found.outcome, found.reason)


def _decided(
    found: list[tuple[_Answer, Mark]], lone: list[_Answer], prose: list[tuple[_Answer, bool]]
) -> VerdictReading | None:
    """Return the verdict that marks and lone words of a reply state. Raises Rejected if the prose contradicts it."""
    marked, reason = agreed_value(found) if found else (None, None)
    formal = {marked} if marked and reason else {*lone, *([marked] if marked else [])}
    said = {word for word, concluding in prose if concluding} or {word for word, _ in prose}
    values = formal | said if (len(said) == 1 and not reason) or not formal else formal
    if "partly" in values:
        raise Rejected("partly, or not decided")
    if len(values) > 1:
        raise Rejected("the reply says both yes and no", doubt=True)
    if not values:
        return None
    return VerdictReading("yes" in values, "repaired" if reason else "strict" if formal else "text", reason)


# --- words ------------------------------------------------------------------------------------------------------------

_GOOD, _BAD = (regex_of_list("verdicts", name) for name in ("GOOD", "BAD"))
_NOT_GOOD = rf"(?:not|non)[\s_-]{{0,3}}(?:a )?(?:{_GOOD})"
_VALUE = (
    rf"[\[({{*_'\"]{{0,4}}(?:(?P<partly>{regex_of_list('verdicts', 'PARTLY')})"
    rf"|(?P<no>{regex_of_list('verdicts', 'NO')}|{_NOT_GOOD}|{_BAD})"
    rf"|(?P<yes>{regex_of_list('verdicts', 'YES')}|{_GOOD}))(?![^\W\u3040-\u30ff\u4e00-\u9fff])[\])}}*_'\"]{{0,4}}"
)
_JSON_KEYS = tuple(
    frozenset(lead + key for lead in ("", "final_", "overall_", "is_", "my_") for key in list_words("verdicts", name))
    for name in ("PLAIN_KEYS", "VAGUE_KEYS")
)
"""Keys that contain a verdict, and vaguer keys that are read only if none of the former occurs."""


def _answer(match: re.Match[str]) -> _Answer:
    return "partly" if match["partly"] is not None else "no" if match["no"] is not None else "yes"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _of_document(document: object) -> VerdictReading | None:
    if isinstance(document, bool):
        return VerdictReading(document, "strict")
    plain_values, vague_values = (list(values_of_keys(document, keys)) for keys in _JSON_KEYS)
    values = plain_values or vague_values
    if not values:
        return None
    said = {word for value in values if (word := _of_scalar(value))}
    if not said:
        raise Rejected("the reply's keys have no verdict")
    if "partly" in said:
        raise Rejected("partly, or not decided")
    if len(said) > 1:
        raise Rejected("the reply's keys contradict each other", doubt=True)
    return VerdictReading("yes" in said, "strict")


@cache
def _scalar() -> re.Pattern[str]:
    return re.compile(rf"\s{{0,4}}{_VALUE}\s{{0,4}}(?:[.!,;:(\-–—]|$)", re.IGNORECASE)


def _of_scalar(value: object) -> _Answer | None:
    if value is None:
        return "partly"
    if isinstance(value, bool | int | float):
        return "yes" if value == 1 else "no" if value == 0 else None
    match = _scalar().match(plain_punctuation(str(value)[:400]))
    return _answer(match) if match else None


# --- lone words -------------------------------------------------------------------------------------------------------


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(
        rf"[#>\s*_-]{{0,8}}(?:(?:answer|final answer|verdict)\s)?{_VALUE}"
        r"(?:\s{0,4}(?:[.,!;:，。、！；()]|$|\n|[-–—]{1,2}\s|because\b|since\b|as\b)|(?<=yes)\s|(?<=no)\s+(?:the|this|that|it|they|there|he|she)\b)(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    )


_YES_BUT = re.compile(rf"^\s*(?:{regex_of_list('verdicts', 'YES_BUT')})\b", re.IGNORECASE)
_SPOKEN_OF = re.compile(r"(?:would|is|was|were|might|could|may|cannot|can't)\b", re.IGNORECASE)
"""Verbs after *yes* whose subject is the word *yes* itself: ``Yes would be too generous``."""


def _ends_otherwise(rest: str, answer: _Answer) -> bool:
    """Whether the text after a yes or no ends with the opposite word: ``Ja, aber eigentlich nein``."""
    spoken = fold_words(rest[:200]).split()
    last = _plain_word().fullmatch(spoken[-1]) if 0 < len(spoken) < 6 else None
    return last is not None and _answer(last) != answer


@cache
def _alone() -> re.Pattern[str]:
    return re.compile(rf"[#>\s*_-]{{0,8}}{_VALUE}\s?[.!。]?", re.IGNORECASE)


def _first_word(first: Sentence) -> _Answer | None:
    """Return the verdict that opens a reply, such as ``Yes, ...``. A word that only begins a sentence is not."""
    match = _opening().match(first.text)
    if match is None or first.text.endswith("?"):
        return None
    answer, rest = _answer(match), match["rest"].strip()
    contradicted = rest in ("0", "1") and (rest == "1") != (answer == "yes")
    doubtful = (
        is_reported_claim(rest[:200]) or _SPOKEN_OF.match(rest) or _ends_otherwise(rest, answer) or _YES_BUT.match(rest)
    )
    return "partly" if contradicted or doubtful else answer


def _last_word(parts: list[Sentence]) -> _Answer | None:
    """Return the verdict that is the whole last line of a reply."""
    match = _alone().fullmatch(parts[-1].text) if len(parts) > 1 else None
    return _answer(match) if match else None


# --- prose ------------------------------------------------------------------------------------------------------------

_SUBJECT = rf"(?:{regex_of_list('verdicts', 'SUBJECT')})"
_FILLERS = (
    r"(?:\s+(?:\w+ly|also|thus|indeed|in fact|considered|deemed|judged|rated|marked|as|an?|the|all|been|being|be)){0,5}"
)


@cache
def _says() -> re.Pattern[str]:
    is_ = r"(?:is|are|was|were|has|have|had|seems|appears|can be|should be|would be considered|must be)"
    partly = r"(?P<partly>partial\w*|partly|somewhat|mostly|largely|nearly|almost|only|unclear|mixed)"
    fully = r"(?P<fully>fully\s+|completely\s+|entirely\s+)?"
    meets = (
        r"(?:meet|met|satisf\w+|fulfil\w*|comply|complied|adhere\w*|pass\w*|address\w*|provide\w* (?:a |the )?correct|"
        r"contain\w* the|mention\w*|include\w*|follow\w*)"
    )
    return re.compile(
        rf"\b{_SUBJECT}(?:'s (?:\w+ ){{0,2}}?{_SUBJECT})?(?:\s?\([^()]{{0,80}}\))?"
        r"(?: (?:provided|given|above|in question|itself))?\s+(?:"
        rf"{is_}(?P<not>\s+not|n't)?{_FILLERS}\s+(?:{partly}|(?P<bad>{_BAD})|{_GOOD})\b"
        rf"|(?:does|do|did|has|have)(?P<lacks>\s+not|n't)(?:\s+\w+ly)?\s+{fully}{meets}\b"
        r"|(?P<part>partially\s+|partly\s+|mostly\s+|only\s+)?(?:\w+ly\s+)?"
        r"(?:(?P<meets>meets|satisfies|fulfil?ls|complies|adheres|passes|passed)"
        r"|(?P<fails>fails|violates|failed|contradicts))\b)",
        re.IGNORECASE,
    )


_UNDECIDED = re.compile(
    r"\b(?:cannot|can't|can not|am unable to|could not|impossible to|not (?:possible|enough information) to)\s+"
    r"(?:\w+ly\s+)?(?:determine|tell|say|judge|verify|assess|evaluate|confirm|decide)\b|"
    r"\b(?:unclear|partially|partly) (?:whether|if|correct|met|satisf\w+|compl\w+|true)\b|"
    r"无法(?:判断|确定)|部分(?:正确|符合|满足)",
    re.IGNORECASE,
)
_HEDGED = re.compile(r"\b(?:if|unless|whether|would|could|might|may|should have)\b|[\"?]$", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:which|that|who|other|reference|correct|ground.truth|gold|user|argu\w+|claim\w*) $", re.IGNORECASE
)
_HAN = re.compile(
    r"(?:因此|所以|综上|总之|回答|该)[^。\n]{0,30}?(?:(?P<no>不(?:正确|符合|满足|通过|合格)|未(?:通过|满足)|没有满足|错误)|"
    r"正确|符合|满足|通过|合格)"
)


def _stated(parts: list[Sentence]) -> Iterator[tuple[_Answer, bool]]:
    """Yield the verdicts that sentences state, each with whether the sentence concludes. Conditions are omitted."""
    for place, part in enumerate(parts):
        text = blank_quotations(part.text, most=1)
        concluding = place == 0 or bool(CONCLUDING.search(text))
        if _UNDECIDED.search(text):
            yield "partly", concluding
            continue
        for match in _says().finditer(text):
            near = text[max(0, match.start() - 60) : match.end()]
            before, after = text[: match.start()], text[match.end() :]
            doubted = (
                denies_preference(before)
                or is_topic_of_sentence(after)
                or is_reported_claim(text)
                or is_introduced_as_mention(before, match[0])
            )
            if not doubted and not _HEDGED.search(near) and not _OTHERS.search(near[: len(near) - len(match[0])]):
                meaning, answer = _meaning(match), _answer_behind(after)
                doubtful = answer is not None and (meaning == "no" or answer != meaning)
                yield ("partly" if doubtful else meaning), concluding
        for match in _HAN.finditer(text):
            yield ("no" if match["no"] else "yes"), concluding


_BEHIND = re.compile(r"[^.!?:：\n]{0,80}?(?::|：|\s[-–—]{1,2}\s)[\s*_\"'`\[(]{0,4}(?P<said>[^\s*_\"'`\])].{0,20})$")


def _answer_behind(after: str) -> _Answer | None:
    """Return the yes or no that ends a sentence whose statement it may answer: ``The answer is wrong: no``."""
    match = _BEHIND.match(after)
    word = None if match is None else _plain_word().fullmatch(fold_words(match["said"]).strip())
    return None if word is None else _answer(word)


def _meaning(match: re.Match[str]) -> _Answer:
    if match["partly"] or match["part"] or match["fully"]:
        return "partly"
    if match["lacks"] or match["meets"]:
        return "no" if match["lacks"] else "yes"
    negative = match["bad"] is not None or match["fails"] is not None
    return "yes" if negative == bool(match["not"]) else "no"
