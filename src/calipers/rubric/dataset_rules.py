"""Labels and turns of a data set's row that name instructions for code: IFEvalG, open-instruct and Multi-IF.

Not responsible for what an instruction means (``verifiers.ifeval``), or for where a row keeps its rules
(``dataset_standards``).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from calipers.errors import InputError

_LONGEST_LITERAL: Final = 100_000
"""The largest number of characters of a label that is read as a Python literal."""
_MOST_TURNS: Final = 3
"""The number of turns of Multi-IF's conversations."""
MULTI_TURN_KEYS: Final = tuple(
    f"turn_{number}_{name}"
    for number in range(1, _MOST_TURNS + 1)
    for name in ("instruction_id_list", "kwargs", "prompt")
)
"""The keys of Multi-IF's rows; a row without the first one is none of them."""


def labels_in(truth: Any) -> dict[str, Any] | None:
    """Return the rules in an open-instruct label, which is an object, a list, or the text of one; None for others.

    Labels of IFEvalG name ``instruction_id`` and ``kwargs``, each a list, and become ``instruction_id_list`` and
    ``kwargs``. Labels with ``func_name`` become ``open_instruct``.
    """
    if isinstance(truth, str):
        return labels_in(_literal(truth))
    listed = [truth] if isinstance(truth, Mapping) and "func_name" in truth else truth
    if not isinstance(listed, list) or not listed or not all(isinstance(item, Mapping) for item in listed):
        return None
    if all("func_name" in item for item in listed):
        return {"open_instruct": [dict(item) for item in listed]}
    return _instructions(listed)


def _literal(text: str) -> Any:
    """Return the label that a text holds as JSON or as a Python literal; None for any other text."""
    begins = text.lstrip()[:1] in ("[", "{") and len(text) <= _LONGEST_LITERAL
    if begins and ("instruction_id" in text or "func_name" in text):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                found = read(text.strip())
                return None if isinstance(found, str) else found
    return None


def _instructions(listed: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    ids: list[Any] = []
    kwargs: list[Any] = []
    for item in listed:
        if not isinstance(item.get("instruction_id"), list):
            return None
        given = item.get("kwargs")
        ids += item["instruction_id"]
        kwargs += [fields or {} for fields in given] if isinstance(given, list) else [{}] * len(item["instruction_id"])
    return {"instruction_id_list": ids, "kwargs": kwargs}


def turns_in(row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the instructions of each turn of Multi-IF's row, with the turn's prompt; None for any other row.

    Its fields are JSON text, and so is each of its kwargs. Raises InputError naming a field that cannot be read.
    """
    if not row.get(MULTI_TURN_KEYS[0]):
        return None
    turns: list[dict[str, Any]] = []
    for number in range(1, _MOST_TURNS + 1):
        if not row.get(f"turn_{number}_instruction_id_list"):
            break
        ids = _json(row, f"turn_{number}_instruction_id_list")
        kwargs = _json(row, f"turn_{number}_kwargs") or []
        if not isinstance(ids, list) or not isinstance(kwargs, list):
            raise InputError(f"turn_{number}_instruction_id_list and turn_{number}_kwargs: must be lists")
        read = [_parsed(one, f"turn_{number}_kwargs[{place}]") for place, one in enumerate(kwargs)]
        turns.append({"prompt": turn_prompt(row, number), "instruction_id_list": ids, "kwargs": read})
    return turns


def turn_prompt(row: Mapping[str, Any], number: int) -> str | None:
    """Return the text of a turn's prompt in Multi-IF's row, a message as JSON text; None if there is no such turn."""
    message = _json(row, f"turn_{number}_prompt")
    text = message.get("content") if isinstance(message, Mapping) else message
    return text if isinstance(text, str) and text.strip() else None


def _json(row: Mapping[str, Any], key: str) -> Any:
    return _parsed(row.get(key), key)


def _parsed(value: Any, place: str) -> Any:
    """Return the value inside a JSON text; other values unchanged. Raises InputError naming the place."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: its JSON text is not JSON: {error}") from None
