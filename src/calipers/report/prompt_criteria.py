"""The criteria that a model wrote for a group's prompt, as the group's result recorded them, for the page.

Values from files are checked here. Not responsible for having them written (``judging.task_criteria``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from calipers.types.encoding import measured_number

_MOST: Final = 100
"""How many criteria are read; a run allows far fewer."""


def written_criteria(recorded: object) -> dict[str, Any] | None:
    """Return the criteria of a reported group's prompt, from ``prompt_criteria`` of its result; None without.

    ``problem`` says why there are none. ``version`` and ``retired`` are numbers of criteria that evolve, None of
    others. A criterion with ``guard`` is retired, and was drawn for this group; ``saturation`` is the share of earlier
    answers that met it, None if unknown.
    """
    if not isinstance(recorded, Mapping):
        return None
    guards, shares = recorded.get("guards"), recorded.get("saturation")
    known = {
        "guards": {one for one in guards if isinstance(one, str)} if isinstance(guards, list | tuple) else set(),
        "saturation": shares if isinstance(shares, Mapping) else {},
    }
    items = recorded.get("written")
    listed = [one for one in items[:_MOST] if isinstance(one, Mapping)] if isinstance(items, list | tuple) else []
    problem = recorded.get("problem")
    return {
        "criteria": [_criterion(one, known) for one in listed],
        "problem": problem if isinstance(problem, str) else None,
        **{name: _count(recorded.get(name)) for name in ("calls", "version", "retired")},
    }


def _criterion(one: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    name, text = str(one.get("id", "")), one.get("text")
    return {
        "id": name,
        "text": text if isinstance(text, str) else None,
        "points": measured_number(one.get("points")),
        "veto": one.get("veto") is True,
        "guard": name in known["guards"],
        "saturation": measured_number(known["saturation"].get(name)),
    }


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
