"""The index of the site's search, as users need it: guides first, and neither the changelog nor measurements.

``search.js`` ranks what a user types; a section's ``weight`` multiplies its rank.
"""

from __future__ import annotations

from typing import Any, Final

_LEFT_OUT: Final = {"changes.html", "benchmarks.html", "performance.html", "pages.html"}
_WEIGHTS: Final = {"Trainers": 0.9, "Study": 0.7, "Reference": 0.3, "Project": 0.3}
"""By section of the navigation; guides have 1."""


def for_users(index: dict[str, Any]) -> dict[str, Any]:
    """The index without some pages, and with weights."""
    items = [item for item in index["items"] if item["location"].partition("#")[0] not in _LEFT_OUT]
    return {**index, "items": [{**item, "weight": _WEIGHTS.get(item["path"][0], 1)} for item in items]}
