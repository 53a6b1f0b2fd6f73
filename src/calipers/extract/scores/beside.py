"""Holds a verdict of scores against the words beside it: whose it is, and what they do to it.

Only replies that are more than their verdict come here. The words are judged in ``takebacks`` and ``quotations``; which
verdict counts is decided in ``selection``.
"""

from __future__ import annotations

import re

from calipers.extract.caveats.quotations import fence_lead, is_others, stands_in_quote
from calipers.extract.caveats.takebacks import interrupted, taken_back, voided
from calipers.extract.rejected import Rejected
from calipers.extract.scores.announced import announced, without
from calipers.extract.scores.found import Claim, Found, Value, is_same
from calipers.extract.scores.lines import read_lines
from calipers.extract.scores.verdicts import VerdictReader

_NEAR = 2_000
"""Characters before a verdict that may void it."""
_QUOTATION = "[a document]"
"""Stands for a verdict that is somebody else's, so that *that is what it wrote* is not about the judge's."""
_BETWEEN = "words between the scores take one back"
_BREAK = re.compile(r"[.!?]\s+|[。！？；]|\n")


def is_quoted(text: str, claim: Claim, ids: tuple[str, ...]) -> bool:
    """Whether the words right before a verdict call it a draft, an example or somebody else's, or it stands in a quote."""
    claimed = claim.found.values.keys()
    if is_others(text[max(claim.floor, claim.start - 200) : claim.start], ids, claimed):
        return True
    fenced = fence_lead(text, claim.start, claim.floor)
    return bool(fenced and is_others(fenced, ids, claimed)) or stands_in_quote(text, claim.start, ids)


def check_beside(text: str, claim: Claim, claims: list[Claim], reader: VerdictReader) -> None:
    """Reject when the words around the verdict void it, or those after it say otherwise."""
    ids, scale = reader.names.ids, reader.scale
    spoken = [other for other in claims if other.found.values or other.found.positional]
    if any(other.found.nameless and other.start >= claim.end and not is_quoted(text, other, ids) for other in claims):
        raise Rejected("a later score names nobody", doubt=True)
    before = _prose(text, 0, claim.start, spoken, ids)
    after = _prose(text, claim.end, len(text), spoken, ids)
    reason = voided(before[-_NEAR:], ids, scale=scale) if before.strip() else None
    told = without(after, announced(after, reader.names)) if after.strip() else after
    reason = reason or taken_back(told, ids, scores=claim.found.numbers, scale=scale)
    if reason is None and interrupted(_prose(text, claim.start, claim.end, spoken, ids), ids):
        reason = _BETWEEN
    if reason is not None:
        raise Rejected(reason, doubt=True)
    said = read_lines(after, reader.names, scale)
    for id_, value in said.values.items():
        if type(value) is Value and not is_same(value, claim.found.values.get(id_)):
            raise Rejected(f"words after the verdict give {id_!r} another score", doubt=True)


def check_around(found: Found, reader: VerdictReader) -> None:
    """Reject when the words before, between or after the lines of a verdict in prose undo it."""
    ids, scale = reader.names.ids, reader.scale
    reason = taken_back(found.tail, ids, scores=found.numbers, scale=scale) if found.tail else None
    if reason is None and found.head.strip():
        reason = voided(found.head[-_NEAR:], ids, scale=scale)
    if reason is None and any(interrupted(between, ids) for between in found.between):
        reason = _BETWEEN
    if reason is not None:
        raise Rejected(reason, doubt=True)


def _prose(text: str, start: int, end: int, claims: list[Claim], ids: tuple[str, ...]) -> str:
    """The words of ``text[start:end]`` without its verdicts, and without what introduces somebody else's."""
    pieces = []
    for claim in claims:
        if claim.start < start or claim.end > end:
            continue
        piece = text[start : claim.start]
        if is_quoted(text, claim, ids):
            breaks = [found.end() for found in _BREAK.finditer(piece.rstrip("` \r\n\tjson:："))]
            piece = f"{piece[: breaks[-1]] if breaks else ''}\n{_QUOTATION}"
        pieces.append(piece)
        start = claim.end
    return "\n".join([*pieces, text[start:end]])
