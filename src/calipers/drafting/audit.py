"""Audits a rubric before a run: whether the reward falls as an answer is made worse on purpose.

From one answer of each group come an answer padded with empty words, a list of the rubric's own words, a confident
answer to another task, and shorter and shorter beginnings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calipers.errors import InputError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.types import Rubric, Trajectory, TrajectoryGroup

_PADDING: Final = "To sum up, all of the above was considered with care, and every point that matters was covered. "
_SURE: Final = "There is no doubt about this: "
_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_FEWEST: Final = 4
"""An answer with fewer sentences cannot lose a quarter of them."""
_BEGINNINGS: Final = {"three quarters": 0.75, "half": 0.5, "quarter": 0.25}
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
) -> dict[str, Counter[str]]:
    """Let ``judge`` grade an answer of each group and worse ones by a ``rubric``.

    Returns for each kind of worse answer the number of groups in which its reward ``fell``, stayed the ``same``,
    ``rose`` or is not known (``unscored``). The answer is the group's best by gold, or its first. ``options`` are
    further options of ``Judge.of``. Raises InputError if fewer than two groups have an answer of four sentences.
    """
    found = [(group, chosen) for group in groups if (chosen := _answer_of(group)) is not None]
    if len(found) < 2:
        raise InputError(f"an audit needs two groups with an answer of at least {_FEWEST} sentences")
    others = [_text(chosen) for _, chosen in (*found[1:], found[0])]
    keywords = " ".join(criterion.text for criterion in rubric.criteria if criterion.points > 0)
    made = [
        replace(group, rubric=None, trajectories=_worse_answers(chosen, keywords, other))
        for (group, chosen), other in zip(found, others, strict=True)
    ]
    grader = Judge.of({**options, "judge": judge, "protocol": "checklist", "rubric": rubric})
    changes = {kind: Counter[str]() for kind in COMPARED}
    async for result in grader.score_groups(made, ordered=True):
        scores = {trajectory.id: trajectory.score for trajectory in result.trajectories}
        for kind, (better, _) in COMPARED.items():
            changes[kind][_change(scores[kind], scores[better])] += 1
    return changes


def is_weak(kind: str, changes: Counter[str]) -> bool:
    """Return whether a rubric rewards this kind of worse answer in half of an audit's groups or more."""
    wrong = changes["rose"] + (changes["same"] if COMPARED[kind][1] else 0)
    return 2 * wrong >= changes.total() - changes["unscored"] > 0


def _change(worse: float | None, better: float | None) -> str:
    if worse is None or better is None:
        return "unscored"
    return "same" if worse == better else "fell" if worse < better else "rose"


def _text(trajectory: Trajectory) -> str:
    """Return the text of an assistant that ends a trajectory; empty if none does."""
    last = trajectory.messages[-1] if trajectory.messages else {}
    return str(last["content"]).strip() if last.get("role") == "assistant" and last.get("content") else ""


def _answer_of(group: TrajectoryGroup) -> Trajectory | None:
    """Return the answer that a rubric's audit makes worse: the best long one by gold, or the first."""
    long = [one for one in group.trajectories if len(_END.findall(_text(one))) >= _FEWEST - 1]
    return max(long, key=lambda one: -1.0 if one.gold is None else one.gold, default=None)


def _worse_answers(chosen: Trajectory, keywords: str, other: str) -> tuple[Trajectory, ...]:
    text = _text(chosen)
    ends = [match.start() for match in _END.finditer(text)]
    texts = {
        "whole": text,
        "padded": f"{text}\n\n{_PADDING * max(1, len(text) // len(_PADDING))}",
        "keywords": keywords,
        "confident": _SURE + other,
        **{name: text[: ends[round(share * len(ends)) - 1]] for name, share in _BEGINNINGS.items()},
        "first sentence": text[: ends[0]],
    }
    before, last = chosen.messages[:-1], chosen.messages[-1]
    return tuple(
        replace(chosen, id=kind, messages=(*before, {**last, "content": shown}), rubric=None)
        for kind, shown in texts.items()
    )
