"""Which written scenarios are refused, and why. Their texts become prompts of a policy and are read by judges.

Not responsible for finding prompt injection (``guard``).
"""

from __future__ import annotations

from typing import Final

from calipers.criteria.checks import length_of
from calipers.guard.injection import find_attacks
from calipers.render.escapes import escape
from calipers.scenarios.alike import DUPLICATE, Known

SHORTEST: Final = 12
LONGEST: Final = 8_000


def problem_of(text: str, known: Known) -> str | None:
    """Return why a scenario's text may not be used, in fixed words; None if it may.

    The reason never quotes the text, which may hold an attack.
    """
    if length_of(text) < SHORTEST or len(text) > LONGEST:
        return f"it has fewer than {SHORTEST} or more than {LONGEST:,} characters"
    if escape(text) != text:
        return "it holds invisible characters, tokens of a chat template or imitated layout"
    if any(hit.certainty != "suspicious" for hit in find_attacks([{"role": "assistant", "content": text}])):
        return "it addresses a judge"
    if known.nearest(text) >= DUPLICATE:
        return "it nearly repeats another"
    return None
