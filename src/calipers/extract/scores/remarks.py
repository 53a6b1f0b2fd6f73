"""What a document of scores says beside them: ``"note": "these scores are random"``, ``"correction": {"KB": 50}``.

Explanations of single candidates are theirs and not looked at. What words do is for ``takebacks``; shapes for ``verdicts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers.extract.caveats.disowned import DENYING, REMARKS, is_void
from calipers.extract.caveats.phrases import folded, hits
from calipers.extract.caveats.takebacks import TAKEN_BACK, VOID, taken_back, voided
from calipers.extract.scores.fields import role_of
from calipers.extract.strictjson import Pairs, pairs_of

_LONGEST = 4_000
_MOST_KEYS = 64
_FLAGS: Final = frozenset(
    ["example", "sample", "draft", "dummy", "placeholder", "test", "mock", "template", "preliminary", "tentative"]
)
"""Words of a key that make no verdict of the scores beside it, where the key says true."""


def doubtful_remark(
    node: Any, ids: Sequence[str], *, scores: Mapping[str, float], scale: tuple[float, float], depth: int = 2
) -> str | None:
    """Why what stands beside the scores in ``node`` puts them in doubt; None where nothing does."""
    if not isinstance(node, dict | Pairs) or len(node) > _MOST_KEYS:
        return None
    told = False
    for key, value in pairs_of(node):
        role = role_of(key)
        if key is None or key in ids or role in ("scores", "final", "score"):
            told = True
            continue
        reason = _of_pair(str(key)[:60], value)
        if reason is None and type(value) is str and role in (None, "text", "loose score"):
            if told:
                reason = taken_back(value[:_LONGEST], ids, scores=scores, scale=scale)
            else:
                reason = voided(value[:_LONGEST], ids, scale=scale)
        elif reason is None and role == "wrapper" and depth:
            reason = doubtful_remark(value, ids, scores=scores, scale=scale, depth=depth - 1)
        if reason is not None:
            return reason
    return None


def _of_pair(key: str, value: Any) -> str | None:
    """What a key says by itself, where its value does not deny it."""
    name = "_".join(folded(key).split())
    if (value is False and name in DENYING) or (type(value) is str and name in REMARKS and is_void(value)):
        return VOID
    if value is None or value is False or value in ("", 0, [], {}):
        return None
    words = folded(key)
    whole = {kind for kind, spans in hits(words).items() if (1, len(words) - 1) in spans}
    if whole & {"CORRECTION", "CORRECTION_BEFORE_COLON", "RETRACTION", "SWAPS"}:
        return TAKEN_BACK
    if value is True and (
        hits(words).keys() & {"MEANINGLESS", "LOWER_IS_BETTER"} or not _FLAGS.isdisjoint(words.split())
    ):
        return VOID
    return None
