"""The task of a group as the writer of criteria sees it: the prompt and a reference, nothing that the policy wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

from calipers.render import render
from calipers.render.escapes import escape
from calipers.rubric.dataset_standards import references_in_row, text_of_reference
from calipers.types import Message, RenderedGroup, TrajectoryGroup

NO_PROMPT = "its trajectories share no message of a user before their first answers, so there is no prompt to write for"


def prompt_of(group: TrajectoryGroup) -> tuple[Message, ...]:
    """Return the messages of the task that criteria are written for: those that precede all answers of the group.

    They are the group's context and what all trajectories begin with, up to the first message of an assistant: what
    follows is the policy's. The result is empty if no message in it is a user's.
    """
    before = [tuple(takewhile(_is_given, trajectory.messages)) for trajectory in group.trajectories]
    shared = tuple(
        messages[0] for messages in zip(*before, strict=False) if all(message == messages[0] for message in messages)
    )
    same = shared if before and all(messages_before[: len(shared)] == shared for messages_before in before) else ()
    prompt = (*group.context, *same)
    return prompt if any(message.get("role") == "user" for message in prompt) else ()


def _is_given(message: Message) -> bool:
    return message.get("role") in ("system", "developer", "user")


def reference_of(group: TrajectoryGroup) -> str:
    """Return the reference answer of a group's row, for the writer of criteria; empty if there is none.

    It is the group's, or that of all its trajectories (unknown keys or metadata), where they agree, under the keys that
    data sets use.
    """
    if of_group := _reference_in(group.extra):
        return of_group
    references = {_reference_in({**trajectory.metadata, **trajectory.extra}) for trajectory in group.trajectories}
    return references.pop() if len(references) == 1 else ""


def _reference_in(row: Mapping[str, Any]) -> str:
    return next((text_of_reference(reference.value).strip() for reference in references_in_row(row)), "")


def rendered_task(group: TrajectoryGroup, *, reference: str, standards: str) -> RenderedGroup | None:
    """Return the task of ``group`` as the writer of criteria sees it: a group without candidates.

    ``standards`` are those that the judge has anyway (empty: none to speak of). Returns None if the group has no
    prompt. Equal tasks give equal digests and equal texts, whatever their groups are called and whoever answered them.
    """
    prompt = prompt_of(group)
    if not prompt:
        return None
    bare = TrajectoryGroup(group.group_id, (), context=prompt, tools=group.tools)
    view = render(bare, rubric=standards, beside=(reference,))
    if reference:
        block = f"{view.marker} reference\n{escape(reference)}\n{view.marker} end reference\n"
        view = replace(view, head=(*view.head, block))
    return view


def text_of_task(view: RenderedGroup, more: Iterable[str] = ()) -> str:
    """Return all text of a task, in lower case, to find out what it asks for."""
    return " ".join((*(part for part in view.head if isinstance(part, str)), *more)).casefold()
