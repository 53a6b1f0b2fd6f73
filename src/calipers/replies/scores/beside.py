"""Checks a verdict of scores against the words around it and the remarks in its own JSON document.

These checks can only lead to a rejection. ``retractions`` and ``quotations`` judge the words; ``selection`` decides
which verdict counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers.replies.caveats.ownership import DENYING, REMARKS, is_void_remark
from calipers.replies.caveats.phrases import find_phrases, fold_words
from calipers.replies.caveats.quotations import is_in_block_quote, is_others_verdict, words_before_fence
from calipers.replies.caveats.retractions import TAKEN_BACK, VOID, takes_score_back, why_taken_back, why_void
from calipers.replies.rejected import Rejected
from calipers.replies.scores.announced import announced_scales, blank_announcements
from calipers.replies.scores.fields import role_of_key
from calipers.replies.scores.found import Claim, Found, Value, is_same_score
from calipers.replies.scores.lines import read_scores_in_text
from calipers.replies.scores.rows import RowReader
from calipers.replies.strictjson import pairs_of
from calipers.replies.wordlists import list_words

_NEAR = 2_000
"""This many characters before a verdict are searched for words that void it."""
_QUOTATION = "[a document]"
"""The placeholder for somebody else's verdict, so that *that is what it wrote* is not taken to mean the judge's
verdict.
"""
_BREAK = re.compile(r"[.!?]\s+|[。！？；]|\n")
_LONGEST_REMARK = 4_000
_MOST_KEYS = 64
_FLAGS: Final = frozenset(list_words("roles", "flags"))


def is_quoted_verdict(text: str, claim: Claim, ids: tuple[str, ...]) -> bool:
    """Whether extracted scores are quoted, or introduced as a draft, an example or somebody else's."""
    leads = (
        text[max(claim.floor, claim.start - 200) : claim.start],
        words_before_fence(text, claim.start, claim.floor),
    )
    others = any(is_others_verdict(lead, ids, claim.found.values.keys()) for lead in leads)
    return others or is_in_block_quote(text, claim.start, ids)


def check_words_beside(text: str, claim: Claim, claims: list[Claim], reader: RowReader) -> None:
    """Raise Rejected if the words around extracted scores invalidate them, or give a candidate another score."""
    ids, scale = reader.names.ids, reader.scale
    spoken = [other for other in claims if other.found.values or other.found.positional]
    if any(
        other.found.nameless and other.start >= claim.end and not is_quoted_verdict(text, other, ids)
        for other in claims
    ):
        raise Rejected("a later score has no id", doubt=True)
    after = _prose(text, claim.end, len(text), spoken, ids)
    bare = blank_announcements(after, announced_scales(after, reader.names)) if after.strip() else after
    between = (_prose(text, claim.start, claim.end, spoken, ids),)
    _check(claim.found, _prose(text, 0, claim.start, spoken, ids), between, bare, reader)
    for id_, value in read_scores_in_text(after, reader.names, scale).values.items():
        if type(value) is Value and not is_same_score(value, claim.found.values.get(id_)):
            raise Rejected(f"words after the verdict give {id_!r} another score", doubt=True)


def check_words_around(found: Found, reader: RowReader) -> None:
    """Raise Rejected if the words before, between or after scores extracted from prose invalidate them."""
    _check(found, found.head, found.between, found.tail, reader)


def _check(found: Found, before: str, between: Sequence[str], after: str, reader: RowReader) -> None:
    ids, scale = reader.names.ids, reader.scale
    reason = why_void(before[-_NEAR:], ids, scale=scale) or why_taken_back(
        after, ids, scores=found.numbers, scale=scale
    )
    if reason is None and any(takes_score_back(words, ids) for words in between):
        reason = "words between the scores take one back"
    if reason is not None:
        raise Rejected(reason, doubt=True)


def _prose(text: str, start: int, end: int, claims: list[Claim], ids: tuple[str, ...]) -> str:
    """Return the words of ``text[start:end]`` without verdicts or introductions of somebody else's verdict."""
    pieces = []
    for claim in claims:
        if claim.start < start or claim.end > end:
            continue
        piece = text[start : claim.start]
        if is_quoted_verdict(text, claim, ids):
            breaks = [found.end() for found in _BREAK.finditer(piece.rstrip("` \r\n\tjson:："))]
            piece = f"{piece[: breaks[-1]] if breaks else ''}\n{_QUOTATION}"
        pieces.append(piece)
        start = claim.end
    return "\n".join([*pieces, text[start:end]])


# --- remarks in the document --- --------------------------------------------------------------------------------------


def why_remark_doubtful(
    node: Any, ids: Sequence[str], *, scores: Mapping[str, float], scale: tuple[float, float], depth: int = 2
) -> str | None:
    """Return why a remark in a JSON document puts the extracted scores beside it in doubt, or None if no remark does.

    Examples are ``"note": "these scores are random"`` and ``"correction": {"KB": 50}``. Explanations of single
    candidates are not checked.
    """
    pairs = pairs_of(node)
    after = False
    for key, value in pairs if len(pairs) <= _MOST_KEYS else ():
        role = role_of_key(key)
        if key is None or key in ids or role in ("scores", "final", "score"):
            after = True
            continue
        reason = _of_pair(str(key)[:60], value)
        remark = value[:_LONGEST_REMARK] if type(value) is str and role in (None, "text", "loose score") else ""
        if reason is None and role == "wrapper" and depth:
            reason = why_remark_doubtful(value, ids, scores=scores, scale=scale, depth=depth - 1)
        elif reason is None and after:
            reason = why_taken_back(remark, ids, scores=scores, scale=scale)
        elif reason is None:
            reason = why_void(remark, ids, scale=scale)
        if reason is not None:
            return reason
    return None


def _of_pair(key: str, value: Any) -> str | None:
    """Return why a key such as ``"correction"`` puts the scores in doubt, unless its value is empty or false."""
    spoken = fold_words(key)
    name = "_".join(spoken.split())
    if (value is False and name in DENYING) or (type(value) is str and name in REMARKS and is_void_remark(value)):
        return VOID
    if value is None or value is False or value in ("", 0, [], {}):
        return None
    found = find_phrases(spoken)
    whole = {kind for kind, spans in found.items() if (1, len(spoken) - 1) in spans}
    if whole & {"CORRECTION", "CORRECTION_BEFORE_COLON", "RETRACTION", "SWAPS"}:
        return TAKEN_BACK
    flagged = value is True and (found.keys() & {"MEANINGLESS", "LOWER_IS_BETTER"} or _FLAGS & set(spoken.split()))
    return VOID if flagged else None
