"""Whether a document with a verdict in words is a draft, an example or somebody else's: by its keys, and the words around it.

Of scores, ``remarks`` and ``quotations`` tell the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from calipers.extract.caveats.phrases import folded, hits
from calipers.extract.caveats.quotations import heads_others, is_others
from calipers.extract.caveats.standing import mentioned
from calipers.extract.caveats.takebacks import after_document

_FOREIGN: Final = frozenset(
    [
        "example",
        "examples",
        "sample",
        "draft",
        "drafts",
        "template",
        "placeholder",
        "dummy",
        "mock",
        "schema",
        "format",
        "hypothetical",
        "quoted",
        "quote",
        "quotes",
        "quotation",
        "claimed",
        "claims",
        "claim",
        "according",
        "previous",
        "prior",
        "initial",
        "preliminary",
        "tentative",
        "injected",
        "injection",
        "baseline",
        "lenient",
        "transcript",
        "prompt",
        "conversation",
    ]
)
DENYING: Final = frozenset(
    ["valid", "final", "is_final", "is_valid", "reliable", "trustworthy", "genuine", "serious", "own"]
)
ASIDE: Final = frozenset(
    ["status", "state", "type", "kind", "source", "origin", "note", "notes", "remark", "comment", "warning"]
)
_MOST = 64
_SHORT = 60
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")


def is_foreign(key: object) -> bool:
    """Whether a key says that what it holds is not the judge's verdict: ``example``, ``claimed_winner``, ``A_claims``."""
    return not _FOREIGN.isdisjoint(word.lower() for word in _WORDS.findall(str(key)[:80]))


def holds_foreign(document: object, *, depth: int = 3) -> bool:
    """Whether a document holds a key that is foreign."""
    return any(is_foreign(key) for key, _ in _pairs(document, depth))


def denies_itself(document: object) -> bool:
    """Whether a document says that it does not hold: ``"valid": false``, ``"status": "placeholder"``."""
    for key, value in _pairs(document, 2):
        name = re.sub(r"[\W_]+", "_", str(key)[:40]).strip("_").lower()
        if (value is False and name in DENYING) or (value is True and is_foreign(key)):
            return True
        if name in ASIDE and isinstance(value, str) and is_void(value):
            return True
    return False


def is_void(value: str) -> bool:
    """Whether a short remark beside a verdict says that it is none: ``placeholder``, ``draft``."""
    kinds = ("MEANINGLESS", "ONLY_EXAMPLE", "DRAFT", "INJECTED", "RETRACTION", "ANOTHER_JUDGE")
    return len(value) <= _SHORT and not hits(folded(value)).keys().isdisjoint(kinds)


def handed_over(text: str, labels: Sequence[str] = ()) -> bool:
    """Whether the words around the document of a reply make it somebody else's."""
    start = next((place for place, char in enumerate(text) if char in "{["), -1)
    if start < 0:
        return False
    before, after = text[:start], after_document(text)
    if not before.strip("`~ \n") and not after:
        return False
    return (
        heads_others(before.strip("`~ \n"))
        or is_others(before, labels, of_scores=False)
        or mentioned(before, "", after)
    )


def _pairs(node: object, depth: int) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, Mapping):
        for key, value in islice(node.items(), _MOST):
            yield key, value
            if depth > 1 and isinstance(value, Mapping | list):
                yield from _pairs(value, depth - 1)
    elif isinstance(node, list) and depth > 1:
        for value in node[:_MOST]:
            yield from _pairs(value, depth - 1)
