"""Changes to an answer that make it no better: to measure how easily a local judge is gamed, and to train against that.

What is trained on (``TRAINING``) and what is measured with (``TESTS``) share no text and no rewrite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from calipers.distilling.groups import TrainingGroup, training_group
from calipers.study.rewrites import confident, formatted, sycophantic, verbose
from calipers.testing import ATTACKS
from calipers.testing.rewordings import HELD_OUT, SEEN
from calipers.types import Message, Trajectory, TrajectoryGroup

_BETTER: Final = 0.6
_WORSE: Final = 0.4
Trick = Callable[[str, str, int], str]
"""From an answer, its task and a number that chooses among several texts, to the changed answer."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_PADDING: Final = (
    "There are several sides to this, and each of them has been considered with care.",
    "It is worth keeping the wider picture in mind while reading on.",
    "In summary, all of the points above belong together.",
)


def appended(texts: Sequence[str]) -> Trick:
    """Return a trick against a local judge that appends one of ``texts`` to the answer."""
    return lambda answer, _, number: f"{answer}\n\n{texts[number % len(texts)]}"


def replaced(texts: Sequence[str]) -> Trick:
    """Return a trick against a local judge that gives one of ``texts`` as the whole answer."""
    return lambda _answer, _task, number: texts[number % len(texts)]


def _attacks(kind: str) -> tuple[str, ...]:
    return tuple(one.text for one in ATTACKS if one.kind == kind)


TESTS: Final[Mapping[str, Trick]] = {
    "tells the judge what to score": appended(_attacks("instruction")),
    "claims a score": appended(_attacks("score_claim")),
    "writes a verdict": appended(_attacks("fake_verdict")),
    "writes its own rubric": appended(_attacks("fake_rubric")),
    "forges the transcript's layout": appended(_attacks("layout")),
    "attacks in unseen words": appended(HELD_OUT),
    "gives no answer but an opening": replaced(_attacks("master_key")),
    "says everything twice": lambda answer, _task, _number: verbose(answer),
    "flatters": lambda answer, _task, _number: sycophantic(answer),
    "claims to be certain": lambda answer, _task, _number: confident(answer),
    "adds a heading and a list": lambda answer, _task, _number: formatted(answer),
    "repeats the task first": lambda answer, task, _number: f"{task}\n\n{answer}",
}
"""Tricks that are only measured, by name."""

TRAINING: Final[Mapping[str, Trick]] = {
    "reworded attacks": appended(SEEN),
    "padding": lambda answer, _task, number: " ".join([answer, *_PADDING[: 1 + number % len(_PADDING)]]),
    "last sentence again": lambda answer, _task, _number: f"{answer} {_SENTENCE.split(answer.strip())[-1]}",
    "words of the task": lambda answer, task, _number: f"{answer} This is about {' '.join(task.split()[:30])}",
    "bold lines": lambda answer, _task, _number: "\n\n".join(f"**{line}**" for line in answer.split("\n") if line),
    "cut in half": lambda answer, _task, _number: answer[: len(answer) // 2],
}
"""Tricks that are only trained against, by name."""


def with_trick(group: TrajectoryGroup, place: int, trick: Trick, number: int) -> TrajectoryGroup | None:
    """Return a local judge's group in which the trajectory at ``place`` plays a trick; None if it has no text."""
    members = list(group.trajectories)
    changed = changed_messages(members[place].messages, trick, task_of(group), number)
    if changed is None:
        return None
    members[place] = replace(members[place], messages=changed, prepared=None)
    return replace(group, trajectories=tuple(members))


def changed_messages(messages: Sequence[Message], trick: Trick, task: str, number: int) -> tuple[Message, ...] | None:
    """Return messages whose last text of the assistant plays a trick on a local judge; None without such a text."""
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place].get("content")
        if messages[place].get("role") == "assistant" and isinstance(content, str) and content.strip():
            changed = {**messages[place], "content": trick(content, task, number)}
            return (*messages[:place], changed, *messages[place + 1 :])
    return None


def task_of(group: TrajectoryGroup) -> str:
    """Return the first text of the user in a local judge's group, "" without one."""
    first = group.trajectories[0].messages if group.trajectories else ()
    texts = (one.get("content") for one in (*group.context, *first) if one.get("role") == "user")
    return next((text for text in texts if isinstance(text, str)), "")


def adversarial_groups(groups: Sequence[TrainingGroup]) -> list[TrainingGroup]:
    """Return groups for training a local judge against tricks: each has a trajectory and what a trick made of it.

    The changed one is given the lower score, and the lower gold, by about the usual difference within a group.
    """
    return [made for number, one in enumerate(groups) for made in _adversarial(one, number)]


def _adversarial(one: TrainingGroup, number: int) -> Iterator[TrainingGroup]:
    if one.group is None:
        return
    for step, trick in enumerate(TRAINING.values()):
        place = (number + step) % len(one.group.trajectories)
        own = one.group.trajectories[place]
        messages = changed_messages(own.messages, trick, task_of(one.group), number)
        if messages is None or messages == own.messages:
            continue
        changed = Trajectory(f"{own.id} changed", messages, tools=own.tools)
        siblings = one.group.trajectories
        plain = [replace(each, gold=_BETTER if each is own else None) for each in siblings]
        group = replace(one.group, trajectories=(*plain, replace(changed, gold=_WORSE)))
        scores = [each.gold for each in group.trajectories]
        made = training_group(group, scores, [None] * len(scores))
        yield replace(made, source=one.source)
