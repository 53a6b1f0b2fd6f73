"""IFEval's fields out of rows that keep them elsewhere: verl's ``extra_info`` and ``reward_model``, JSON text, groups
files.

Pure. Not responsible for what the fields mean (``verifiers.ifeval.rows``), or for where standards stand in a row
(``rubric.standards``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.readers import as_group
from calipers.rubric.standards import standards_in, unpacked
from calipers.verifiers.answer import final_answer, text_of


def each_response(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows as ``rows`` reads them, one for each response that ``row`` has: ``response``, ``responses``, or a group's.

    A trajectory's answer is its last message without the reasoning before it. Raises InputError naming the field.
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
        rules = standards_in(row, rubric=False).rules
        if rules is not None and "instruction_id_list" in rules.value:
            row |= rules.value
    for name in ("instruction_id_list", "kwargs"):
        row[name] = _list(row.get(name), name)
    return {**row, "prompt": _asked(row)}


def _list(value: Any, name: str) -> Any:
    """A list that may be JSON text, and so may its members."""
    value = unpacked(value, name)
    if isinstance(value, list):
        return [unpacked(one, f"{name}[{place}]") for place, one in enumerate(value)]
    return value


def _asked(row: Mapping[str, Any]) -> Any:
    """The prompt's text: that of the last message which a user wrote, where the prompt is messages."""
    prompt = row.get("prompt") if row.get("prompt") is not None else row.get("context")
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return prompt
    said = [one for one in prompt if isinstance(one, Mapping) and one.get("role") == "user"]
    if not said:
        raise InputError("prompt: must be text, or messages with one of a user's")
    return text_of(dict(said[-1]))
