"""Rows with two answers, ``chosen`` and ``rejected``, and rows of ShareGPT's form, which may have them.

An answer is text, a message or a list of messages, and may repeat the prompt. Text with turns of ``Human:`` and
``Assistant:``, as hh-rlhf has it, is a conversation. Source of the fields: the data README of LLaMA-Factory, and TRL's
page on data set formats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs.foreign.rollout import Rollout, Row, require_unused, rest_of, turn

_ANSWERS = ("chosen", "rejected")
_ASKED = ("prompt", "messages", "question", "instruction")
ANSWER: Final = "calipers_answer"
"""The key of a rollout's metadata that says which answer of its row it is."""
_TURN: Final = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant):")
_SPEAKERS: Final = {"Human": "user", "Assistant": "assistant"}


def is_preference(row: Row) -> bool:
    """Return whether a row has two answers of which one was chosen."""
    return all(key in row for key in _ANSWERS) and any(isinstance(row[key], str | list | dict) for key in _ANSWERS)


def preference_rollouts(row: Row) -> list[Rollout]:
    """Return a row's chosen and rejected answers as two rollouts."""
    key = next((key for key in _ASKED if row.get(key)), None)
    asked = _system(row) + [message for pair in row.get("history") or [] for message in _exchange(pair)]
    asked += [] if key is None else _turns(row[key], "user", key)
    if key == "instruction" and isinstance(row.get("input"), str) and row["input"]:
        asked[-1] = {"role": "user", "content": f"{row['instruction']}\n{row['input']}"}
    read = (*_ANSWERS, "system", "history", "tools", *([] if key is None else [key]))
    notes = rest_of(row, *read, *(["input"] if key == "instruction" else []))
    return _answered(row, asked, _ANSWERS, notes)


def sharegpt_rollouts(row: Row) -> list[Rollout]:
    """Return a row of ShareGPT's form as a rollout, or as one for each answer that it has."""
    asked = _system(row) + row["conversations"]
    notes = rest_of(row, "conversations", "system", "tools", *_ANSWERS)
    ends = [key for key in _ANSWERS if row.get(key) is not None]
    if ends:
        return _answered(row, asked, ends, notes)
    notes.pop("reward", None)
    return [Rollout(asked, tools=_tools(row), reward=row.get("reward"), metadata=notes)]


def _answered(row: Row, asked: list[Any], ends: Sequence[str], notes: Row) -> list[Rollout]:
    """Return a rollout for each answer. What all answers begin with is the prompt, too, such as earlier turns."""
    require_unused(row, ANSWER)
    whole = [_whole(asked, row[key], key) for key in ends]
    most = min(len(messages) for messages in whole) - 1
    shared = next((at for at in range(most) if any(one[at] != whole[0][at] for one in whole)), most)
    if not shared and most > 0:
        raise InputError(f"{' and '.join(map(repr, ends))} begin with different messages, so they answer no one prompt")
    tools, prompt = _tools(row), max(shared, 0) if len(ends) > 1 else None
    return [
        Rollout(messages, tools=tools, metadata=notes | {ANSWER: key}, asked=prompt)
        for key, messages in zip(ends, whole, strict=True)
    ]


def _whole(asked: list[Any], answer: Any, field: str) -> list[Any]:
    """Return the prompt and an answer as one list of messages; an answer that repeats the prompt is whole."""
    said = _turns(answer, "assistant", field)
    return said if asked and all(message in said for message in asked) else [*asked, *said]


def _turns(said: Any, role: str, field: str) -> list[Any]:
    """Return what was said as messages: text as one of ``role``, or as the turns that it is written in."""
    if not isinstance(said, str) or _TURN.match(said) is None:
        return turn(said, role, field)
    _, *pieces = _TURN.split(said)
    found = [
        {"role": _SPEAKERS[speaker], "content": text.strip()} for speaker, text in zip(*[iter(pieces)] * 2, strict=True)
    ]
    return found[:-1] if role == "user" and found[-1] == {"role": "assistant", "content": ""} else found


def _system(row: Row) -> list[Row]:
    return [{"role": "system", "content": row["system"]}] if row.get("system") else []


def _exchange(pair: Any) -> list[Any]:
    asked, answered = pair
    return [*turn(asked, "user", "history"), *turn(answered, "assistant", "history")]


def _tools(row: Row) -> Any:
    tools = row.get("tools")
    return None if isinstance(tools, str) and not tools.strip() else tools or None
