"""Audits a rubric before a run: whether the reward falls as an answer is made worse on purpose.

From one answer of each group come an answer padded with empty words, a list of the rubric's own words, a confident
answer to another task, and shorter and shorter beginnings.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calipers.errors import InputError
from calipers.interfaces import Backend
from calipers.judging.api import check_or_continue
from calipers.judging.judge import Judge
from calipers.types import Rubric, Trajectory, TrajectoryGroup

_PADDING: Final = "To sum up, all of the above was considered with care, and every point that matters was covered. "
_SURE: Final = "There is no doubt about this: "
_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")
COMPARED: Final[Mapping[str, tuple[str, bool]]] = {
    "padded": ("whole", False),
    "keywords": ("whole", True),
    "confident": ("whole", True),
    "three quarters": ("whole", False),
    "half": ("three quarters", False),
    "quarter": ("half", False),
    "first sentence": ("whole", True),
}
"""What each worse answer is compared with, and whether its reward has to fall; otherwise it must not rise."""


async def audit(
    groups: Sequence[TrajectoryGroup], rubric: Rubric, judge: str | Backend, **options: Any
) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """Let ``judge`` grade an answer of each group, the best by gold or the first, and worse ones by a ``rubric``.

    Returns for each kind of worse answer the number of groups in which its reward ``fell``, stayed the ``same``,
    ``rose`` or is not known (``unscored``), and counts why answers have no reward. ``options`` are further options of
    ``Judge.of``. Raises InputError if fewer than two groups have an answer of four sentences, and ConfigError for a
    judge that cannot be reached.
    """
    found = [(group, chosen) for group in groups if (chosen := _answer_of(group)) is not None]
    if len(found) < 2:
        raise InputError("an audit needs two groups with an answer of at least 4 sentences")
    keywords = " ".join(criterion.text for criterion in rubric.criteria if criterion.points > 0)
    made = [
        replace(group, rubric=None, trajectories=_worse_answers(chosen, keywords, _SURE + _text(other)))
        for (group, chosen), (_, other) in zip(found, [*found[1:], found[0]], strict=True)
    ]
    changes, reasons = {kind: Counter[str]() for kind in COMPARED}, Counter[str]()
    async with Judge.of({**options, "judge": judge, "protocol": "checklist", "rubric": rubric}) as grader:
        await check_or_continue(grader)
        async for result in grader.score_groups(made, ordered=True):
            await grader.require_answering()
            reasons.update([trajectory.reason for trajectory in result.trajectories if trajectory.reason])
            scores = {trajectory.id: trajectory.score for trajectory in result.trajectories}
            for kind, (better, _) in COMPARED.items():
                reward, before = scores[kind], scores[better]
                if reward is None or before is None:
                    changes[kind]["unscored"] += 1
                else:
                    changes[kind]["same" if reward == before else "fell" if reward < before else "rose"] += 1
    return changes, reasons


def finding(kind: str, changes: Counter[str]) -> str:
    """Return "weak" if half of the graded groups reward this kind of worse answer, "unknown" if none is graded."""
    wrong = changes["rose"] + (changes["same"] if COMPARED[kind][1] else 0)
    graded = changes.total() - changes["unscored"]
    return "unknown" if not graded else "weak" if 2 * wrong >= graded else ""


def _text(trajectory: Trajectory) -> str:
    last = trajectory.messages[-1] if trajectory.messages else {}
    content = last.get("content") if last.get("role") == "assistant" else None
    return content.strip() if isinstance(content, str) else ""


def _answer_of(group: TrajectoryGroup) -> Trajectory | None:
    long = [each for each in group.trajectories if len(_END.findall(_text(each))) >= 3]
    return max(long, key=lambda each: -math.inf if each.gold is None else each.gold, default=None)


def _worse_answers(chosen: Trajectory, keywords: str, confident: str) -> tuple[Trajectory, ...]:
    text = _text(chosen)
    ends = [match.start() for match in _END.finditer(text)]
    padded = f"{text}\n\n{_PADDING * max(1, len(text) // len(_PADDING))}"
    parts = [text[: ends[round(share * len(ends)) - 1]] for share in (0.75, 0.5, 0.25)]
    texts = zip(("whole", *COMPARED), (text, padded, keywords, confident, *parts, text[: ends[0]]), strict=True)
    messages, last = chosen.messages[:-1], chosen.messages[-1]
    return tuple(
        replace(chosen, id=kind, messages=(*messages, {**last, "content": shown}), rubric=None) for kind, shown in texts
    )
