"""Reads which of the labels a judge's reply prefers.

Marks (``[[A]]``, ``Choice: A``) are read first, then a pair of scores, then prose. If they contradict each other, the
reply is rejected. Scores of candidates on a scale are read by ``scores``, an order of many candidates by ``ranking``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, Literal, TypeVar

from calipers.replies.caveats.denials import is_choice_withdrawn
from calipers.replies.caveats.ownership import check_document_is_own, values_of_keys
from calipers.replies.compare.claims import EQUAL, NEITHER, TIE, Claim, concluded_labels, find_claims
from calipers.replies.compare.pairs import pair_of_scores, pair_of_scores_in_prose
from calipers.replies.compare.references import (
    distinguishing_names,
    do_names_clash,
    fold_name,
    labels_in_plain_text,
    matched_label,
    name_regex,
    reference_regex,
)
from calipers.replies.formats.known import Format, format_named
from calipers.replies.formats.labels import Preferred, labels_by_position, preferred_label
from calipers.replies.marks import Mark, agreed_value, find_marks, is_cut_mark
from calipers.replies.rejected import Rejected
from calipers.replies.sentences import (
    CONCLUDING,
    REFUSING,
    Sentence,
    before_next_example,
    both_ends,
    prepare_reply,
    split_sentences,
)
from calipers.replies.text import reply_text
from calipers.replies.wordlists import list_words, regex_of_list
from calipers.types import Outcome

Label = TypeVar("Label", str, int)

_KINDS = regex_of_list("keys", "CHOSEN_KINDS")
_KEYS = (
    rf"choice|winner|preference|preferred(?:[\s_-](?:{_KINDS}))?|selection|selected(?:[\s_-](?:{_KINDS}))?|pick|vote|"
    rf"(?:better|best|winning)(?:[\s_-](?:{_KINDS}))?|chosen|选择|胜者|获胜者|更好的(?:回答|答案|助手|模型|输出)|优胜者|偏好"
)
_OF_KIND = [
    f"{adjective}_{kind}" for adjective in ("better", "best", "preferred", "winning") for kind in _KINDS.split("|")
]
_JSON_KEYS = frozenset(
    lead + key
    for lead in ("", "final_", "overall_", "my_", "your_")
    for key in (*list_words("keys", "CHOICE"), *_OF_KIND)
)
_TIE_WORDS = r"(?:a\s)?(?:tie[ds]?|draw|平局|平手)"
_MOST_LINES = 100
_BLOCK_QUOTE = re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChoiceReading(Generic[Label]):
    """The choice read from a judge's reply: one of the labels as given, ``"tie"``, or None with the ``reason``.

    ``margin`` (0-1) says how strong the preference is, in formats with graded marks (``A>>B``) or with scores. In other
    formats it is None.
    """

    choice: Label | Literal["tie"] | None
    outcome: Outcome
    reason: str | None = None
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A preference found in a reply. ``who`` is a label's position, TIE or NEITHER, ``end`` where its words end (or
    -1).
    """

    who: int
    outcome: Outcome
    reason: str | None = None
    end: int = -1


def extract_choice(
    text: str | None,
    labels: Sequence[Label],
    *,
    tie: str | None = None,
    format: str | None = None,  # noqa: A002 - what people call it
) -> ChoiceReading[Label]:
    """Extract the label that a judge's reply prefers, ``"tie"``, or None if a careful reader would not be sure.

    ``labels`` name two or more candidates: ``A``, ``(a)``, ``Output (a)``, ``**Model A**`` all match label ``A``.
    ``tie`` is the label for a tie and may be one of ``labels``. A label spelled *tie* or *draw* always means a tie. If
    no tie is offered, the verdict *tie* is still read as a tie, but "both are equally good" is not. "Neither is better"
    is never read. A pair of scores for two labels ("8 7") prefers the label with the higher score.

    ``format`` names the format that the judge was asked for (docs/reading.md). The format's own names (``A``,
    ``model_1``) stand for ``labels`` in the order in which the prompt listed the candidates. If all ``labels`` are such
    names, they are matched by name. Raises ConfigError for an unknown format or a format without a choice, and never
    because of the text. ``text`` None is an empty reply;
    anything else but text is a ConfigError.
    """
    text = reply_text(text)
    form = format_named(format, "choice") if format is not None else None
    try:
        if form is not None:
            return _in_format(text, labels, form)
        if tie is None:
            tie = next((str(label) for label in labels if fold_name(str(label)) in ("tie", "draw")), None)
        given = [label for label in labels if str(label) != tie]
        found = _read(text, tuple(map(str, given)), tie)
    except Rejected as reject:
        return ChoiceReading(None, "rejected", reject.reason)
    return ChoiceReading("tie" if found.who == TIE else given[found.who], found.outcome, found.reason)


def _in_format(text: str, labels: Sequence[Label], form: Format) -> ChoiceReading[Label]:
    given = tuple(map(str, labels))
    try:
        found = preferred_label(text, given, form)
    except Rejected as reject:
        # A reply without its format's mark is read as prose only if the format compares two candidates and has one name
        # for each of them.
        in_words = len(form.names) == 2 and not form.keys and all(len(names) != 2 for names in form.names)
        if not (reject.nowhere and in_words):
            raise
        found = _in_words(text, given, form, reject)
    choice: Label | Literal["tie"] = "tie" if found.place == TIE else labels[found.place]
    return ChoiceReading(choice, found.outcome, found.reason, found.margin)


def _in_words(text: str, labels: tuple[str, ...], form: Format, reject: Rejected) -> Preferred:
    """Read the choice from the prose of a reply that lacks its format's mark."""
    try:
        found = _read(text, tuple(names[0] for names in form.names), form.tie[0] if form.tie else None)
    except Rejected:
        raise reject from None
    label = TIE if found.who == TIE else labels_by_position(labels, form).get(found.who)
    if label is None:
        raise reject
    return Preferred(label, found.outcome, found.reason)


def _read(text: str, labels: tuple[str, ...], tie: str | None) -> _Found:
    if len(labels) < 2:
        raise Rejected("fewer than two labels to choose from")
    if len(set(labels)) < len(labels):
        raise Rejected("two labels are the same")
    labels, keep = labels_in_plain_text(labels)
    reply = prepare_reply(text, keep=keep)
    check_document_is_own(reply, _JSON_KEYS, labels)
    before = before_next_example(reply.text)
    try:
        return _of_text(before, reply.document, labels, tie)
    except Rejected:
        if before == reply.text:
            raise
    # The apparent further examples may be an echo of the prompt, and the verdict may follow them.
    return _of_text(reply.text, reply.document, labels, tie)


def _of_text(text: str, document: object, labels: tuple[str, ...], tie: str | None) -> _Found:
    own = _BLOCK_QUOTE.sub("", text)
    parts = split_sentences(own)
    said = find_claims(parts, labels)
    found = _of_document(document, labels, tie)
    if found is None and own.strip():
        found = _marked(own, labels, tie)
    found = found or _paired(pair_of_scores(text, document, labels))
    if found is not None:
        conclusions = concluded_labels(said) if found.outcome != "repaired" else ()
        if conclusions and found.who not in conclusions:
            raise Rejected("the verdict and the conclusion in prose name different labels")
    elif said:
        last = max(claim.at for claim in said)
        end = next((part.start for part in parts if part.start > last), len(own))
        found = replace(_concluded(said, parts, labels, offered=tie is not None), end=end)
    else:
        found = _paired(pair_of_scores_in_prose(parts, labels))
    if found is None:
        raise Rejected("the judge declined" if REFUSING.search(text) else "no preference stated")
    if found.who == NEITHER:
        raise Rejected(found.reason or "no preference stated")
    if found.end >= 0 and is_choice_withdrawn(own[found.end :], labels):
        raise Rejected("words after the verdict take it back", doubt=True)
    return found


def _paired(pair: tuple[float, float] | None) -> _Found | None:
    if pair is None:
        return None
    return _Found(TIE if pair[0] == pair[1] else 0 if pair[0] > pair[1] else 1, "text")


# --- marks ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _value(labels: tuple[str, ...], tie: str | None) -> str:
    """Return a regex for the value of a choice mark: two labels with a sign between them, one label, or a tie."""
    known = distinguishing_names(labels)
    exact = do_names_clash((*known.shorts, tie or ""))
    cores = "|".join(sorted(known.spellings(), key=len, reverse=True))
    ties = "|".join(filter(None, (tie and name_regex(tie, exact=exact), _TIE_WORDS)))
    sides = (
        rf"(?P<left>{cores})[\])*'\"]{{0,2}}\s?(?P<sign><{{1,3}}|>{{1,3}}|={{1,2}}|≈|~)\s?[\[(*'\"]{{0,2}}(?P<right>{cores})"
        r"(?![A-Za-z0-9])[\])*'\"]{0,3}"
    )
    alone = rf"[\[(*'\"]{{0,4}}(?P<tie>{ties})(?![A-Za-z0-9])[\])*'\"]{{0,4}}"
    return rf"(?:[\[(*'\"]{{0,3}}{sides}|{reference_regex(labels, exact=exact)}|{alone})"


@lru_cache(maxsize=256)
def _line(labels: tuple[str, ...], tie: str | None) -> re.Pattern[str]:
    value = _value(labels, tie)
    return re.compile(rf"(?:#{{1,6}}\s)?(?:\d\.\s)?{value}\s?[.!。]?\s?(?:is better[.!]?)?", re.IGNORECASE)


def _meant(match: re.Match[str], labels: tuple[str, ...]) -> int:
    groups = match.groupdict()
    if groups["tie"] is not None:
        return TIE
    if groups["sign"] is None:
        return matched_label(match)
    known = distinguishing_names(labels)
    shorts = [known.fold(short) for short in known.shorts]
    left, right = shorts.index(known.fold(groups["left"])), shorts.index(known.fold(groups["right"]))
    if left == right:
        return NEITHER
    return left if ">" in groups["sign"] else right if "<" in groups["sign"] else TIE


def _of_document(document: object, labels: tuple[str, ...], tie: str | None) -> _Found | None:
    values = (
        value for value in values_of_keys(document, _JSON_KEYS) if value is not None and not isinstance(value, bool)
    )
    matches = (_line(labels, tie).fullmatch(str(value).strip()[:200]) for value in values)
    found = {_meant(match, labels) for match in matches if match}
    if len(found) > 1:
        raise Rejected("the reply contradicts itself: its keys choose different labels")
    return _Found(found.pop(), "strict") if found else None


def _marked(text: str, labels: tuple[str, ...], tie: str | None) -> _Found | None:
    found = [(_meant(mark.match, labels), mark) for mark in find_marks(text, _value(labels, tie), _KEYS)]
    ends = [mark.match.end() for _, mark in found]
    alone = _alone(text, labels, tie)
    if alone is not None and all(value != alone.who for value, _ in found):
        found.insert(0 if alone.first else len(found), (alone.who, Mark(alone.match)))
    if not found:
        return None
    value, reason = agreed_value(found)
    if alone is not None and alone.first:
        ends.append(text.index(alone.match.string) + alone.match.end())
    return _Found(value, "repaired" if reason else "strict", reason, max(ends, default=-1))


@lru_cache(maxsize=256)
def _opening(labels: tuple[str, ...], tie: str | None) -> re.Pattern[str]:
    return re.compile(rf"{_value(labels, tie)}\s?[,.:;–—-]?\s{{1,2}}(?:because|since|as|due to)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Lone:
    """A label that is the whole first line of a reply (``first``) or its whole last line."""

    who: int
    match: re.Match[str]
    first: bool


def _alone(text: str, labels: tuple[str, ...], tie: str | None) -> _Lone | None:
    """Return the label that is the whole first or last line of a reply, unless a line names several labels.

    Lines that name several labels are headings or a list.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    near = both_ends(lines, _MOST_LINES)
    found = {
        place: match
        for place, line in enumerate(near)
        if len(line) <= 120 and (match := _line(labels, tie).fullmatch(line))
    }
    because = _opening(labels, tie).match(near[0])
    if because and not found:
        return _Lone(_meant(because, labels), because, first=True)
    if len({_meant(match, labels) for match in found.values()}) != 1:
        return None
    for place in {0, len(near) - 1} & found.keys():
        match, last = found[place], place == len(near) - 1
        if (len(near) == 1 or not match.string.startswith("#")) and not (last and is_cut_mark(match)):
            return _Lone(_meant(match, labels), match, first=place == 0)
    return None


# --- prose ------------------------------------------------------------------------------------------------------------


def _concluded(said: list[Claim], parts: list[Sentence], labels: tuple[str, ...], *, offered: bool) -> _Found:
    found = _weighed(said, parts)
    if found.who == EQUAL:
        if not offered:
            raise Rejected("the candidates are called equal, and no tie was on offer")
        return _Found(TIE, "text")
    elsewhere = all(claim.at < parts[-1].start for claim in said)
    if found.who >= 0 and elsewhere and _is_undone(parts[-1], found.who, labels):
        raise Rejected("the reply was cut off in a conclusion that names another label")
    return found


def _weighed(said: list[Claim], parts: list[Sentence]) -> _Found:
    strong = [claim for claim in said if claim.strength == "strong"]
    preferring = [claim for claim in strong if claim.who >= TIE]
    if not preferring:
        return _implied(said, strong, parts)
    last = strong[-1]
    if last.who < TIE:
        raise Rejected("the reply ends by calling none better")
    if not parts[-1].closed and not any(_is_settling(claim, parts) for claim in preferring):
        raise Rejected("the reply was cut off before its conclusion")
    conclusions = {claim.who for claim in preferring if claim.concluding}
    opening = preferring[0].at <= parts[0].start
    one = len({claim.who for claim in preferring}) == 1
    if one or last.correcting or (conclusions == {last.who} and not opening):
        return _Found(last.who, "text")
    raise Rejected("the reply calls more than one label better")


def _is_settling(claim: Claim, parts: list[Sentence]) -> bool:
    """Whether a claim in a cut-off reply is its verdict: the claim opens or ends the reply, or states a conclusion."""
    return claim.concluding or claim.at >= parts[-1].start or claim.at < parts[1].start


def _implied(said: list[Claim], strong: list[Claim], parts: list[Sentence]) -> _Found:
    """Return the preference that a reply without a plain preference implies: "gives a clearer answer".

    Raises Rejected if sentences imply different preferences.
    """
    if strong:
        return _Found(strong[-1].who, "text", "the reply calls none better")
    weak = [claim for claim in said if claim.concluding] or said
    if len({claim.who for claim in weak}) > 1 or not parts[-1].closed:
        raise Rejected("no preference stated")
    return _Found(weak[-1].who, "text")


def _is_undone(last: Sentence, who: int, labels: tuple[str, ...]) -> bool:
    """Whether a reply was cut off in a last sentence that concludes for another label than ``who``."""
    if last.closed or not CONCLUDING.search(last.text):
        return False
    named = re.search(rf"(?:{reference_regex(labels)})$", last.text[-80:], re.IGNORECASE)
    return named is not None and matched_label(named) != who
