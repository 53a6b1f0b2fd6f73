"""Decides which part of a refused request to leave out, or which of its numbers to lower.

Servers differ in the parameters that they support, and report it only in prose. Each provider states the field names of
its request bodies (``BodyNames``). Pure. Not responsible for sending the request again (``negotiated``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from calipers.backends.transport.refusals import Refusal, refuses_images

Form = Literal["json_schema", "json_object"]

_STRUCTURED = re.compile(
    r"response[_ ]format|json[_ ]schema|json[_ ]object|json mode|\bschema\b|grammar|structured[_ ]outputs?|\bguided_"
    r"|initialize samplers|no endpoints found|input should be 'text'|output[_ ]format"
)
_NO_FORM_WHILE_THINKING = re.compile(r"json mode.{0,60}thinking")
_ONLY_STREAMS = re.compile(
    r"only supports? stream|stream mode|non-streaming|(?:must|needs? to|has to) (?:be streamed|stream)\b"
    r"|streaming is required|requires streaming|\bstream\b.{0,12} (?:must|should) be (?:set to )?true"
)
_LOOKS_LIKE_REFUSAL = re.compile(
    r"support|unknown|unrecogni[sz]ed|invalid|not (?:permitted|allowed|implemented)|unavailable|unexpected|should be"
    r"|must be|extra|forbidden|deprecated"
)
_LIMIT = re.compile(
    r"(?:at most|less than or equal to|<=|\[\d+, ?|maximum (?:value|of)(?: is)?|tokens: \d+ >)\s*(\d+)"
    r"|range is from \d+ \(inclusive\) to (\d+) \(exclusive\)"
)
_MOST_ALTERNATIVES = re.compile(
    r"(?:at most|less than or equal to|<=|between 0 and|\[0, ?|max(?:imum)?(?: allowed)?(?: value)?(?: is| of|:)?)"
    r" *(\d+)"
)
_ROOM = re.compile(r"maximum context length is (?P<window>\d+) tokens.{0,60}?(?P<input>\d+) input tokens")
_SUM = re.compile(r"exceed context limit: (?P<input>\d+) \+ \d+ > (?P<window>\d+)")
_NEGOTIABLE_STATUSES = frozenset({400, 404, 422, 500, 501})
ALTERNATIVES: Final = "top_logprobs>"
"""The prefix in ``Capabilities.refused`` for a server that returns fewer alternatives per token than requested."""


@dataclass(frozen=True, slots=True)
class BodyNames:
    """The field names of an API's request bodies that can be left out or lowered. Dots lead into objects.

    An example of such a name is ``config.maxTokens``. Fields in ``required`` are never left out. Parameters are at the
    top of the body, and also in the object ``parameters`` if that is set. ``max_tokens`` are the fields that may hold
    the limit of the reply, and ``max_tokens_words`` the names that errors also use for it. ``forms`` maps each
    structured output to its field, the strictest first. ``schema`` is the field of the schema whose keywords can be
    left out. ``strict`` is a flag that can be left out. ``top_logprobs`` is the field for the number of alternatives,
    and ``stream`` the flag for streaming. A field is None if the API lacks it.
    """

    required: frozenset[str]
    max_tokens: tuple[str, ...] = ()
    max_tokens_words: tuple[str, ...] = ()
    forms: Mapping[Form, str] = field(default_factory=dict)
    schema: str | None = None
    strict: str | None = None
    top_logprobs: str | None = None
    stream: str | None = None
    parameters: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The changes with which to send a refused request again.

    The names in ``refused`` are omitted, and at most ``limit`` output tokens are requested this time.
    """

    refused: frozenset[str] = frozenset()
    limit: int | None = None


def step_down(refusal: Refusal, body: Mapping[str, Any], names: BodyNames) -> Step | None:
    """Return the Step after a server's ``refusal`` of the request ``body``, or None if it names nothing that was sent.

    Only the server's own fields and prose count. Its echo of the request does not, because candidates wrote part of it.
    """
    if refusal.status not in _NEGOTIABLE_STATUSES or refuses_images(refusal):
        return None
    if refusal.status >= 500 and not _LOOKS_LIKE_REFUSAL.search(refusal.prose):
        return None  # an ordinary failure, whose text may mention any parameter
    if (smaller := _smaller_number(refusal, body, names)) is not None:
        return smaller
    if refusal.status == 404 and "endpoints found" not in refusal.prose:
        return None
    if names.stream and not value_at(body, names.stream) and _ONLY_STREAMS.search(refusal.prose):
        return Step(frozenset({"unstreamed"}))
    left_out = _names_mentioned(refusal, _optional(body, names)) | _form_refused(refusal, body, names)
    return Step(frozenset(left_out)) if left_out else None


def value_at(body: Mapping[str, Any], path: str) -> Any:
    """Return the value of a request body at a dotted path such as ``config.maxTokens``, or None."""
    value: Any = body
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _optional(body: Mapping[str, Any], names: BodyNames) -> set[str]:
    """Return the names in the request ``body`` that can be left out individually."""
    inner = value_at(body, names.parameters) if names.parameters else None
    sent = {*body, *(inner if isinstance(inner, Mapping) else ())} - names.required - {names.parameters}
    return sent if _form_sent(body, names) is None else sent - _form_fields(names)


def _form_sent(body: Mapping[str, Any], names: BodyNames) -> Form | None:
    return next((form for form, path in names.forms.items() if value_at(body, path) is not None), None)


def _form_fields(names: BodyNames) -> set[str]:
    """Return every field name on the paths of the structured outputs."""
    return {part for path in names.forms.values() for part in path.split(".")} - {names.parameters}


def _form_refused(refusal: Refusal, body: Mapping[str, Any], names: BodyNames) -> set[str]:
    """Return what the server refused of the structured output: schema keywords, ``strict``, or the whole format."""
    form = _form_sent(body, names)
    if form is None:
        return set()
    if names.schema and (schema := value_at(body, names.schema)) is not None:
        if keywords := _names_mentioned(refusal, set(_keywords(schema)) - _ESSENTIAL):
            return {f"schema.{word}" for word in keywords}
        if names.strict and value_at(body, names.strict) is not None and _is_mentioned("strict", refusal):
            return {"strict"}
    if _NO_FORM_WHILE_THINKING.search(refusal.prose):
        return set(names.forms)
    meant = _names_mentioned(refusal, _form_fields(names)) or _STRUCTURED.search(refusal.prose)
    return {form} if meant else set()


def _names_mentioned(refusal: Refusal, names: Iterable[str]) -> set[str]:
    """Return those of ``names`` that the server's refusal mentions."""
    return {name for name in names if _is_mentioned(name, refusal)}


def _is_mentioned(name: str, refusal: Refusal) -> bool:
    """Return whether the refusal mentions the parameter ``name``, as a field or as a word.

    A name that is also an English word must be quoted or at the start.
    """
    if name in refusal.names:
        return True
    word = re.escape(name.lower())
    if re.match(rf"{word}(?:\.[\w.]+)?: ", refusal.prose):
        return True
    unmistakable = "_" in name or name != name.lower() or name in {"temperature", "logprobs"}
    pattern = rf"(?<![\w-]){word}(?![\w-])" if unmistakable else rf"['\"`]{word}['\"`]"
    return re.search(pattern, refusal.prose) is not None


def _smaller_number(refusal: Refusal, body: Mapping[str, Any], names: BodyNames) -> Step | None:
    """Return the step to a smaller number, if the server refuses only the number and not the parameter."""
    if (limit := _smaller_limit(refusal, body, names)) is not None:
        return Step(limit=limit)
    fewer = _fewer_alternatives(refusal, body, names)
    return None if fewer is None else Step(frozenset({f"{ALTERNATIVES}{fewer}"}))


def _smaller_limit(refusal: Refusal, body: Mapping[str, Any], names: BodyNames) -> int | None:
    """Return how many output tokens the server allows, or None if it does not refuse the number alone."""
    sent = next((number for path in names.max_tokens if (number := value_at(body, path)) is not None), None)
    if sent is None:
        return None
    words = [path.rpartition(".")[2] for path in names.max_tokens] + list(names.max_tokens_words)
    if room := _ROOM.search(refusal.prose) or _SUM.search(refusal.prose):
        granted = int(room["window"]) - int(room["input"])
    elif any(word.lower() in refusal.prose for word in words) and (told := _LIMIT.search(refusal.prose)):
        granted = int(told[1]) if told[1] else int(told[2]) - 1
    else:
        return None
    return granted if 0 < granted < sent else None


def _fewer_alternatives(refusal: Refusal, body: Mapping[str, Any], names: BodyNames) -> int | None:
    """Return how many alternatives per token the server offers, or None if it does not refuse the number alone."""
    sent = value_at(body, names.top_logprobs) if names.top_logprobs else None
    if not isinstance(sent, int) or "logprobs" not in refusal.prose + " ".join(refusal.names):
        return None
    told = _MOST_ALTERNATIVES.search(refusal.prose)
    return int(told[1]) if told and 0 < int(told[1]) < sent else None


# --- schemas --------------------------------------------------------------------------------------------------------

_ESSENTIAL = frozenset({"type", "required", "additionalProperties", "enum", "const", "items"})
"""Keywords without which a schema would not constrain the answer. If any is refused, no schema is sent."""
_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties"})


def schema_without(schema: Mapping[str, Any], dropped: AbstractSet[str]) -> Mapping[str, Any]:
    """Return the schema of a request without the keywords ``dropped``. A property whose name equals a keyword stays."""
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS and isinstance(value, Mapping):
            plain[key] = {name: schema_without(inner, dropped) for name, inner in value.items()}
        elif key not in dropped:
            plain[key] = schema_without(value, dropped) if isinstance(value, Mapping) else value
    return plain


def _keywords(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS and isinstance(value, Mapping):
            for inner in value.values():
                yield from _keywords(inner)
        else:
            yield key
            if isinstance(value, Mapping):
                yield from _keywords(value)
