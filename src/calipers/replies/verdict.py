"""Reads whether a judge's reply says yes or no (met, correct, pass, compliant, PRESENT) about one criterion.

Only exact words count, in JSON, in a mark (``[[1]]``), on a labelled line or as the first sentence. A reply that says
both yes and no is rejected. Verdicts on several criteria are read by ``checklist``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.replies.documents import (
    EXPLAINING,
    Pairs,
    answer_of,
    find_documents,
    has_words_around,
    pairs_of,
    parse_strict_json,
    plain_key,
)
from calipers.replies.names import CONTRADICTED, ERROR_BESIDE, REFUSED, REFUSES, TWO_VERDICTS, WORDS_AROUND, Rejected
from calipers.replies.text import LIMIT, condense_reply, reply_text, strip_fence
from calipers.types import Outcome

_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("yes", "true", "met", "pass", "passed", "present", "satisfied", "correct", "compliant"), True),
    **dict.fromkeys(("no", "false", "not met", "unmet", "fail", "failed", "not present", "absent"), False),
    **dict.fromkeys(("not satisfied", "unsatisfied", "incorrect", "not correct", "not compliant"), False),
    **dict.fromkeys(("noncompliant", "non compliant", "1"), False) | {"1": True, "0": False},
    **dict.fromkeys(("n/a", "not applicable", "unknown", "unclear", "cannot tell", "cannot assess"), None),
}
"""The verdict words that questions and formats ask for, and those of a judge that cannot tell."""
MET_KEYS: Final = frozenset(
    {"met", "criteria_met", "criterion_met", "is_met", "verdict", "level", "satisfied", "pass", "passed", "answer",
     "judgment", "judgement", "result", "correct", "compliant", "present", "score"}
)  # fmt: skip
_SPELLED: Final = "|".join(
    re.escape(word).replace(r"\ ", r"[\s_-]") for word in sorted(_WORDS, key=len, reverse=True) if len(word) > 1
)
_LABEL: Final = (
    r"(?:(?:my|the|final|overall)\s){0,2}"
    r"(?:verdict|criteria[\s_]met|criterion[\s_]met|met|(?:answer|result)(?!\sis\s(?:not\s|in)?correct)|judge?ment|grade)"
)
LABELLED: Final = re.compile(
    rf"\b{_LABEL}[*_\"'`]{{0,3}}(?:(?:\sis)?\s{{0,2}}[:：=]|\s[–—-]\s)[*_\"'`\s]{{0,4}}"
    rf"(?P<word>{_SPELLED})(?![\w-])",
    re.IGNORECASE,
)
_MARK: Final = re.compile(r"\[\[\s?(\w{1,12})\s?\]\]")
_LINE: Final = re.compile(
    rf"^[\s*_#-]{{0,6}}{_LABEL}[*_]{{0,3}}\s{{0,2}}(?:is\b)?[:：]?[*_`\s]{{0,4}}(?P<word>{_SPELLED})[\s*_`.]*$",
    re.IGNORECASE | re.MULTILINE,
)
_FIRST: Final = re.compile(
    r"[\s*_\"']{0,4}(?P<word>yes|no)[*_\"']{0,4}\s?(?P<end>[.,;:!–—-]|\n)(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
"""A sentence that is or begins with a verdict; in "No errors were found" the first word is none."""
_AGAIN: Final = re.compile(
    rf"(?:[^.!?\n]{{0,200}}\b(?:is|was|are))?[^\w.!?\n]*(?:{_SPELLED})[*_\"']*\s*(?:[.!?\n]|\Z)", re.IGNORECASE
)
_WORD: Final = re.compile(rf"(?<![\w-])(?<!not )(?:{_SPELLED})(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """The yes-or-no verdict read from a judge's reply: ``met`` is True, False, or None with the ``reason``."""

    met: bool | None
    outcome: Outcome
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict on one criterion: its value, or the ``problem`` with it. ``undecided``: the judge cannot tell.

    ``doubt``: it contradicts itself, so that nothing of the reply is read.
    """

    value: bool | None
    problem: str | None = None
    undecided: bool = False
    reason: str | None = None
    doubt: bool = False


def extract_verdict(text: str | None, *, format: str | None = None) -> VerdictReading:  # noqa: A002 - what people call it
    """Extract yes (True) or no (False) from a judge's reply, or None if it does not state one of them clearly.

    ``format`` names the format that the judge was asked for (docs/reading.md). Raises ConfigError for an unknown format
    or a format without a verdict, and never because of the text. ``text`` None is an empty reply; anything else but
    text is a ConfigError.
    """
    text = reply_text(text)
    try:
        if format is not None:
            from calipers.replies.formats.known import format_named  # noqa: PLC0415 - most replies have no format
            from calipers.replies.formats.values import stated_verdict  # noqa: PLC0415 - likewise

            met = stated_verdict(text, format_named(format, "verdict"))
            return VerdictReading(met, "strict", None if met is not None else "the judge decided neither")
        return _read(condense_reply(text))
    except Rejected as reject:
        return VerdictReading(None, "rejected", reject.reason)


def _read(text: str) -> VerdictReading:
    body, node, outcome, surplus = document_of(text)
    if node is not None:
        row = read_row(node)
        if row.doubt or surplus:
            raise Rejected(row.problem if row.doubt and row.problem else WORDS_AROUND, doubt=True)
        if not isinstance(row.value, bool):
            raise Rejected(row.problem or "no verdict in the reply")
        return VerdictReading(row.value, outcome)
    if "{" in body and '"' in body:
        raise Rejected("no verdict under the keys that were asked for")
    return VerdictReading(read_single(body), "text")


def document_of(text: str) -> tuple[str, Any, Outcome, bool]:
    """Return the judge's answer, its JSON document (None if it has none), the outcome, and whether it has words around.

    Several documents count as one object, in which a key may repeat. Raises Rejected.
    """
    whole = parse_strict_json(strip_fence(text)) if len(text) <= LIMIT else None
    if isinstance(whole, dict | list) and not _MARK.fullmatch(text.strip()):
        return text, whole, "strict", False
    body = answer_of(text)
    documents = find_documents(_MARK.sub(lambda mark: " " * len(mark[0]), body))
    if not documents:
        return body, None, "text", False
    if documents[-1].node is None:
        raise Rejected("the JSON of the reply is too damaged to be read", doubt=True)
    if documents[-1].cut:
        raise Rejected("the reply ends inside its verdicts", truncated=True)
    outcome: Outcome = "strict" if all(document.strict for document in documents) else "repaired"
    if len(documents) == 1:
        return body, documents[0].node, outcome, has_words_around(body, documents)
    is_mixed = not all(pairs_of(document.node) for document in documents)
    node = Pairs(pair for document in documents for pair in pairs_of(document.node))
    return body, node, outcome, is_mixed or has_words_around(body, documents)


def read_single(body: str) -> bool:
    """Return the verdict of a reply in words about a single criterion. Raises Rejected."""
    body = strip_fence(body)
    row = read_scalar(body)
    if isinstance(row.value, bool):
        return row.value
    marks = _MARK.findall(body)
    lines = [match["word"] for match in _LINE.finditer(body)]
    verdicts = {read_scalar(word).value for word in [*marks, *lines]} or _in_first_word(body)
    if len(verdicts) > 1:
        raise Rejected(TWO_VERDICTS, doubt=True)
    met = verdicts.pop() if verdicts else None
    if not isinstance(met, bool):
        raise Rejected("no verdict in the reply")
    return met


def read_row(value: Any) -> Row:
    """Return the verdict in the JSON value of one criterion: a scalar, or an object with a key such as ``met``."""
    pairs = pairs_of(value)
    if not pairs:
        return Row(None, "a list where a verdict belongs") if isinstance(value, list) else read_scalar(value)
    fields: dict[str, Any] = {}
    named = ((re.sub("^(?:final|overall)_", "", plain_key(key)), item) for key, item in pairs)
    repeated = any(repr(fields.setdefault(key, item)) != repr(item) for key, item in named)
    stated = [item for key, item in fields.items() if key in MET_KEYS and not isinstance(item, dict | list)]
    read = [read_scalar(item) for item in stated]
    words = [item for key, item in fields.items() if isinstance(item, str) and key not in MET_KEYS]
    row = next((row for row in read if row.value is not None), read[0] if read else Row(None, "no verdict in it"))
    if any(fields.get(key) for key in ("error", "refusal", "refused")):
        return Row(None, ERROR_BESIDE, doubt=True)
    if repeated or len({row.value for row in read if row.value is not None}) > 1:
        return Row(None, TWO_VERDICTS, doubt=True)
    in_words = {read_scalar(match["word"]).value for text in words for match in LABELLED.finditer(text[:4000])}
    in_words |= {_WORDS[word] for text in words if re.search("met|satisf", word := _folded(text)) and word in _WORDS}
    is_refusal = any(REFUSED.fullmatch(text.strip()) or (not row.value and REFUSES.match(text)) for text in words)
    if isinstance(row.value, bool) and (in_words - {row.value, None} or is_refusal):
        return Row(None, CONTRADICTED, doubt=True)
    reasons = (item for key, item in fields.items() if key in EXPLAINING and isinstance(item, str) and item.strip())
    return Row(row.value, row.problem, row.undecided, next(reasons, None))


def read_scalar(value: object) -> Row:
    """Return the verdict that a scalar states: a boolean, 0 or 1, or a verdict word."""
    if value is None:
        return Row(None, "the judge could not tell", undecided=True)
    if isinstance(value, bool):
        return Row(value)
    if isinstance(value, int | float):
        return Row(value == 1) if value in (0, 1) else Row(None, f"{value:.6g} is neither met nor not met")
    word = _folded(str(value)[:400])
    if word not in _WORDS:
        verdicts = _in_first_word(str(value)[:400])
        return Row(verdicts.pop()) if len(verdicts) == 1 else Row(None, "its value is neither met nor not met")
    met = _WORDS[word]
    return Row(met) if met is not None else Row(None, "the judge could not tell", undecided=True)


def _in_first_word(text: str) -> set[bool | None]:
    """Return the verdicts in a text that begins with "yes" or "no": this one, and those of later words.

    Within a sentence it has to be said again ("No, it is not correct"), for what follows may turn it round.
    """
    first = _FIRST.fullmatch(text)
    if first is None or (first["end"] in ",:–—-" and not _AGAIN.match(first["rest"])):
        return set()
    return {_WORDS[_folded(word)] for word in (first["word"], *_WORD.findall(first["rest"]))}


def _folded(text: str) -> str:
    bare = text.strip(" \r\n\t*`\"'.[]{}").casefold()
    bare = re.sub(r"^(?:it|(?:the )?criterion) (?:is )?(?=(?:not )?(?:met|satisfied)$)", "", bare)
    return re.sub(r"(?<=\w)-(?=\w)|[\s_]+", " ", bare).strip()
