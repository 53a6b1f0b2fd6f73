"""Which trajectories a judge's answers are about: judgments name candidates by position, and people know ids.

Not responsible for the judgments themselves (``ledger``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast, get_args

from calipers.render import Reasoning, render
from calipers.types import RenderedGroup, TrajectoryGroup

DECOY: Final = "(decoy)"
"""What stands for a canary, which is no trajectory."""
_HEADER: Final = re.compile(r"@[a-z]{2,24} candidate (\w{1,16})")
_MOST_CANDIDATES: Final = 500


def shown_candidates(group: TrajectoryGroup, result: Mapping[str, Any], reasoning: str) -> RenderedGroup | None:
    """Return a recorded group as its judge saw it, or None if the judge saw nothing of it.

    Trajectories without messages, and those that were hidden from the judge because they address it, are not in it.
    """
    hidden = {str(one["id"]) for one in result["trajectories"] if _was_hidden(one)}
    shown = tuple(one for one in group.trajectories if one.messages and one.id not in hidden)
    if not shown:
        return None
    known = cast("Reasoning", reasoning) if reasoning in get_args(Reasoning) else "hidden"
    return render(replace(group, trajectories=shown), reasoning=known)


def candidate_ids(view: RenderedGroup | None) -> list[list[str]]:
    """Return, for each candidate of a recorded group as its judge saw it, the ids of its trajectories."""
    return [] if view is None else [[view.ids[member] for member in one.members] for one in view.candidates]


def _was_hidden(trajectory: Mapping[str, Any]) -> bool:
    """Whether ``on_attack`` excluded a trajectory: these are the words of its result."""
    reason, explanation = trajectory.get("reason"), trajectory.get("explanation")
    quarantined = isinstance(reason, str) and reason.startswith("quarantined: ")
    floored = isinstance(explanation, str) and explanation.startswith("by the rule on_attack='floor'")
    return quarantined or floored


def names_in_question(request: str, shown: Sequence[str | None]) -> dict[str, str]:
    """Return the ids behind the opaque names in a recorded question, so that its raw text can be read.

    ``shown`` are the ids in the order in which the question shows them. Empty if they do not match.
    """
    if None in shown:
        return {}
    found = _HEADER.findall(request)[:_MOST_CANDIDATES]
    keys = list(dict.fromkeys(found))
    return {key: str(name) for key, name in zip(keys, shown, strict=True)} if len(keys) == len(shown) else {}
