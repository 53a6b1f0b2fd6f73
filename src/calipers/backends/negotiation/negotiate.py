"""Asking for as much as a server takes: what goes into the body, and what to leave out when it is refused.

Servers differ in which parameters they know, and say so only in prose. What was refused is a set that only grows, so
many calls in flight may learn at once and in any order. Pure; not responsible for sending (``openai_compatible``).
A 200 does not prove that a constraint was applied: replies are validated as if there were none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from calipers.backends.transport.translate import Refusal, no_images
from calipers.types import JudgeRequest
from calipers.types.encoding import EncodedDict

_NEVER_LEFT_OUT = frozenset({"model", "messages", "response_format"})
_STRUCTURED = re.compile(
    r"response[_ ]format|json[_ ]schema|json[_ ]object|json mode|\bschema\b|grammar|structured[_ ]outputs?|\bguided_"
    r"|initialize samplers|no endpoints found|input should be 'text'|output[_ ]format|output_config\.format"
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
_LIMIT = re.compile(r"(?:at most|less than or equal to|<=|\[\d+, ?|maximum (?:value|of)(?: is)?|tokens: \d+ >)\s*(\d+)")
_ALTERNATIVES = "top_logprobs>"
_MOST_ALTERNATIVES = re.compile(
    r"(?:at most|less than or equal to|<=|between 0 and|\[0, ?|max(?:imum)?(?: allowed)?(?: value)?(?: is| of|:)?) *(\d+)"
)
_ROOM = re.compile(r"maximum context length is (?P<window>\d+) tokens.{0,60}?(?P<input>\d+) input tokens")
_SUM = re.compile(r"exceed context limit: (?P<input>\d+) \+ \d+ > (?P<window>\d+)")
_NEGOTIABLE_STATUSES = frozenset({400, 404, 422, 500, 501})


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint refused for a model; empty means that everything is still worth asking for.

    ``refused`` holds parameter names, ``json_schema``, ``json_object``, ``strict``, ``schema.KEYWORD``, ``unstreamed``
    (whole answers: this model only streams) and ``top_logprobs>N`` (more than N alternatives).
    """

    refused: frozenset[str] = frozenset()

    def without(self, more: frozenset[str]) -> Capabilities:
        """These and ``more``; the same object when that adds nothing."""
        return self if more <= self.refused else Capabilities(self.refused | more)

    def to_dict(self) -> dict[str, Any]:
        """A plain JSON value, equal for equal capabilities."""
        return {"refused": sorted(self.refused)}

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Capabilities:
        """The inverse of ``to_dict``."""
        return Capabilities(frozenset(str(name) for name in value.get("refused", ())))


@dataclass(frozen=True, slots=True)
class Terms:
    """What one body asks for: nothing that is ``known`` (or supposed) to be refused, at most ``limit`` output tokens,
    and no form where ``plain``.
    """

    known: Capabilities
    limit: int | None = None
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """How to ask again: with ``refused`` left out, and with at most ``limit`` output tokens (this question only)."""

    refused: frozenset[str] = frozenset()
    limit: int | None = None


def chat_body(
    request: JudgeRequest,
    *,
    model: str,
    known: Capabilities,
    newer_names: bool,
    limit: int | None = None,
    plain: bool = False,
    routing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a chat completion that asks for all that is not known to be refused.

    ``newer_names`` prefers ``max_completion_tokens``; ``limit`` bounds the output tokens further; ``plain`` asks for no
    form; ``routing`` is sent along wherever a form is asked for.
    """
    refused = known.refused
    body: dict[str, Any] = {"model": model, "messages": request.messages}
    if request.max_tokens is not None:
        names = ("max_completion_tokens", "max_tokens") if newer_names else ("max_tokens", "max_completion_tokens")
        for name in names:
            if name not in refused:
                body[name] = request.max_tokens if limit is None else min(request.max_tokens, limit)
                break
    form = None if plain or request.schema is None else _response_format(request.schema, refused)
    if form is not None:
        body |= {"response_format": form, **(routing or {})}
    body |= {name: value for name, value in request.params.items() if name not in refused}
    if "top_logprobs" in body:
        _bound_alternatives(body, refused)
    if "unstreamed" in refused and "stream" not in refused:
        body["stream"] = True
    if body.get("stream") and "stream_options" not in refused:
        body.setdefault("stream_options", {"include_usage": True})
    return body


def _bound_alternatives(body: dict[str, Any], refused: frozenset[str]) -> None:
    """No more alternatives to a token than the server grants; none where it tells no probabilities at all."""
    if "logprobs" in refused:
        del body["top_logprobs"]
        return
    granted = (int(name.removeprefix(_ALTERNATIVES)) for name in refused if name.startswith(_ALTERNATIVES))
    body["top_logprobs"] = min([body["top_logprobs"], *granted])


def _response_format(schema: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any] | None:
    if "json_schema" not in refused:
        dropped = {name.removeprefix("schema.") for name in refused if name.startswith("schema.")}
        form: dict[str, Any] = {"name": "verdict", "strict": True, "schema": plainer(schema, dropped)}
        if "strict" in refused:
            del form["strict"]
        elif isinstance(form["schema"], EncodedDict):
            return EncodedDict(
                {"type": "json_schema", "json_schema": form},
                '{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":'
                + form["schema"].text
                + "}}",
            )
        return {"type": "json_schema", "json_schema": form}
    return None if "json_object" in refused else {"type": "json_object"}


_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties"})


def plainer(schema: Mapping[str, Any], dropped: AbstractSet[str]) -> Mapping[str, Any]:
    """The schema without the keywords ``dropped``; a property may bear a keyword's name, and stays."""
    if not dropped:
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS and isinstance(value, Mapping):
            plain[key] = {name: plainer(inner, dropped) for name, inner in value.items()}
        elif key not in dropped:
            plain[key] = plainer(value, dropped) if isinstance(value, Mapping) else value
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


_ESSENTIAL = frozenset({"type", "required", "additionalProperties", "enum", "const", "items"})
"""A schema without these would promise less than its reader thinks; then it is better not sent at all."""


def step_down(refusal: Refusal, body: Mapping[str, Any]) -> Step | None:
    """What to leave out of ``body`` after this refusal, or None when the refusal names nothing that was sent.

    Only names and prose of the server count, never what it echoes, for that may hold what candidates wrote.
    """
    if refusal.status not in _NEGOTIABLE_STATUSES or no_images(refusal):
        return None
    if refusal.status >= 500 and not _LOOKS_LIKE_REFUSAL.search(refusal.prose):
        return None  # a plain failure, which may well mention what it failed at
    if (smaller := _smaller_number(refusal, body)) is not None:
        return smaller
    if refusal.status == 404 and "endpoints found" not in refusal.prose:
        return None
    if not body.get("stream") and _ONLY_STREAMS.search(refusal.prose):
        return Step(refused=frozenset({"unstreamed"}))
    left_out = named(refusal, body.keys() - _NEVER_LEFT_OUT) | _form_refused(refusal, body.get("response_format"))
    return Step(refused=frozenset(left_out)) if left_out else None


def named(refusal: Refusal, names: Iterable[str]) -> set[str]:
    """Those of ``names`` that the refusal points at."""
    return {name for name in names if _is_named(name, refusal)}


def form_is_meant(refusal: Refusal) -> bool:
    """Whether the refusal speaks of structured output, by whatever name."""
    return "response_format" in refusal.names or _STRUCTURED.search(refusal.prose) is not None


def _form_refused(refusal: Refusal, form: Mapping[str, Any] | None) -> set[str]:
    """Of the form asked for: a keyword of the schema, strictness, or the form itself."""
    if form is None:
        return set()
    inner = form.get("json_schema")
    if inner is not None:
        if keywords := named(refusal, set(_keywords(inner["schema"])) - _ESSENTIAL):
            return {f"schema.{word}" for word in keywords}
        if "strict" in inner and _is_named("strict", refusal):
            return {"strict"}
    if _NO_FORM_WHILE_THINKING.search(refusal.prose):
        return {"json_schema", "json_object"}
    return {form["type"]} if form_is_meant(refusal) else set()


def _is_named(name: str, refusal: Refusal) -> bool:
    """Named by field or, in prose, as a word of its own; words that are also English only in quotes or up front."""
    if name in refusal.names:
        return True
    word = re.escape(name.lower())
    if re.match(rf"{word}(?:\.[\w.]+)?: ", refusal.prose):
        return True
    unmistakable = "_" in name or name != name.lower() or name in {"temperature", "logprobs"}
    pattern = rf"(?<![\w-]){word}(?![\w-])" if unmistakable else rf"['\"`]{word}['\"`]"
    return re.search(pattern, refusal.prose) is not None


def _smaller_number(refusal: Refusal, body: Mapping[str, Any]) -> Step | None:
    """The step to a number that a server would grant, where it minds only the number."""
    if (limit := _smaller_limit(refusal, body)) is not None:
        return Step(limit=limit)
    fewer = _fewer_alternatives(refusal, body)
    return None if fewer is None else Step(refused=frozenset({f"{_ALTERNATIVES}{fewer}"}))


def _smaller_limit(refusal: Refusal, body: Mapping[str, Any]) -> int | None:
    """The output tokens a server would grant, when it minds their number and not the parameter."""
    sent = body.get("max_tokens", body.get("max_completion_tokens"))
    if sent is None:
        return None
    if room := _ROOM.search(refusal.prose) or _SUM.search(refusal.prose):
        granted = int(room["window"]) - int(room["input"])
    elif re.search(r"max_(?:completion_)?tokens", refusal.prose) and (told := _LIMIT.search(refusal.prose)):
        granted = int(told[1])
    else:
        return None
    return granted if 0 < granted < sent else None


def _fewer_alternatives(refusal: Refusal, body: Mapping[str, Any]) -> int | None:
    """The alternatives to each token that a server would tell, when it minds their number and not the parameter."""
    sent = body.get("top_logprobs")
    if not isinstance(sent, int) or "logprobs" not in refusal.prose + " ".join(refusal.names):
        return None
    told = _MOST_ALTERNATIVES.search(refusal.prose)
    return int(told[1]) if told and 0 < int(told[1]) < sent else None
