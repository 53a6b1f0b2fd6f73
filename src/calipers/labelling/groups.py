"""The groups that people label, and each group as an annotator sees it.

An annotator sees distinct candidates in a shuffled order, without anything that says whose they are. The order depends
on the annotator and the group alone, so that a resumed group looks as before, and so that the places of a candidate
differ between annotators. Ids, rewards, gold, metadata and the names of models and of tool calls are left out. What a
candidate's own text says about its author stays.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.inputs.groups import derived_group_id
from calipers.report.details import shared_and_own, shown_rubric, shown_tools
from calipers.types import Message, TrajectoryGroup
from calipers.types.encoding import to_json


class GroupIndex:
    """The groups of the groups file ``path``, numbered from 0 in the order of the file. They are kept in memory.

    ``ids`` are their ids, and ``order`` their numbers in the random order in which they are labelled: it depends on the
    ids alone, so that all annotators have the same, and the first labels are a random sample. ``single`` counts groups
    of one trajectory, which nobody can rank, and which have no number. A line that cannot be read goes to ``on_error``
    as an InputError with file and line; it has no number either. Raises InputError for a file that cannot be opened,
    and for one without any group.
    """

    def __init__(self, path: str, *, on_error: Callable[[InputError], None]) -> None:
        self.path = path
        self.single = 0
        self._groups: list[TrajectoryGroup] = []
        for group in read_groups(path, on_error=on_error):
            if len(group.trajectories) > 1:
                self._groups.append(group)
            else:
                self.single += 1
        if not self._groups and not self.single:
            raise InputError("holds no groups that can be read; see docs/groups-file.md for its form", source=path)
        self.ids = [group.group_id for group in self._groups]
        self.numbers = {group_id: number for number, group_id in enumerate(self.ids)}
        self.order = sorted(
            range(len(self)), key=lambda number: (seed_of("order of groups", self.ids[number]), self.ids[number])
        )

    def __len__(self) -> int:
        return len(self.ids)

    def group(self, number: int) -> TrajectoryGroup:
        """Return the group of this number."""
        return self._groups[number]


_SHOWN_KEYS: Final = ("role", "content", "reasoning", "reasoning_content", "refusal")


@dataclass(frozen=True, slots=True)
class Blinded:
    """A group for one annotator.

    ``order`` holds the ids of the candidates as shown, one of each set of identical trajectories, and ``alike`` the ids
    that each of them stands for. ``content`` identifies the texts. ``page`` is what the page gets.
    """

    group_id: str
    order: tuple[str, ...]
    alike: Mapping[str, tuple[str, ...]]
    content: str
    page: Mapping[str, Any]

    def ranks(self, by_place: Sequence[int | None]) -> dict[str, int | None]:
        """Return ranks by id, for all trajectories, from the ranks of the candidates in the order shown."""
        return {name: rank for shown, rank in zip(self.order, by_place, strict=True) for name in self.alike[shown]}

    def by_place(self, ranks: Mapping[str, int | None]) -> list[int | None]:
        """Return the ranks of the candidates in the order shown, from ranks by id."""
        return [ranks.get(name) for name in self.order]


def blinded(group: TrajectoryGroup, annotator: str) -> Blinded:
    """Return a group as ``annotator`` sees it. Raises InputError for one in which there is nothing to rank."""
    shared, by_member = shared_and_own(group)
    alike: dict[bytes, list[str]] = {}
    for name, messages in (by_member or {}).items():
        if messages:
            alike.setdefault(to_json([_shown(message) for message in messages], lone="replace"), []).append(name)
    if len(alike) < 2:
        raise InputError(f"the group {group.group_id!r} has fewer than two different candidates: nothing to rank")
    sets = list(alike.values())
    random.Random(seed_of(annotator, group.group_id)).shuffle(sets)  # noqa: S311 - an order, no secret
    candidates = [[_shown(message) for message in (by_member or {})[names[0]]] for names in sets]
    page = {
        "shared": [_shown(message) for message in shared or ()],
        "tools": shown_tools(group),
        "rubric": shown_rubric(group),
        "candidates": candidates,
    }
    order = tuple(names[0] for names in sets)
    return Blinded(group.group_id, order, {names[0]: tuple(names) for names in sets}, content_of(group), page)


def content_of(group: TrajectoryGroup) -> str:
    """Return what identifies the texts that people label: a hash of all that a judge would see of a group."""
    return derived_group_id(group)


def seed_of(*parts: str) -> int:
    """Return a number that depends on these texts alone, for a shuffled order of candidates or of groups."""
    return int.from_bytes(blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).digest())


def _shown(message: Message) -> dict[str, Any]:
    shown = {key: message[key] for key in _SHOWN_KEYS if message.get(key) is not None}
    if message.get("role") in {"tool", "function"} and message.get("name"):
        shown["name"] = message["name"]
    calls = message.get("tool_calls")
    if isinstance(calls, list | tuple) and calls:
        shown["tool_calls"] = [_call(call) for call in calls]
    return shown


def _call(call: object) -> dict[str, Any]:
    """Return a tool call without its id, whose form shows whose API it came from."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return {"function": {"name": "?", "arguments": ""}}
    return {"function": {key: function.get(key) for key in ("name", "arguments")}}
