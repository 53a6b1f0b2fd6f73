"""Variants of groups for a comparison of judges: some members' answers are rewritten, and the others are as they were.

A list in which all answers are rewritten shows no preference: a judge of lists compares its members. So each group is
shown twice for each rewrite: with every other member rewritten, then with the rest rewritten. Each answer is seen both
ways, beside as many rewritten answers. Not responsible for the text of rewrites (``rewrites``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calipers.errors import InputError
from calipers.inputs import jsonl
from calipers.study.comparison.rewrites import REWRITES
from calipers.types import Trajectory, TrajectoryGroup

Texts = Mapping[tuple[str, str], str]
"""Rewritten answers by group id and trajectory id."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A group with the members in ``rewritten`` (ids) rewritten; ``rewrite`` is the rule's name, "" for originals."""

    rewrite: str
    rewritten: frozenset[str]
    group: TrajectoryGroup


ORIGINAL = ""
"""The rewrite of a variant without any."""


def rewritten_answers(name: str, groups: Sequence[TrajectoryGroup], *, wrong_below: float | None) -> dict[Any, str]:
    """Return the built-in rewrite ``name`` of every answer in a comparison, by group and trajectory id.

    Answers that the rule leaves as they are, and trajectories without an answer, have none. ``confident_wrong`` is for
    answers with gold below ``wrong_below``.
    """
    rule = REWRITES[name]
    found = {}
    for group in groups:
        for member in group.trajectories:
            answer = answer_of(member)
            wrong = member.gold is not None and wrong_below is not None and member.gold < wrong_below
            if answer is None or (name == "confident_wrong" and not wrong):
                continue
            text = rule(answer)
            if text != answer:
                found[group.group_id, member.id] = text
    return found


def middle_of_gold(groups: Sequence[TrajectoryGroup]) -> float | None:
    """Return the gold half way between a comparison's lowest and highest; None if gold has no spread."""
    gold = [one.gold for group in groups for one in group.trajectories if one.gold is not None]
    return (min(gold) + max(gold)) / 2 if gold and min(gold) < max(gold) else None


def answer_of(member: Trajectory) -> str | None:
    """Return the text of a trajectory's last assistant message, which a comparison rewrites; None if it has none."""
    place = _answer_place(member)
    return None if place is None else _text(member.messages[place].get("content"))


def variants_of(group: TrajectoryGroup, rewrite: str, texts: Texts, *, halves: bool) -> Iterator[Variant]:
    """Yield the variants of a comparison's ``group`` in which members have their text of ``texts``.

    With ``halves``, they are two: every other one of the members that have a text is rewritten in the first, and the
    others in the second. Otherwise there is one, in which all of them are.
    """
    own = [one.id for one in group.trajectories if (group.group_id, one.id) in texts]
    for part in (own[::2], own[1::2]) if halves else (own,):
        if part:
            chosen = frozenset(part)
            members = tuple(
                _with_answer(one, texts[group.group_id, one.id]) if one.id in chosen else one
                for one in group.trajectories
            )
            yield Variant(rewrite, chosen, replace(group, trajectories=members))


def texts_from_file(path: Path, groups: Sequence[TrajectoryGroup]) -> dict[Any, str]:
    """Return a comparison's rewritten answers from a file of ``{"group_id", "id", "text"}`` lines.

    Raises InputError for a bad line, for an answer that is not in ``groups``, and for one that is rewritten twice.
    """
    known = {(group.group_id, one.id) for group in groups for one in group.trajectories}
    found: dict[Any, str] = {}

    def add(row: Mapping[str, Any] | str, _: int) -> None:
        if isinstance(row, str):
            raise InputError(row)
        place, text = (row.get("group_id"), row.get("id")), row.get("text")
        if not isinstance(text, str) or not text.strip():
            raise InputError('\'text\' must hold the rewritten answer; expected {"group_id", "id", "text"}')
        if not all(isinstance(one, str) for one in place) or place not in known:
            raise InputError(f"no trajectory {place[1]!r} of a group {place[0]!r} is in the groups file")
        if place in found:
            raise InputError(f"trajectory {place[1]!r} of group {place[0]!r} is rewritten a second time")
        found[place] = text

    for _ in jsonl.convert_rows(jsonl.read_json_lines(path), add, source=str(path)):
        pass
    return _changed(found, groups)


def texts_from_column(column: str, groups: Sequence[TrajectoryGroup]) -> dict[Any, str]:
    """Return a comparison's rewritten answers from the trajectories' metadata. Raises InputError if there are none."""
    found: dict[Any, str] = {}
    for group in groups:
        for one in group.trajectories:
            text = one.metadata.get(column)
            if text is None:
                continue
            if not isinstance(text, str) or not text.strip():
                raise InputError(
                    f"metadata {column!r} of trajectory {one.id!r} of group {group.group_id!r} is "
                    f"{json.dumps(text, default=str):.40}; it must be the rewritten answer"
                )
            found[group.group_id, one.id] = text
    if not found:
        raise InputError(f"no trajectory of the groups has metadata {column!r}")
    return _changed(found, groups)


def _changed(texts: dict[Any, str], groups: Sequence[TrajectoryGroup]) -> dict[Any, str]:
    answers = {(group.group_id, one.id): answer_of(one) for group in groups for one in group.trajectories}
    return {place: text for place, text in texts.items() if answers[place] not in (None, text)}


def _answer_place(member: Trajectory) -> int | None:
    for place in range(len(member.messages) - 1, -1, -1):
        message = member.messages[place]
        if message.get("role") == "assistant" and (_text(message.get("content")) or "").strip():
            return place
    return None


def _text(content: object) -> str | None:
    """Return the text of a message: its content, or the last text among its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
        return texts[-1] if texts else None
    return None


def _with_answer(member: Trajectory, text: str) -> Trajectory:
    place = _answer_place(member)
    assert place is not None  # noqa: S101 - only members with an answer have a rewritten one
    message: dict[str, Any] = dict(member.messages[place])
    message["content"] = _with_text(message["content"], text)
    return replace(member, messages=(*member.messages[:place], message, *member.messages[place + 1 :]))


def _with_text(content: Any, text: str) -> Any:
    if isinstance(content, str):
        return text
    last = max(place for place, part in enumerate(content) if isinstance(part, Mapping) and part.get("text"))
    return [{**part, "text": text} if place == last else part for place, part in enumerate(content)]
