"""What the rules of this package have in common: their shape, their words, and how a count becomes a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.types.packaged import read_packaged_toml
from calipers.verifiers.ifeval.arguments import Relation

Mode: TypeAlias = Literal["official", "official_2025", "fixed"]
"""``official`` gives the verdicts of Google's checker, oddities included, as published with the paper and shipped by
others. ``official_2025`` gives those of google-research from commit 3f357bd on: a letter that is none (``#``, ``!``) is
counted as it is, and not replaced by a random one. ``fixed`` mends what each rule names."""

Rule: TypeAlias = Callable[..., Verdict]
"""``rule(mode, response, **fields)``: the verdict on a response that is not blank. The fields are keyword-only.

Raises InputError naming a field only for what is wrong with every response, and ConfigError for a missing package.
"""


@cache
def words(name: str) -> tuple[str, ...]:
    """A list of ``words.toml``."""
    return tuple(read_packaged_toml("calipers.verifiers.ifeval", "words.toml")[name].split())


def yes_or_no(*, met: bool, otherwise: str) -> Verdict:
    """A plain verdict; ``otherwise`` is the reason if it is not met."""
    return Verdict(True) if met else Verdict(False, otherwise)


def counted(found: int, what: str, relation: Relation | Literal["exactly"], asked: int) -> Verdict:
    """Whether ``found`` is as asked, with both numbers in the reason."""
    met = {"less than": found < asked, "at least": found >= asked, "exactly": found == asked}[relation]
    return Verdict(met, f"{found} {what}; asked: {relation} {asked}")


@lru_cache(maxsize=1024)
def expression(field: str, pattern: str, flags: int = 0) -> re.Pattern[str]:
    """``pattern`` compiled. Raises InputError if the field's text is no regular expression."""
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"{field}: the official checker takes it for a regular expression, which it is not ({error}); "
            'mode="fixed" takes it literally'
        ) from None
