"""Finds IFEval's fields in other kinds of rows: verl's ``extra_info`` and ``reward_model``, JSON text, groups files.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.rubric.dataset_standards import parse_json_text, read_standards
from calipers.verifiers.answer import final_answer, message_text


def each_response(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield, for the command ``ifeval``, a row with IFEval's fields for each response in ``row``.

    Responses are the row's ``response``, its ``responses``, or the trajectories of a group. In a group, a trajectory's
    response is its last message without the reasoning before it. Raises InputError with the field's name.
    """
    flat = _with_instructions(dict(row))
    listed = flat.get("responses")
    if "response" in flat:
        yield flat
    elif isinstance(listed, list):
        yield from ({**flat, "response": response} for response in listed)
    elif isinstance(flat.get("trajectories"), list | tuple):
        for one in as_group(row).trajectories:
            yield {**flat, "response": final_answer(one) or ""}
    else:
        yield flat


def _with_instructions(row: dict[str, Any]) -> dict[str, Any]:
    if row.get("instruction_id_list") is None:
        rules = read_standards(row, rubric=False).rules
        if rules is not None and "instruction_id_list" in rules.value:
            row |= rules.value
    for name in ("instruction_id_list", "kwargs"):
        row[name] = _list(row.get(name), name)
    return {**row, "prompt": _prompt(row)}


def _list(value: Any, name: str) -> Any:
    """Return ``value`` as a list; JSON text is decoded, also in its items."""
    value = parse_json_text(value, name)
    if isinstance(value, list):
        return [parse_json_text(one, f"{name}[{place}]") for place, one in enumerate(value)]
    return value


def _prompt(row: Mapping[str, Any]) -> Any:
    """Return the prompt's text; of messages, the last user message."""
    prompt = row.get("prompt") if row.get("prompt") is not None else row.get("context")
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return prompt
    of_user = [one for one in prompt if isinstance(one, Mapping) and one.get("role") == "user"]
    if not of_user:
        raise InputError("prompt: must be text, or messages with a user message")
    return message_text(dict(of_user[-1]))
