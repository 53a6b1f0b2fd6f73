"""Chooses the verdict that counts among all the verdicts of scores in a reply, or says why none can be read.

The last complete verdict counts, unless it is somebody else's, taken back, contradicted, or followed by a verdict that
is cut off. ``verdicts`` reads the shapes, ``beside`` the words around a verdict, ``scores`` checks the scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from calipers.replies.documents import Document, find_documents, unescape_reply
from calipers.replies.rejected import Rejected
from calipers.replies.scores.announced import Announced, announced_scales, breaks_off_in_scale, scale_of_bare_numbers
from calipers.replies.scores.beside import check_words_around, check_words_beside, is_quoted_verdict
from calipers.replies.scores.found import Claim, Found, Unread, Value, is_same_score
from calipers.replies.scores.lines import End, read_scores_in_text
from calipers.replies.scores.verdicts import VerdictReader
from calipers.replies.strictjson import parse_strict_json
from calipers.replies.text import TOLERANT_LIMIT, end_of_reply, strip_fence, strip_reasoning
from calipers.types import FinishReason, Outcome

_ORPHAN_FENCE = re.compile(r"\A\s{0,100}```\s{0,100}(?=```)")
"""The closing fence that remains of a fence around removed reasoning."""


def find_claim(text: str, document: Any, reader: VerdictReader, finish_reason: FinishReason | None) -> Claim:
    """Extract the verdict of a reply that counts; raise Rejected if it has none, or none that can be trusted.

    ``document`` is the strict JSON that the whole reply is, or None.
    """
    found = _whole(document, reader)
    if found is not None:
        return Claim(found)
    answer = strip_reasoning(text)
    if answer is None:
        raise Rejected("the reasoning never ends", truncated=True)
    reasoned = len(answer) != len(text)
    body = strip_fence(_ORPHAN_FENCE.sub("", answer) if reasoned else answer)
    if not body:
        raise Rejected("the reply is empty")
    found = _whole(parse_strict_json(body), reader) if len(body) != len(text) else None
    if found is not None:
        return Claim(found)
    bounded = len(body) > TOLERANT_LIMIT
    shown = _shown(body, reasoned=reasoned)
    found = _whole(parse_strict_json(shown), reader) if shown != body and not bounded else None
    if found is not None:
        return Claim(found, outcome="repaired")
    claim = _embedded(shown, reader, finish_reason, bounded=bounded)
    if claim is None:
        claim = _text(shown, answer, reader, finish_reason)
    if bounded and not _is_full(claim, reader.names.ids):
        raise Rejected("the reply is too long to be read in part")
    return claim


def _shown(body: str, *, reasoned: bool) -> str:
    """Return the end of a reply for tolerant reading, without one level of quotation marks or escapes around it."""
    inner = parse_strict_json(body) if body[:1] == '"' else None
    shown = end_of_reply(inner if type(inner) is str else body)
    return shown if reasoned else unescape_reply(shown)  # after reasoning, escaped quotes belong to a quotation


def _whole(document: Any, reader: VerdictReader) -> Found | None:
    """Return the verdict of a reply that is one strict JSON document, or a JSON string that contains one, else None."""
    for _ in range(3):
        if isinstance(document, dict | list):
            found = reader.read(document)
            if found.positional and not found.values:
                found.values = dict(zip(reader.names.ids, found.positional, strict=True))
            if (not found.values and not found.doubts) or _is_template(found):
                raise Rejected("no verdict in the reply")
            return found
        if type(document) in (int, float) and len(reader.names.ids) == 1:
            return reader.read({"score": document})
        if type(document) is not str or not document:
            return None
        document = parse_strict_json(document)
    return None


def _is_template(found: Found) -> bool:
    """Whether a verdict is the prompt's own example: every explanation a placeholder and all scores equal."""
    if not found.placeholders >= len(found.values) > 0:
        return False
    return len({value.number for value in found.values.values() if type(value) is Value}) == 1


def _embedded(text: str, reader: VerdictReader, finish_reason: FinishReason | None, *, bounded: bool) -> Claim | None:
    """Return the verdict in the JSON documents of a reply, or None if no document is a verdict."""
    documents = find_documents(text)
    if documents is None:
        raise Rejected("the JSON of the reply is too damaged to be read")
    floors = [0, *(document.end for document in documents)]
    claims = [_of_document(document, floor, reader) for document, floor in zip(documents, floors, strict=False)]
    if len(claims) == 1:
        [only] = claims
        _take_in_order(only, text, reader.names.ids)
    speaking = [
        claim
        for claim in claims
        if (claim.found.values or claim.found.doubts or claim.cut) and not _is_template(claim.found)
    ]
    if not any(claim.found.values and claim.found.readable for claim in speaking):
        # A template beside readable prose is harmless, but a verdict that is cut off is not.
        if any(claim.cut and (claim.found.values or not claim.start or _begins(text, claim)) for claim in speaking):
            raise Rejected("the reply ends inside its verdict", truncated=True)
        return None
    claim = _chosen(speaking, text, reader.names.ids)
    if _has_debris(text, documents, speaking):
        raise Rejected("pieces of another verdict are outside the JSON", doubt=True)
    _rescale(text, documents, claim, reader)
    _check_trailing(text, claim, finish_reason)
    check_words_beside(text, claim, claims, reader)
    claim = replace(claim, breaks_off=finish_reason is None and breaks_off_in_scale(text[claim.end :]))
    if not _is_full(claim, reader.names.ids):
        _check_outside(text, documents, claim, reader)
    if bounded and (claim.outcome != "strict" or text[claim.end :].strip("`~ \r\n\t>/answer<")):
        raise Rejected("the reply is too long to be read in part")
    return claim


def _take_in_order(claim: Claim, text: str, ids: tuple[str, ...]) -> None:
    """Give a reply's scores without ids to the ids in order, if the reply is only one whole document."""
    found = claim.found
    alone = not text[: claim.start].strip() and not text[claim.end :].strip(" \r\n\t]}`;,.")
    if alone and found.positional and not (claim.garbled or claim.cut):
        found.values = dict(zip(ids, found.positional, strict=True))


def _begins(text: str, claim: Claim) -> bool:
    """Whether any text follows the first bracket of a JSON document."""
    return bool(text[claim.start + 1 : claim.start + 3].strip())


def _prose(text: str, documents: list[Document]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part of a reply that is outside its JSON documents."""
    end = 0
    for start, following in (*((document.start, document.end) for document in documents), (len(text), len(text))):
        if start > end:
            yield end, start
        end = max(end, following)


_DIGIT = re.compile(r"\d")
_COMMENT = re.compile(r"(?://|/\*|#\s)([^\n]{1,200})")


def _rescale(text: str, documents: list[Document], claim: Claim, reader: VerdictReader) -> None:
    """Convert the scores of a verdict if the words around it, or comments in it, state their scale."""
    around = _DIGIT.search(text, 0, claim.start) or _DIGIT.search(text, claim.end) or claim.outcome != "strict"
    numbers = claim.found.bare_numbers() if around else []
    if not numbers:
        return
    mended = [one for one in documents if not one.strict and one.start < claim.end and one.end > claim.start]
    comments = [comment for document in mended for comment in _COMMENT.findall(text[document.start : document.end])]
    near: list[Announced] = announced_scales("\n".join(["", *comments]), reader.names)
    far: list[Announced] = []
    for start, end in _prose(text, documents):
        (far if end < claim.floor else near).extend(announced_scales(text[start:end], reader.names))
    for document in documents:
        scale = reader.scale_of(document.node) if document.start < claim.start else None
        far += [] if scale is None else [Announced(scale, document.start, document.end)]
    scale = scale_of_bare_numbers(near, numbers, reader.scale) or scale_of_bare_numbers(far, numbers, reader.scale)
    claim.found.apply_scale(scale, reader.scale)
    claim.check()


_DEBRIS = re.compile(r"[\"'“”]\s{0,5}[:：]\s{0,5}[\"'“”\d\[{]|\d\s{0,5}[}\]]")


def _has_debris(text: str, documents: list[Document], speaking: list[Claim]) -> bool:
    """Whether pieces of JSON are left outside the documents after the first verdict: a string ended too early."""
    first = next(claim for claim in speaking if claim.found.readable).end
    return any(_DEBRIS.search(text, max(start, first), end) for start, end in _prose(text, documents) if end > first)


def _of_document(document: Document, floor: int, reader: VerdictReader) -> Claim:
    found = reader.read(document.node)
    outcome: Outcome = "strict" if document.strict else "repaired"
    return Claim(found, document.start, document.end, outcome, document.cut, document.garbled, floor)


def _is_full(claim: Claim, ids: tuple[str, ...]) -> bool:
    """Whether a verdict has an entry for every id, and no entry is cut off or empty."""
    found = [claim.found.values.get(id_) for id_ in ids]
    return all(value and not (type(value) is Unread and (value.cut or value.empty)) for value in found)


def _chosen(claims: list[Claim], text: str, ids: tuple[str, ...]) -> Claim:
    """Return the last complete verdict; raise Rejected if a later or enclosing verdict puts it in doubt."""
    full = [place for place, claim in enumerate(claims) if _is_full(claim, ids) and claim.found.readable]
    last = next((place for place in reversed(full) if not is_quoted_verdict(text, claims[place], ids)), None)
    if full and last is None:
        raise Rejected(_NOT_OWN, doubt=True)
    if last is None:
        return _merged(claims, text, ids)
    winner = claims[last]
    winner.check()
    for other in claims[:last]:
        if other.garbled and other.found.readable and other.end > winner.start:
            other.check()  # the verdict is a piece of this document
    for later in claims[last + 1 :]:
        _compare(winner, later, text, ids)
    return winner


_NOT_OWN = "the only verdict is a draft, an example or a quotation"


def _compare(winner: Claim, later: Claim, text: str, ids: tuple[str, ...]) -> None:
    """Raise Rejected if a later verdict, except a template or a quotation, is cut off or gives other scores."""
    if later.cut:
        raise Rejected("a later verdict is cut off", doubt=True, truncated=True)
    if not later.found.readable or later.found.placeholders or is_quoted_verdict(text, later, ids):
        return
    later.check()
    for id_, value in later.found.values.items():
        if not is_same_score(value, winner.found.values[id_]) and not (type(value) is Unread and value.empty):
            raise Rejected(f"two verdicts that differ on {id_!r}", doubt=True)


def _merged(claims: list[Claim], text: str, ids: tuple[str, ...]) -> Claim:
    """Merge rows in documents of their own (one per line or fence) into one verdict."""
    spoken = [claim for claim in claims if claim.found.readable or claim.cut]
    if any(is_quoted_verdict(text, claim, ids) for claim in spoken):
        beside = "a draft, an example or a quotation stands beside the verdict"
        raise Rejected(beside if len(spoken) > 1 else _NOT_OWN, doubt=True)
    total = Found()
    for claim in spoken:
        if claim.garbled:
            claim.check()
        total.merge(claim.found)
    last = spoken[-1]
    outcome: Outcome = last.outcome if len(spoken) == 1 else "repaired"
    merged = Claim(total, spoken[0].start, last.end, outcome, any(claim.cut for claim in spoken))
    merged.check()
    return merged


def _check_trailing(text: str, claim: Claim, finish_reason: FinishReason | None) -> None:
    """Raise Rejected if a second verdict after this one was cut off."""
    tail = text[claim.end :]
    words = tail.strip(" \r\n\t`~]}.,;")
    if words and finish_reason == "length":
        raise Rejected("the reply was cut off after a first verdict", doubt=True, truncated=True)
    inside = text[: claim.start].count("```") % 2
    opened = (tail.count("```") - inside) % 2 == 1 and (words or (not inside and tail.strip() != "```"))
    if opened or words.endswith((":", "：")):
        raise Rejected("a later verdict is cut off", doubt=True, truncated=True)


def _check_outside(text: str, documents: list[Document], claim: Claim, reader: VerdictReader) -> None:
    """Raise Rejected if the documents of a reply score some ids and the prose around them scores other ids."""
    prose = "\n\n".join(text[start:end] for start, end in _prose(text, documents))
    for id_, value in read_scores_in_text(prose, reader.names, reader.scale).values.items():
        if type(value) is Value and not is_same_score(value, claim.found.values.get(id_)):
            raise Rejected("documents and prose give different scores", doubt=True)


def _text(text: str, answer: str, reader: VerdictReader, finish_reason: FinishReason | None) -> Claim:
    """Return the verdict of a reply without JSON documents, from a table, YAML or lines of prose."""
    whole = finish_reason == "stop" or answer.endswith("\n")
    end: End = "cut" if finish_reason == "length" else "whole" if whole else "unknown"
    found = read_scores_in_text(text, reader.names, reader.scale, end=end)
    claim = Claim(found, 0, len(text), "text", breaks_off=end == "unknown" and breaks_off_in_scale(text))
    claim.check()
    if not found.readable:
        raise Rejected("no verdict in the reply")
    check_words_around(found, reader)
    return claim
