"""What a cascade did with a group, as its result recorded it, for the page.

Values from files are checked here. Not responsible for routing a group (``judging.cascade``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from calipers.types.encoding import measured_number

REASONS: Final = ("sure", "unsure", "unusable", "check", "breach", "late")
"""Why a judge of a cascade scored a group, as ``docs/cascade.md`` lists it."""
ESCALATED: Final = frozenset(("unsure", "unusable", "breach"))
_LONGEST: Final = 200
_MOST: Final = 64


def cascade_route(recorded: object) -> dict[str, Any] | None:
    """Return which judge of a cascade scored a reported group, and why, from ``cascade`` of its result; None without.

    A reason of another version is "unknown". ``thresholds`` are by slot, None where the judge was not asked.
    """
    if not isinstance(recorded, Mapping):
        return None
    slot, why, thresholds = recorded.get("slot"), recorded.get("why"), recorded.get("thresholds")
    judge = recorded.get("judge")
    given = thresholds[:_MOST] if isinstance(thresholds, list | tuple) else ()
    return {
        "slot": slot if isinstance(slot, int) and not isinstance(slot, bool) else None,
        "judge": judge[:_LONGEST] if isinstance(judge, str) else None,
        "why": why if why in REASONS else "unknown",
        "confidence": measured_number(recorded.get("confidence")),
        "error": measured_number(recorded.get("error")),
        "thresholds": [measured_number(one) for one in given],
    }
