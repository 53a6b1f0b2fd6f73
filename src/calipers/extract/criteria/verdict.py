"""Whether a reply says yes or no: met, correct, pass, compliant, PRESENT, in words, marks or JSON.

"Partly" is neither, and so is a reply that says both. Verdicts on several criteria in one reply, and grades, are not
read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from calipers.extract.caveats.asides import unquoted as without_quotes
from calipers.extract.caveats.denials import denied, retracted
from calipers.extract.caveats.disowned import check_own, values_under
from calipers.extract.caveats.phrases import folded
from calipers.extract.caveats.quotations import stands_in_quotes
from calipers.extract.caveats.standing import hearsay, led, subject
from calipers.extract.caveats.takebacks import after_document, lone_clauses
from calipers.extract.formats.known import Format, format_named
from calipers.extract.formats.values import stated
from calipers.extract.marks import Mark, agreed, marks
from calipers.extract.rejected import Rejected
from calipers.extract.sentences import CONCLUDING, REFUSING, Sentence, plain, prepared, sentences, unquoted
from calipers.types import Outcome

_Answer = Literal["yes", "no", "partly"]


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """``met`` is True or False, or None, and then ``reason`` says why."""

    met: bool | None
    outcome: Outcome
    reason: str | None = None


def extract_verdict(text: str, *, format: str | None = None) -> VerdictReading:  # noqa: A002 - what people call it
    """True for yes, False for no, None where a careful reader would not be sure.

    *Partly correct*, *yes* contradicted by the sentence after it, a condition or a refusal are None. ``format`` names the
    format that the judge was asked for (docs/reading.md). Raises ConfigError for one that there is not, or that holds
    no verdict, and never for a text.
    """
    form = format_named(format, "verdict") if format is not None else None
    try:
        return _read(text) if form is None else _in_format(text, form)
    except Rejected as reject:
        return VerdictReading(None, "rejected", reject.reason)


def _read(text: str) -> VerdictReading:
    reply = prepared(text)
    check_own(reply, _JSON_KEYS[0] | _JSON_KEYS[1])
    reading = _of_document(reply.document)
    if reading is None:
        return _in_words(reply.text)
    if retracted(after_document(text)):
        raise Rejected(_DOUBTED, doubt=True)
    return reading


def _in_words(text: str) -> VerdictReading:
    words = _BLOCK_QUOTE.sub("", text)
    parts = sentences(words) or [Sentence("", 0)]
    lone = [word for word in (_first_word(parts[0]), _last_word(parts)) if word]
    found = [
        (_answer(mark.match), mark)
        for mark in marks(words, _VALUE, _KEYS)
        if not stands_in_quotes(words, mark.match.start())
    ]
    asked = not any(
        mark.match.group().strip() and words[: mark.match.start()].rstrip()[-1:] not in ("?", "？") for _, mark in found
    )
    if asked and any(_ASKED_OTHERWISE.search(piece) for piece in (words[:_NEAR_QUESTION], words[-_NEAR_QUESTION:])):
        raise Rejected("the answer to a question of which yes may be the bad one", doubt=True)
    reading = _decided(found, lone, list(_stated(parts)))
    if reading is None:
        raise Rejected("the judge declined" if REFUSING.search(words) else "no verdict stated")
    return _undone(reading, words, parts, found)


_DOUBTED = "words after the verdict take it back"
_BAD = (
    r"violat\w*|wrong|incorrect|fail\w*|miss(?:es|ing)|error\w*|false|invalid|contradict\w*|hallucinat\w*|unmet|not|lack\w*|"
    r"harm\w*|unsafe|mistake\w*|problem\w*|issue\w*|break\w*|omit\w*|fehl\w*|verst\w*|falsch|faux|manqu\w*|"
    r"mal|sbagliat\w*|errat\w*|errad\w*|falta\w*|неверн\w*|наруш\w*|ошиб\w*|错\w*|違反\w*|违反\w*|缺\w*|误\w*|誤り\w*|위반\w*|오류\w*"
)
_ASKED_OTHERWISE = re.compile(
    rf"(?:(?:\A|(?<=[.!\n]))[^.!?？\n]{{0,160}}\b(?:{_BAD})\b[^.!?？\n]{{0,80}}[?？]\s{{0,4}}"
    rf"|(?:\A|(?<=\n))[#*_\s-]{{0,6}}(?:not\s\w+|(?:{_BAD}))[*_]{{0,2}}\s?[:：]\s{{0,3}})"
    r"[\"'*_`\[]{0,4}(?:yes|no|none|true|false|ja|nein|sí|si|sì|oui|non|да|нет|はい|いいえ|是|否|无|無|没有|なし|예|아니요|아니오|없음|"
    r"keine?|aucune?|not|never)\b",
    re.IGNORECASE,
)
"""``Does it violate the rule? No.``, ``Violation: no``, ``错误：无``."""
_NEAR_QUESTION = 400
_BLOCK_QUOTE = re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)


def _undone(
    reading: VerdictReading, text: str, parts: list[Sentence], found: list[tuple[_Answer, Mark]]
) -> VerdictReading:
    """The reading, unless the reply goes on to say the other word, or to take the first back."""
    if reading.outcome == "repaired":
        return reading
    said: _Answer = "yes" if reading.met else "no"
    if any(word not in (said, "partly") for word in _turns(parts)):
        raise Rejected("the reply says both yes and no", doubt=True)
    end = found[-1][1].match.end() if found else 0
    if not found and _first_word(parts[0]) is not None:
        end = parts[0].start + len(parts[0].text)
    elif not found:
        end = max(parts[-1].start + len(parts[-1].text), 0)
    if retracted(text[end:]):
        raise Rejected(_DOUBTED, doubt=True)
    return reading


def _turns(parts: list[Sentence]) -> Iterator[_Answer]:
    """Yes and no as words of their own, wherever they stand: ``Yes ... actually no``. Answers to questions are none."""
    asked = False
    for part in [*parts[:_MOST_PARTS], *parts[_MOST_PARTS:][-_MOST_PARTS:]]:
        for words, mark in lone_clauses(unquoted(without_quotes(part.text), most=1)):
            match = _plain_word().fullmatch(words)
            if match is not None and not asked and not mark.startswith(("?", "？")):
                yield _answer(match)
            asked = mark.startswith(("?", "？"))


_MOST_PARTS = 20


@cache
def _plain_word() -> re.Pattern[str]:
    """A word for yes or no, folded, with at most a phrase that states it."""
    lead = r"(?:(?:it is|it s|i d say|i would say|i say|i mean|i meant|make that|so|therefore|the answer is)\s)?"
    no, yes = ("|".join(folded(word).strip() for word in words.split("|")) for words in (_NO_WORDS, _YES_WORDS))
    return re.compile(rf"{lead}(?:(?P<no>{no})|(?P<yes>{yes}))(?P<partly>(?!))?")


_YES_WORDS = (
    "yes|yep|met|pass|passed|true|satisfied|sí|sì|oui|ja|sim|да|так|はい|예|네|是|是的|符合|满足|evet|tak|có|نعم|ano|kyllä|igen|"
    "हाँ|ya"
)
_NO_WORDS = (
    "no|nope|not met|unmet|fail|failed|false|not satisfied|nein|non|não|нет|ні|いいえ|아니요|아니오|不|否|不对|不是|不符合|不满足|"
    "hayır|nie|nee|không|لا|nej|ei|nem|nu|नहीं|tidak"
)


def _in_format(text: str, form: Format) -> VerdictReading:
    found = stated(text, form, "verdict")
    met = form.verdict[found.value]
    if met is None:
        raise Rejected(f"neither met nor not met: {found.value}")
    return VerdictReading(met, found.outcome, found.reason)


def _decided(
    found: list[tuple[_Answer, Mark]], lone: list[_Answer], prose: list[tuple[_Answer, bool]]
) -> VerdictReading | None:
    """Marks and lone words first, and what the prose says must not contradict them."""
    marked, reason = agreed(found) if found else (None, None)
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


# --- words ----------------------------------------------------------------------------------------------------------

_ADJECTIVES_YES = (
    "correct|right|true|valid|accurate|compliant|acceptable|satisfactory|successful|supported|present|met|satisfied|"
    "fulfilled|consistent|faithful|equivalent|entailed|approved|accepted|passed|resolved|appropriate"
)
_ADJECTIVES_NO = (
    "incorrect|wrong|false|invalid|inaccurate|non-?compliant|unacceptable|unsatisfactory|unsuccessful|unsupported|absent|"
    "unmet|unsatisfied|unfulfilled|inconsistent|unfaithful|contradicted|rejected|failed|violated|missing|unresolved|"
    "inappropriate"
)
_YES = (
    rf"(?:yes|yep|yeah|pass(?:es)?|satisf(?:y|ies)|compl(?:y|ies)|meets?|accept|approve|success|positive|{_ADJECTIVES_YES}|"
    r"si|sí|sì|oui|ja|sim|да|верно|はい|正しい|예|네|是的?|对|正确|符合(?:要求|标准)?|满足(?:要求|条件|标准)?|通过|合格|"
    r"达标|成立|✅|✔️?|✓)"
)
_NO = (
    rf"(?:no(?![\s.]{{0,4}}\d)|nope|fail(?:s|ure)?|violat(?:es|ion)|reject|negative|"
    rf"(?:not|non)[\s_-]{{0,3}}(?:a )?(?:{_ADJECTIVES_YES}|pass(?:ing)?|meet(?:ing)?|satisfy)|"
    rf"(?:does|did|do) not (?:pass|meet|satisfy|comply)|{_ADJECTIVES_NO}|non|nein|nee|não|нет|неверно|いいえ|아니[오요]|否|"
    r"不是|不对|错误?|不(?:正确|符合(?:要求|标准)?|满足(?:要求|条件|标准)?|通过|合格|达标|成立)|未(?:通过|满足|达标)|"
    r"没有(?:满足|通过)|❌|✗|✘|×)"
)
_PARTLY = (
    r"(?:partial(?:ly)?|part(?:ly|ially)? (?:correct|met|satisfied|true|compliant)|mixed|unclear|unknown|n/?a\b|"
    r"not applicable|inconclusive|borderline|maybe|undetermined|cannot (?:be )?(?:determined?|tell|say|assess|judge|verify)|"
    r"can't (?:determine|tell|say)|unable to|uncertain|unsure|neither|both|insufficient|部分(?:正确|符合|满足)?|不确定|"
    r"无法(?:判断|确定))"
)
_VALUE = (
    rf"[\[({{*_'\"]{{0,4}}(?:(?P<partly>{_PARTLY})|(?P<no>{_NO})|(?P<yes>{_YES}))"
    r"(?![^\W\u3040-\u30ff\u4e00-\u9fff])[\])}*_'\"]{0,4}"
)
_KEYS = (
    r"(?:is[\s_-])?(?:correct(?:ness)?|compliant|compliance|satisfied|met|present|supported|valid|passed|resolved)|"
    r"criteri(?:a|on)[\s_-]{0,2}(?:is[\s_-])?(?:met|satisfied)?|"
    r"(?:requirement|rubric|condition)s?[\s_-](?:is[\s_-]|are[\s_-])?(?:met|satisfied)|pass(?:/fail)?|grade|status|score|"
    r"rating|是否(?:符合|满足|正确|通过)|(?:yes|pass|true)\s?/\s?(?:no|fail|false)|"
    r"meets?[\s_-](?:the[\s_-])?(?:criteri(?:a|on)|requirements?|rubric)|urteil|antwort|respuesta|veredicto|réponse|"
    r"verdetto|risposta|resposta|ответ|вердикт|回答"
)
_PLAIN_KEYS = (
    "verdict decision judgment judgement conclusion criteria_met criterion_met criteria_satisfied met meets meets_criteria "
    "meets_criterion meets_requirement satisfied correct correctness pass passed passes compliant compliance "
    "requirement_met requirements_met condition_met rubric_met fulfilled"
)
_VAGUE_KEYS = (
    "answer result outcome assessment evaluation label present presence supported valid success successful status grade "
    "resolved"
)
_JSON_KEYS = tuple(
    frozenset(lead + key for lead in ("", "final_", "overall_", "is_", "my_") for key in keys.split())
    for keys in (_PLAIN_KEYS, _VAGUE_KEYS)
)
"""Keys that hold a verdict, and those that hold one where none of the first do."""


def _answer(match: re.Match[str]) -> _Answer:
    return "partly" if match["partly"] is not None else "no" if match["no"] is not None else "yes"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _of_document(document: object) -> VerdictReading | None:
    if isinstance(document, bool):
        return VerdictReading(document, "strict")
    plain_values, vague_values = (list(values_under(document, keys)) for keys in _JSON_KEYS)
    values = plain_values or vague_values
    if not values:
        return None
    said = {word for value in values if (word := _of_scalar(value))}
    if not said:
        raise Rejected("the reply's keys hold no verdict")
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
    match = _scalar().match(plain(str(value)[:400]))
    return _answer(match) if match else None


# --- lone words -----------------------------------------------------------------------------------------------------


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(
        rf"[#>\s*_-]{{0,8}}(?:(?:answer|final answer|verdict)\s)?{_VALUE}(?:\s{{0,4}}(?:[.,!;:，。、！；()]|$|\n|[-–—]{{1,2}}\s|"
        r"because\b|since\b|as\b)|(?<=yes)\s|(?<=no)\s+(?:the|this|that|it|they|there|he|she)\b)(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    )


_YES_BUT = re.compile(
    r"^\s*(?:and no\b|but|however|although|though|unless|if|only|provided|as long as|except|apart from|"
    r"for (?:the )?(?:first|second|third|last|most|part|some|one)|according to|mostly|to some extent|in part|partially|partly|"
    r"with (?:caveats|reservations))\b",
    re.IGNORECASE,
)


_COPULA = re.compile(r"(?:would|is|was|were|might|could|may|cannot|can't)\b", re.IGNORECASE)


def _mentions_only(rest: str) -> bool:
    """``Yes would be too generous``, ``Yes is what it wants``: the word is spoken of."""
    return _COPULA.match(rest) is not None


def _ends_otherwise(rest: str, answer: _Answer) -> bool:
    """``Ja, aber eigentlich nein``: the last word is the other one."""
    words = folded(rest[:200]).split()
    last = _plain_word().fullmatch(words[-1]) if len(words) in range(1, 6) else None
    return last is not None and _answer(last) != answer


@cache
def _alone() -> re.Pattern[str]:
    return re.compile(rf"[#>\s*_-]{{0,8}}{_VALUE}\s?[.!。]?", re.IGNORECASE)


def _first_word(first: Sentence) -> _Answer | None:
    """The verdict a reply opens with: ``Yes, ...``, ``Incorrect.``; a word that only begins a sentence is none."""
    match = _opening().match(first.text)
    if match is None or first.text.endswith("?"):
        return None
    answer, rest = _answer(match), match["rest"].strip()
    if hearsay(rest[:200]) or _mentions_only(rest) or _ends_otherwise(rest, answer):
        return "partly"
    contradicted = rest in ("0", "1") and (rest == "1") != (answer == "yes")
    return "partly" if contradicted or _YES_BUT.match(rest) else answer


def _last_word(parts: list[Sentence]) -> _Answer | None:
    """A verdict that is all there is of the last line."""
    match = _alone().fullmatch(parts[-1].text) if len(parts) > 1 else None
    return _answer(match) if match else None


# --- prose ----------------------------------------------------------------------------------------------------------

_SUBJECT = (
    r"(?:candidate|answer|response|output|assistant|agent|model|criteri(?:on|a)|requirements?|rubric(?: item)?|condition|"
    r"statement|claim|student|solution|submission|completion|policy|reply|text|summary|it|this|interaction|conversation|"
    r"trajectory|verdict|constraint|instruction)"
)
_FILLERS = (
    r"(?:\s+(?:\w+ly|also|thus|indeed|in fact|considered|deemed|judged|rated|marked|as|an?|the|all|been|being|be)){0,5}"
)


@cache
def _says() -> re.Pattern[str]:
    return re.compile(
        rf"\b{_SUBJECT}(?:'s (?:\w+ ){{0,2}}?{_SUBJECT})?(?:\s?\([^()]{{0,80}}\))?(?: (?:provided|given|above|in question|itself))?\s+(?:"
        rf"(?:is|are|was|were|has|have|had|seems|appears|can be|should be|would be considered|must be)(?P<not>\s+not|n't)?{_FILLERS}\s+"
        rf"(?:(?P<partly>partial\w*|partly|somewhat|mostly|largely|nearly|almost|only|unclear|mixed)|(?P<neg>{_ADJECTIVES_NO})|"
        rf"{_ADJECTIVES_YES})\b"
        r"|(?:does|do|did|has|have)(?P<lacks>\s+not|n't)(?:\s+\w+ly)?\s+(?P<fully>fully\s+|completely\s+|entirely\s+)?"
        r"(?:meet|met|satisf\w+|fulfil\w*|comply|complied|adhere\w*|pass\w*|address\w*|provide\w* (?:a |the )?correct|"
        r"contain\w* the|mention\w*|include\w*|follow\w*)\b"
        r"|(?P<part>partially\s+|partly\s+|mostly\s+|only\s+)?(?:\w+ly\s+)?"
        r"(?:(?P<meets>meets|satisfies|fulfil?ls|complies|adheres|passes|passed)|(?:fails|violates|failed|contradicts))\b)",
        re.IGNORECASE,
    )


_UNDECIDED = re.compile(
    r"\b(?:cannot|can't|can not|am unable to|could not|impossible to|not (?:possible|enough information) to)\s+(?:\w+ly\s+)?"
    r"(?:determine|tell|say|judge|verify|assess|evaluate|confirm|decide)\b|"
    r"\b(?:unclear|partially|partly) (?:whether|if|correct|met|satisf\w+|compl\w+|true)\b|无法(?:判断|确定)|部分(?:正确|符合|满足)",
    re.IGNORECASE,
)
_HEDGED = re.compile(r"\b(?:if|unless|whether|would|could|might|may|should have)\b|[\"?]$", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:which|that|who|other|reference|correct|ground.truth|gold|user|argu\w+|claim\w*) $",
    re.IGNORECASE,
)
_HAN = re.compile(
    r"(?:因此|所以|综上|总之|回答|该)[^。\n]{0,30}?(?:(?P<no>不(?:正确|符合|满足|通过|合格)|未(?:通过|满足)|没有满足|错误)|"
    r"正确|符合|满足|通过|合格)"
)


def _stated(parts: list[Sentence]) -> Iterator[tuple[_Answer, bool]]:
    """What sentences say of the candidate or the criterion, and whether they conclude. Conditions are no verdict."""
    for place, part in enumerate(parts):
        text = unquoted(part.text, most=1)
        concluding = place == 0 or bool(CONCLUDING.search(text))
        if _UNDECIDED.search(text):
            yield "partly", concluding
            continue
        for match in _says().finditer(text):
            near = text[max(0, match.start() - 60) : match.end()]
            before, after = text[: match.start()], text[match.end() :]
            doubted = denied(before) or subject(after) or hearsay(text) or led(before, match[0])
            if not doubted and not _HEDGED.search(near) and not _OTHERS.search(near[: len(near) - len(match[0])]):
                yield _said(match), concluding
        for match in _HAN.finditer(text):
            yield ("no" if match["no"] else "yes"), concluding


def _said(match: re.Match[str]) -> _Answer:
    if match["partly"] or match["part"] or match["fully"]:
        return "partly"
    if match["lacks"]:
        return "no"
    if match["meets"]:
        return "yes"
    negative = match["neg"] is not None or re.search(r"(?:fails|violates|failed|contradicts)$", match[0], re.IGNORECASE)
    return "yes" if bool(negative) == bool(match["not"]) else "no"
