"""Decides by keys and surrounding words whether a JSON document in a reply is the judge's own verdict.

A draft, an example and a candidate's claim are not. The words are lists in ``words/keys.txt``. For documents of scores,
``beside`` and ``quotations`` make the same checks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from calipers.replies.caveats.mentions import is_only_mentioned
from calipers.replies.caveats.phrases import find_phrases, fold_words
from calipers.replies.caveats.quotations import announces_other_numbers, is_others_verdict
from calipers.replies.caveats.retractions import words_after_document
from calipers.replies.rejected import Rejected
from calipers.replies.sentences import Prepared
from calipers.replies.strictjson import pairs_of, plain_key
from calipers.replies.wordlists import list_words

_FOREIGN, DENYING, REMARKS = (frozenset(list_words("keys", name)) for name in ("FOREIGN", "DENYING", "REMARKS"))
_MOST = 64
_MOST_KEYS = 500
"""On each level of a document, at most this many keys and items are searched."""
_SHORT = 60
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")


def is_foreign_key(key: object) -> bool:
    """Whether a JSON key says that its value is no verdict to extract: ``example``, ``claimed_winner``."""
    return not _FOREIGN.isdisjoint(word.lower() for word in _WORDS.findall(str(key)[:80]))


def has_foreign_key(document: object, *, depth: int = 3) -> bool:
    """Whether a JSON document contains a key such as ``example`` whose value is no verdict to extract."""
    return any(is_foreign_key(key) for key, _ in _pairs(document, depth))


def document_denies_itself(document: object) -> bool:
    """Whether extracted JSON says that it is no verdict: ``"valid": false``, ``"status": "placeholder"``."""
    for key, value in _pairs(document, 2):
        name = plain_key(str(key)[:40])
        if (value is False and name in DENYING) or (value is True and is_foreign_key(key)):
            return True
        if name in REMARKS and isinstance(value, str) and is_void_remark(value):
            return True
    return False


def is_void_remark(value: str) -> bool:
    """Whether a short remark beside an extracted verdict says that it is not real: ``placeholder``, ``draft``."""
    kinds = ("MEANINGLESS", "ONLY_EXAMPLE", "DRAFT", "INJECTED", "RETRACTION", "ANOTHER_JUDGE")
    return len(value) <= _SHORT and not find_phrases(fold_words(value)).keys().isdisjoint(kinds)


def check_document_is_own(reply: Prepared, keys: Collection[str], labels: Sequence[str] = ()) -> None:
    """Raise Rejected if the keys of an extracted JSON document, or the words around it, say that it is not the judge's
    own.

    ``keys`` are the keys that may contain a verdict.
    """
    document = reply.document
    if isinstance(document, dict) and (
        document_denies_itself(document)
        or _is_handed_over(reply.text, labels)
        or (has_foreign_key(document) and not any(True for _ in values_of_keys(document, keys)))
    ):
        raise Rejected("the only verdict is a draft, an example or a quotation", doubt=True)


def _is_handed_over(text: str, labels: Sequence[str]) -> bool:
    """Whether the words around the JSON document of a reply attribute it to somebody else."""
    start = next((place for place, char in enumerate(text) if char in "{["), -1)
    if start < 0:
        return False
    before, after = text[:start], words_after_document(text)
    if not before.strip("`~ \n") and not after:
        return False
    return (
        announces_other_numbers(before.strip("`~ \n"))
        or is_others_verdict(before, labels, of_scores=False)
        or is_only_mentioned(before, "", after)
    )


def _pairs(node: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    """Yield the keys of a JSON document with their values, down to ``depth`` levels."""
    pairs = pairs_of(node)
    yield from islice(pairs, _MOST)
    inner = [value for _, value in islice(pairs, _MOST)] if pairs else node[:_MOST] if isinstance(node, list) else []
    for value in inner if depth > 1 else ():
        yield from _pairs(value, depth - 1)


def values_of_keys(document: Any, keys: Collection[str], *, depth: int = 4) -> Iterator[Any]:
    """Extract the scalars under any of ``keys`` from a reply's JSON document, down to ``depth`` levels.

    ``keys`` have the form that ``plain_key`` returns. Values under a key such as *example* are omitted, because they
    are not the judge's verdict.
    """
    pairs = pairs_of(document)
    items = document if isinstance(document, list) and not pairs else []
    for key, value in islice(pairs, _MOST_KEYS):
        if not isinstance(value, dict | list):
            if plain_key(key) in keys:
                yield value
        elif depth > 1 and not is_foreign_key(key):
            yield from values_of_keys(value, keys, depth=depth - 1)
    for value in items[:_MOST_KEYS] if depth > 1 else []:
        yield from values_of_keys(value, keys, depth=depth - 1)
