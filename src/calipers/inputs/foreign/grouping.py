"""Rollouts of one prompt as one group. Not responsible for reading rollouts (``rollouts``, ``files``).

Rollouts belong together if their format names their task and the names are equal; otherwise if their prompts are equal.
Where the format does not say what the prompt is, it is all messages before the first reply to a user, so that a
greeting belongs to it. A name that is only a place in a data set is taken together with the prompt. Rollouts whose
prompt has no user message, such as a system message alone, belong together only within a row. ``group_by`` names a key
of the rows instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from calipers.errors import InputError
from calipers.inputs.foreign.rollout import Rollout, reward_of
from calipers.inputs.foreign.spool import Slot, Spool
from calipers.inputs.messages import canonical
from calipers.inputs.plain import compact_json, without_nan
from calipers.inputs.tools import openai_tool_definitions
from calipers.types import Message
from calipers.types.encoding import to_json

P = TypeVar("P")
Note = Callable[[P, str], None]
"""What is told of a group: the place of its first rollout, and the text."""


_NO_PROMPT: Final = (
    "has no prompt of a user's, so nothing says which rollouts are of the same one, and it is a group alone; "
    "calipers convert --group-by KEY groups by a key of the rows"
)


_STAMPS: Final = frozenset(("id", "uuid", "timestamp", "created", "created_at", "createdAt"))
"""Keys of a message that differ from run to run, and make no other prompt of it."""

_NO_REPLY: Final = (
    "without a message of an assistant, in which a judge sees no answer; an answer that stands under another key of "
    "the row belongs to the messages, as the last one"
)


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(to_json(value, lone="replace"), digest_size=16).digest()


@dataclass(slots=True)
class _Member(Generic[P]):
    """A rollout that waits in the spool, with its place, which run of its row it is, digests of its prompt and its
    tools, whether a user asks for it, and whether an assistant answers.
    """

    place: P
    where: str
    prompt: bytes
    is_asked: bool
    is_answered: bool
    tools: bytes
    slot: Slot


@dataclass(slots=True)
class _Group(Generic[P]):
    name: str | None
    members: list[_Member[P]] = field(default_factory=list)

    @property
    def is_alone(self) -> bool:
        """Whether it is a rollout without a user's prompt that nothing says the siblings of."""
        return self.name is None and len(self.members) == 1 and not self.members[0].is_asked


def grouped(
    rollouts: Iterable[tuple[P, Rollout | str]], *, group_by: str | None = None, note: Note[P] | None = None
) -> Iterator[tuple[P, Any]]:
    """Yield a group object of a groups file for each prompt, with the place of its first rollout, in that order.

    A problem of a row (text) is yielded first, in its place. ``note`` is told of each group whose rollouts have
    different prompts or no reply, and of each name that stands for several groups. Rollouts wait in a temporary file:
    memory is needed for one group.
    """
    groups: dict[str, _Group[P]] = {}
    with Spool() as spool:
        for place, rollout in rollouts:
            if isinstance(rollout, str):
                yield place, rollout
                continue
            try:
                key, name, member = _placed(place, rollout, group_by, spool)
            except InputError as error:
                yield place, f"{rollout.where}{error}"
                continue
            groups.setdefault(key, _Group(name)).members.append(member)
        names = _own_names(groups, note)
        for group, name in zip(groups.values(), names, strict=True):
            if note is not None and group.name is not None:
                _compare_prompts(group, note)
            if note is not None:
                _report_unanswered(group, note)
            if note is not None and group.is_alone:
                _tell(note, group.members[0], _NO_PROMPT)
            yield group.members[0].place, _group_object(name, group.members, spool)


def _placed(place: P, rollout: Rollout, group_by: str | None, spool: Spool) -> tuple[str, str | None, _Member[P]]:
    """Return a rollout's group as key and name, and the rollout in canonical form. Raises InputError, so that a bad
    field costs its own row alone.
    """
    reward = reward_of(rollout.reward, "'reward'")
    tools = openai_tool_definitions(rollout.tools) if rollout.tools else None
    metadata = without_nan(dict(rollout.metadata))
    messages = canonical(rollout.messages)
    if not messages:
        raise InputError("has no messages, so there is nothing to judge")
    prompt = _prompt(rollout, messages)
    value = None if group_by is None else _value_at(rollout, group_by)
    slot = spool.add([prompt, messages[len(prompt) :], tools, reward, rollout.gold, metadata])
    asked = any(message["role"] == "user" for message in prompt)
    answered = any(message["role"] == "assistant" for message in messages[len(prompt) :])
    said = [{key: item for key, item in message.items() if key not in _STAMPS} for message in prompt]
    member = _Member(place, rollout.where, _digest(said), asked, answered, _digest(tools), slot)
    if value is not None:
        return f"by {compact_json(value)}", value if isinstance(value, str) else compact_json(value), member
    if rollout.task is not None and not rollout.is_index:
        return f"task {rollout.task}", rollout.task, member
    if not prompt or (rollout.task is None and not asked):
        return f"row {place}", None, member
    return f"prompt {rollout.task} {member.prompt.hex()}", rollout.task, member


def _prompt(rollout: Rollout, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    if rollout.asked is not None:
        prompt = canonical(rollout.messages[: rollout.asked])
        if messages[: len(prompt)] == prompt:
            return prompt
    roles = [one["role"] for one in messages]
    begins = roles.index("user") if "user" in roles else 0
    return messages[: next((at for at, role in enumerate(roles) if at >= begins and role == "assistant"), len(roles))]


def _value_at(rollout: Rollout, key: str) -> Any:
    value: Any = rollout.metadata
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        known = ", ".join(map(str, rollout.metadata)) or "none"
        raise InputError(f"has no {key!r} to group by; the keys are {known[:200]}")
    return value


def _own_names(groups: dict[str, _Group[P]], note: Note[P] | None) -> list[str | None]:
    """Return an id for each group: its name, with a count where several groups have it."""
    named = {group.name for group in groups.values()}
    first: dict[str, _Group[P]] = {}
    found: list[str | None] = []
    for group in groups.values():
        name = group.name
        if name is None or first.setdefault(name, group) is group:
            found.append(name)
            continue
        count = 2
        while f"{name}-{count}" in named:
            count += 1
        own = f"{name}-{count}"
        named.add(own)
        found.append(own)
        if note is not None:
            _tell(
                note,
                group.members[0],
                f"{name!r} is also the name of rollouts with another prompt or value ({_shown(first[name])}); these "
                f"are the group {own!r}",
            )
    return found


def _tell(note: Note[P], member: _Member[P], text: str) -> None:
    note(member.place, f"{member.where}{text}")


def _report_unanswered(group: _Group[P], note: Note[P]) -> None:
    silent = [member for member in group.members if not member.is_answered]
    if silent:
        which = "a rollout" if len(silent) == 1 else f"the first of {len(silent)} rollouts"
        _tell(note, silent[0], f"is {which} {_NO_REPLY}")


def _compare_prompts(group: _Group[P], note: Note[P]) -> None:
    one = group.members[0]
    other = next((member for member in group.members if member.prompt != one.prompt), None)
    if other is not None:
        _tell(
            note,
            other,
            f"the rollouts of {group.name!r} have different prompts (compare {_shown(group)}), and are one group all "
            "the same; if they are of different tasks, calipers convert --group-by KEY keeps them apart",
        )


def _shown(group: _Group[P]) -> str:
    place, where = group.members[0].place, group.members[0].where
    shown = ":".join(map(str, place)) if isinstance(place, tuple) else f"line {place}"
    return f"{shown}, {where.removesuffix(': ')}" if where else shown


def _group_object(name: str | None, members: list[_Member[P]], spool: Spool) -> dict[str, Any]:
    shared = all(member.prompt == members[0].prompt for member in members)
    alike = all(member.tools == members[0].tools for member in members)
    context: list[Any] = []
    tools: Any = None
    listed = []
    for place, member in enumerate(members, start=1):
        prompt, rest, tools, reward, gold, metadata = spool.get(member.slot)
        context = prompt if shared else []
        listed.append(
            {
                "id": str(place),
                "messages": rest if shared else prompt + rest,
                **({} if alike or not tools else {"tools": tools}),
                **({} if reward is None else {"reward": reward}),
                **({} if gold is None else {"gold": gold}),
                **({"metadata": metadata} if metadata else {}),
            }
        )
    named = {} if name is None else {"group_id": name}
    offered = {"tools": tools} if alike and tools else {}
    return {**named, "context": context, **offered, "trajectories": listed}
