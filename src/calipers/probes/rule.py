"""What a rule about wording is, and how one is written. Not responsible for any wording of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from calipers.types import AttackKind


@dataclass(frozen=True, slots=True)
class Rule:
    """Text that matches ``pattern`` is a sign of ``kind``; what matches has a word of each group in ``words``.

    Words are lower case, in UTF-8. In scripts without spaces, or with many forms of a word, it has one of ``parts``.
    """

    kind: AttackKind
    pattern: str
    words: tuple[frozenset[bytes], ...] = ()
    parts: tuple[str, ...] = ()


def rule(kind: AttackKind, words: tuple[str, ...], pattern: str) -> Rule:
    """A rule whose groups of words are written as lines of words."""
    return Rule(kind, pattern, words=tuple(frozenset(group.encode().split()) for group in words))


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: all of them together would take longer than importing everything else."""
    return re.compile(pattern, flags)
