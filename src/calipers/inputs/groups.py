"""Convert any group or trajectory, of calipers or foreign, to a checked ``TrajectoryGroup`` or ``Trajectory`` with an
id.

This file enforces the contract of the groups file's objects.
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.inputs import art
from calipers.inputs.messages import canonical
from calipers.inputs.parts import openai_tool_definitions
from calipers.inputs.plain import plain_data, record_fields, type_in_words
from calipers.rubric import as_rubric
from calipers.rubric.dataset_standards import READ_KEYS, STANDARDS_KEYS, parse_row_rubric, read_standards, row_prompt
from calipers.types import Message, Rubric, Trajectory, TrajectoryGroup
from calipers.types.steps import Steps, at_once, run_steps

_TRAJECTORY = ("id", "messages", "tools", "reward", "gold", "metadata", "artifacts")
_GROUP = ("group_id", "context", "tools", "rubric", "artifacts", "trajectories")
_STEP = 64
"""The messages that are read in one step."""
_ROLLOUT = '{"group_id": "q1", "messages": [{"role": "user", "content": "..."}, ...], "reward": 1.0}'
_SHAPE = 'a group is {"trajectories": [{"id": "a", "messages": [...]}, ...]} or a list of message lists'


def as_group(value: Any, *, group_id: str | None = None) -> TrajectoryGroup:
    """Convert ``value`` to a group: a TrajectoryGroup, ART's group, an object of a groups file, or a list of
    trajectories.

    Each trajectory in a list may itself be a message list. Trajectories without an id get their 1-based position. If
    neither ``group_id`` nor ``value`` gives the group's id, it is derived from the content, so that the same group
    always gets the same id. Raises InputError naming the trajectory and message that cannot be read, and for two
    trajectories with the same id.
    """
    return run_steps(group_in_steps(value, group_id=group_id))


def group_in_steps(value: Any, *, group_id: str | None = None) -> Steps[TrajectoryGroup]:
    """Convert ``value`` to a group as ``as_group`` does, in steps."""
    if (
        (is_ours := isinstance(value, TrajectoryGroup))
        and (value.is_checked and group_id is None)
        and not (value.extra or any(member.metadata or member.extra for member in value.trajectories))
    ):  # what is in these mappings may have been added since, and JSON may not hold it
        return value
    value = _group_object(_own_fields(value, _GROUP, "") if is_ours else value)
    members: list[Trajectory] = []
    size = 0
    for place, member in enumerate(value["trajectories"], start=1):
        members.append(as_trajectory(member, default_id=str(place)))
        if (size := size + len(members[-1].messages)) > _STEP:
            size = 0
            yield
    _check_ids([member.id for member in members])
    context = () if value.get("context") is None else canonical(value["context"], where="context: ")
    extra = _plain_values({key: item for key, item in value.items() if key not in _GROUP}, "")
    if extra and not any(
        message["role"] == "user" for part in (context, *(member.messages for member in members)) for message in part
    ):
        context += prompt_messages(extra)
    named = value.get("group_id") if group_id is None else group_id
    group = TrajectoryGroup(
        group_id="" if named is None else id_text(named, "group_id"),
        trajectories=tuple(members),
        context=context,
        tools=None if value.get("tools") is None else openai_tool_definitions(value["tools"]),
        rubric=_rubric(value.get("rubric"), "") if is_ours or STANDARDS_KEYS.isdisjoint(value) else _row_rubric(value),
        artifacts=_artifacts(value.get("artifacts"), ""),
        extra=extra,
    )
    group = replace(group, group_id=(yield from _derived_id(group))) if named is None else group
    object.__setattr__(group, "is_checked", True)
    return group


def _group_object(value: Any) -> Any:
    """Return a foreign group in any form as an object of a groups file with a list of trajectories."""
    if callable(getattr(value, "tolist", None)):  # a numpy array of trajectories
        value = value.tolist()
    if isinstance(value, list | tuple):
        value = {"trajectories": value}
    elif not isinstance(value, Mapping) and isinstance(getattr(value, "trajectories", None), list | tuple):  # ART's
        metadata = {"metadata": value.metadata} if getattr(value, "metadata", None) else {}
        named: dict[str, Any] = {name: getattr(value, name, None) for name in _GROUP} | metadata
        value = {name: item for name, item in named.items() if item is not None and not callable(item)}
    if not isinstance(value, Mapping):
        raise InputError(f"cannot read {type_in_words(value)} as a group; {_SHAPE}")
    if "trajectories" not in value and "responses" in value:
        value = _from_responses(value)
    if "trajectories" not in value and (rollouts := _rollouts(value)):
        value = {"trajectories": rollouts}
    listed = value.get("trajectories")
    if not isinstance(listed, list | tuple):
        keys = f"there is no 'trajectories' (keys: {', '.join(map(str, value))[:200] or 'none'})"
        problem = f"'trajectories' must be a list, not {type_in_words(listed)}" if "trajectories" in value else keys
        raise InputError(f"{problem}; {_meant('trajectories', value)}{_SHAPE}; a rollout is {_ROLLOUT}")
    if listed and isinstance(listed[0], str):
        raise InputError(f"a trajectory must not be text; write a list of messages, prompt and answer; {_SHAPE}")
    if listed and _is_message(listed[0]):
        raise InputError(f"one list of messages stands where a list of trajectories belongs; {_SHAPE}")
    return value


def _own_fields(value: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    """Return the fields of a trajectory or group that a user built as an object of a groups file, ``extra`` included.

    ``extra`` may have a ``rubric`` that is a data set's column.
    """
    if not isinstance(value.extra, Mapping | None):
        raise InputError(f"{where}'extra' must be an object, not {type_in_words(value.extra)}")
    fields = {name: getattr(value, name) for name in names}
    if value.rubric is not None:
        fields["rubric"] = value.rubric
    return {**value.extra, **fields} if value.extra else fields


def as_trajectory(value: Any, *, default_id: str) -> Trajectory:
    """Convert ``value`` to a trajectory: a Trajectory, ART's (in either form), an object of a groups file, or a message
    list.

    ``default_id`` is used if ``value`` has no id. Raises InputError naming the trajectory and what was expected.
    """
    if isinstance(value, Trajectory):
        fields = _own_fields(value, _TRAJECTORY, f"trajectory {default_id}: ")
        return _trajectory(fields, default_id)
    inner = {"messages", "trajectories"} & value.keys() if isinstance(value, Mapping) else ()
    if isinstance(value, TrajectoryGroup) or inner == {"trajectories"}:
        raise InputError(f"trajectory {default_id} is a group; score_groups(groups, judge) judges several groups")
    if isinstance(value, BaseException):
        raise InputError(
            f"trajectory {default_id} is an error ({type(value).__name__}: {value}); leave failed rollouts out"
        )
    if not isinstance(value, list | tuple) and art.is_art_trajectory(value):
        try:
            fields = {key: value[key] for key in value if key not in art.HOLDERS} if isinstance(value, Mapping) else {}
            value = fields | art.art_trajectory_fields(value)
        except InputError as error:
            raise InputError(f"trajectory {default_id} {error}") from error
    elif isinstance(getattr(value, "messages", None), list | tuple):
        value = (record_fields(value) or {}) | {"messages": value.messages}
    if isinstance(value, Mapping):
        return _trajectory(value, default_id)
    return Trajectory(default_id, canonical(value, where=f"trajectory {default_id!r}: "))


def _trajectory(value: Mapping[str, Any], default_id: str) -> Trajectory:
    stated_id = value.get("id")
    name = default_id if stated_id is None else id_text(stated_id, f"trajectory {default_id}: id")
    where = f"trajectory {name!r}: "
    messages, gold = value.get("messages"), finite_number(value.get("gold"), f"{where}'gold'")
    if messages is None:
        if gold is None and len(rollouts := _rollouts(value)) == 1:
            return _trajectory(rollouts[0], name)
        if _is_message(value):
            raise InputError(f"trajectory {default_id} is a single message; {_SHAPE}")
        if gold is None and "status" in value and "reason" in value:
            raise InputError(f"{where}is a result, which has no messages; name the groups file that was scored")
        if (hint := _meant("messages", value)) or gold is None:
            raise InputError(f"{where}has no 'messages'; {hint}{_SHAPE}")
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping | None):
        raise InputError(f"{where}'metadata' must be an object or null, not {type_in_words(metadata)}")
    try:
        tools = None if value.get("tools") is None else openai_tool_definitions(value["tools"])
    except InputError as error:
        raise InputError(f"{where}{error}") from error
    # A data set's ``rubric`` column may hold anything; only an object with criteria is used for grading.
    stated_rubric = value.get("rubric")
    graded = isinstance(stated_rubric, Rubric) or (isinstance(stated_rubric, Mapping) and "criteria" in stated_rubric)
    carried = (*_TRAJECTORY, "rubric") if graded else _TRAJECTORY
    rubric = _rubric(stated_rubric, where) if graded else None
    if messages is not None:
        messages = canonical(messages, where=where)
    return Trajectory(
        id=name,
        messages=messages or (),
        tools=tools,
        reward=finite_number(value.get("reward"), f"{where}'reward'"),
        gold=gold,
        metadata=_plain_values({"metadata": metadata}, where)["metadata"] if metadata else {},
        extra=_plain_values({key: item for key, item in value.items() if key not in carried}, where),
        rubric=rubric if isinstance(rubric, Rubric) else None,
        artifacts=_artifacts(value.get("artifacts"), where),
    )


def _rollouts(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rollouts in another library's object as trajectory objects; none of an object with messages alone."""
    from calipers.inputs.rollouts import format_of, rollouts_in  # noqa: PLC0415 - groups files do not need it

    if format_of(value) in (None, "messages"):
        return []
    trajectories = []
    for rollout in rollouts_in(value):
        if isinstance(rollout, str):
            raise InputError(rollout)
        trajectories.append(rollout.as_trajectory())
    return trajectories


def _from_responses(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a data set's row with a prompt and responses (verl's form) as a group object of a groups file."""
    row = plain_data(dict(value))
    responses, notes = row["responses"], row.get("response_notes") or []
    if not isinstance(responses, list) or not all(isinstance(text, str) for text in responses):
        return value
    if not (prompt := row.get("context") or prompt_messages(row)):
        raise InputError("has 'responses' but no prompt; write it under 'prompt', as text or as a list of messages")
    members = [
        {"id": str(number), "messages": [{"role": "assistant", "content": text}]}
        | ({"metadata": {"note": notes[number]}} if number < len(notes) and notes[number] else {})
        for number, text in enumerate(responses)
    ]
    rest = {key: item for key, item in value.items() if key not in ("responses", "response_notes")}
    asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return {**rest, "context": asked, "trajectories": members}


def prompt_messages(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the prompt of a data set's row (plain data) as messages, () without one."""
    prompt = row_prompt(row)
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    return canonical(prompt, where="prompt: ") if prompt else ()


def _artifacts(value: Any, where: str) -> Mapping[str, str]:
    """Return what a rollout left behind, as texts by path. A path without a text, as Parquet has them, is left out."""
    if not isinstance(value, Mapping | None):
        raise InputError(f"{where}'artifacts' must be an object of texts by path, not {type_in_words(value)}")
    if not value:
        return {}
    texts = {path: text for path, text in value.items() if text is not None}
    for path, text in texts.items():
        if not isinstance(path, str) or not isinstance(text, str):
            raise InputError(
                f"{where}'artifacts': {str(path)[:100]!r} must be text, not {type_in_words(text)}; write the state of "
                "a database or a binary file as text"
            )
    return texts


def _plain_values(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return values that are copied to the result, as plain data: what JSON cannot hold (a date, an array) is text or
    a list.

    Raises InputError if a value is nested too deeply.
    """
    if not values:
        return {}
    plain = {}
    for key, value in values.items():
        try:
            plain[str(key)] = plain_data(value)
        except InputError as error:
            raise InputError(f"{where}{key!r} {error}") from None
    return plain


def _row_rubric(value: Mapping[str, Any]) -> str | Rubric | None:
    """Return the rubric of a data set's row, from any of its fields. Raises InputError if two fields differ."""
    from calipers.inputs.rubrics import plain_row  # noqa: PLC0415 - few groups are rows of a data set

    row = plain_row({key: value[key] for key in READ_KEYS if value.get(key) is not None})
    if (rubric := _rubric(value.get("rubric"), "")) is not None:
        row["rubric"] = rubric
    return read_standards(row).rubric


def _rubric(value: Any, where: str) -> str | Rubric | None:
    """Return a group's or trajectory's rubric: text to judge by, criteria to grade by, or None."""
    if value is None or isinstance(value, str):
        return value or None
    if callable(getattr(value, "tolist", None)) or isinstance(value, list | tuple):
        from calipers.inputs.rubrics import plain_criteria  # noqa: PLC0415 - few groups have a list of criteria

        return parse_row_rubric(plain_criteria(value, f"{where}'rubric'"), f"{where}'rubric'")
    if not isinstance(value, Mapping | Rubric):
        raise InputError(f"{where}'rubric' must be text, an object with criteria, or null, not {type_in_words(value)}")
    try:
        return as_rubric(value)
    except ConfigError as error:
        raise InputError(f"{where}'rubric': {error}") from None


def _check_ids(names: list[str]) -> None:
    if not names:
        raise InputError("the group has no trajectories; it needs at least one")
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"two trajectories have the id {twice!r}; results are keyed by id, so each needs its own")


def _meant(key: str, value: Mapping[str, Any]) -> str:
    """Return a question whether a key of the object was meant to be ``key``; "" if none is near."""
    near = get_close_matches(key, [name for name in map(str, value) if name != key], n=1, cutoff=0.8)
    return f"is {near[0]!r} a slip for {key!r}? " if near else ""


def _is_message(value: Any) -> bool:
    """Return whether ``value`` is a chat message and certainly not a trajectory."""
    if isinstance(value, Mapping):
        return "role" in value and "messages" not in value and "messages_and_choices" not in value
    if isinstance(value, tuple) and len(value) == 2:
        return isinstance(value[0], str)
    return isinstance(value, str) or (hasattr(value, "content") and (hasattr(value, "role") or hasattr(value, "type")))


def id_text(given: Any, what: str) -> str:
    """Return an id, or another name, as text. Raises InputError for anything but non-empty text or an integer."""
    if isinstance(given, numbers.Integral) and not isinstance(given, bool):
        return str(int(given))
    if not isinstance(given, str) or not given:
        shown = "empty" if given == "" else str(given) if isinstance(given, float) else type_in_words(given)
        raise InputError(f"{what} must be non-empty text or an integer, not {shown}")
    return given


def finite_number(given: Any, what: str) -> float | None:
    """Return a reward or a score, None where there is none. Raises InputError for anything but a finite number."""
    if given is None:
        return None
    # Booleans count as numbers: many data sets write True for solved and False for not solved.
    if callable(getattr(given, "tolist", None)):  # a number of NumPy
        given = given.tolist()
    if not isinstance(given, numbers.Real):
        raise InputError(f"{what} must be a number or null, not {type_in_words(given)}")
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{what} is {number}, which cannot be compared; write null where it is unknown")
    return number


def _derived_id(group: TrajectoryGroup) -> Steps[str]:
    """Hash all of a group without an id that a judge would see, as one JSON list, in pieces."""
    digest = hashlib.blake2b(_hashed([group.context, group.tools, group.rubric])[:-1] + b", [", digest_size=8)
    size = 0
    for number, member in enumerate(group.trajectories):
        data = _hashed([member.id, member.messages, member.tools])
        digest.update((b", " if number else b"") + data)
        if (size := size + len(data)) > 2**15:
            size = 0
            yield
    digest.update(b"]]")
    return "g" + digest.hexdigest()


derived_group_id = at_once(_derived_id)


def _hashed(content: list[Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, default=str).encode("utf-8", "replace")
