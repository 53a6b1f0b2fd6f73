"""The types and helpers that all IFEval rules share, such as turning a count into a verdict."""

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
"""How faults of Google's checker are treated. ``official`` gives the verdicts of the version published with the paper,
faults included. ``official_2025`` gives the verdicts of google-research from commit 3f357bd on, which counts a
non-letter (``#``, ``!``) instead of a random letter. ``fixed`` corrects the faults that each rule names.
"""

Rule: TypeAlias = Callable[..., Verdict]
"""``rule(mode, response, **fields)`` returns the verdict on a response that is not blank. The fields are keyword-only.

A rule raises InputError, naming a field, only if the field is wrong for every response, and ConfigError for a missing
package.
"""


@cache
def word_list(name: str) -> tuple[str, ...]:
    """Return a list of words from IFEval's ``words.toml``."""
    return tuple(read_packaged_toml("calipers.verifiers.ifeval", "words.toml")[name].split())


def verdict_if(*, met: bool, otherwise: str) -> Verdict:
    """Return an IFEval verdict of met or not met, with ``otherwise`` as the reason if it is not met."""
    return Verdict(True) if met else Verdict(False, otherwise)


def count_verdict(found: int, what: str, relation: Relation | Literal["exactly"], asked: int) -> Verdict:
    """Return the IFEval verdict on whether the count ``found`` is the required count. The reason has both numbers."""
    met = {"less than": found < asked, "at least": found >= asked, "exactly": found == asked}[relation]
    return Verdict(met, f"{found} {what}; asked: {relation} {asked}")


@lru_cache(maxsize=1024)
def compile_field(field: str, pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile the regular expression in a field of an IFEval instruction. Raises InputError if it is not valid."""
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"{field}: the official checker takes it for a regular expression, which it is not ({error}); "
            'mode="fixed" takes it literally'
        ) from None
