"""JSON schemas that a reply is held to, and the scale of the scores in it.

Put together of ready pieces, for encoding a schema takes as long as hashing the whole question. Not responsible for whether
a server applies them (``backends.negotiation``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calipers.types.encoding import EncodedDict

SCALE = (0, 100)
TOP = 9
"""The highest digit."""

_PLAIN = r"^[ !#-\[\]-~\u00a0-\uffff]"


def plain_text(length: int) -> dict[str, Any]:
    """The schema of one line of plain characters, at most ``length``.

    Under llama.cpp's grammar this is what random weights cannot break (100 of 100 replies valid; 12 of 100 with a free
    string, 20 with maxLength 400); a server that refuses patterns has it left out.
    """
    return {"type": "string", "pattern": f"{_PLAIN}{{0,{length}}}$"}


_EXPLAINED = EncodedDict(plain_text(400))
_SCORED = EncodedDict({"type": "integer", "minimum": SCALE[0], "maximum": SCALE[1]})
_DIGIT = EncodedDict({"type": "integer", "minimum": 0, "maximum": TOP})


def of_scores(keys: Sequence[str]) -> EncodedDict:
    """The schema of a reply with an explanation and a score for each of ``keys``, explanations first."""
    explanations, explained = _keyed(keys, _EXPLAINED)
    scores, scored = _keyed(keys, _SCORED)
    return EncodedDict(
        {
            "type": "object",
            "properties": {"explanations": explanations, "scores": scores},
            "required": ["explanations", "scores"],
            "additionalProperties": False,
        },
        f'{{"type":"object","properties":{{"explanations":{explained},"scores":{scored}}},'
        '"required":["explanations","scores"],"additionalProperties":false}',
    )


def of_digits(keys: Sequence[str]) -> EncodedDict:
    """The schema of a reply with a digit for each of ``keys`` and nothing else."""
    digits, text = _keyed(keys, _DIGIT)
    return EncodedDict(
        keyed({"scores": digits}),
        f'{{"type":"object","properties":{{"scores":{text}}},"required":["scores"],"additionalProperties":false}}',
    )


def _keyed(keys: Sequence[str], value: EncodedDict) -> tuple[dict[str, Any], str]:
    """The schema of an object with all ``keys`` and no others, each of them a ``value``; and its text."""
    schema = {
        "type": "object",
        "properties": dict.fromkeys(keys, value),
        "required": list(keys),
        "additionalProperties": False,
    }
    properties = ",".join([f'"{key}":{value.text}' for key in keys])  # keys are letters, which need no escape
    required = '","'.join(keys)
    return schema, (
        f'{{"type":"object","properties":{{{properties}}},"required":["{required}"],"additionalProperties":false}}'
    )


def keyed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
