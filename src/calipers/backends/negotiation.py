"""Sends a request again without what its server refuses by name, and remembers that for later requests.

A parameter that a refusal names is left out; structured output steps down from a JSON schema to a JSON object to plain
text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self

from calipers.backends.transport.refusals import Refusal, read_refusal, refuses_images
from calipers.backends.transport.reply import HttpReply
from calipers.interfaces import FullBackend
from calipers.types import Completion, FailedCall, JudgeRequest, Usage

_log = logging.getLogger("calipers.negotiation")

Form = Literal["json_schema", "json_object"]
ALTERNATIVES: Final = "top_logprobs>"
"""The prefix in ``refused`` for a server that returns fewer alternatives per token than requested."""
_MOST_STEPS = 8
"""The most times that a request is sent. Every repeat omits something more, and some servers refuse without end."""
_NEGOTIABLE = frozenset({400, 404, 422, 500, 501})
_GARBLED = re.compile(r"does not match the expected [\w-]+ format")
"""The error of llama.cpp when it cannot parse what its own grammar allowed the model to write."""
_STRUCTURED = re.compile(
    r"response[_ ]format|json[_ ]schema|json[_ ]object|json mode|\bschema\b|grammar|structured[_ ]outputs?|\bguided_"
    r"|initialize samplers|no endpoints found|input should be 'text'|output[_ ](?:format|config)"
)
_ONLY_STREAMS = re.compile(
    r"only supports? stream|stream mode|non-streaming|(?:must|needs? to|has to) (?:be streamed|stream)\b"
    r"|streaming is required|requires streaming|\bstream\b.{0,12} (?:must|should) be (?:set to )?true"
)
_LOOKS_LIKE_REFUSAL = re.compile(
    r"support|unknown|unrecogni[sz]ed|invalid|not (?:permitted|allowed|implemented)|unavailable|unexpected|should be"
    r"|must be|extra|forbidden|deprecated"
)
_LIMIT = re.compile(
    r"(?:at most|less than or equal to|<=|between 0 and|\[\d+, ?|max(?:imum)?(?: allowed)?(?: value)?(?: is| of|:)?"
    r"|tokens: \d+ >)\s*(\d+)|range is from \d+ \(inclusive\) to (\d+) \(exclusive\)"
)
_ROOM = re.compile(
    r"maximum context length is (?P<window>\d+) tokens.{0,60}?(?P<input>\d+) input tokens"
    r"|exceed context limit: (?P<input_too>\d+) \+ \d+ > (?P<window_too>\d+)"
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a request body may ask for: nothing in ``refused``, and at most ``limit`` output tokens.

    ``refused`` holds parameter names, ``json_schema``, ``json_object``, ``unstreamed`` (this model only streams) and
    ``top_logprobs>N`` (more than N alternatives). ``plain`` means that no structured output may be requested.
    """

    refused: frozenset[str] = frozenset()
    limit: int | None = None
    plain: bool = False


Frame = Callable[[Terms], dict[str, Any]]
"""Returns a request body that asks for everything that the terms allow."""
Send = Callable[[Mapping[str, Any]], Awaitable[HttpReply]]


class Negotiated(FullBackend):
    """Sends requests to ``model`` without what its server refused.

    ``forms`` are the structured outputs that may be requested, the strictest first. Fields in ``required`` are never
    left out. When another model answers, refusals are forgotten, because it may refuse less.
    """

    forms: ClassVar[tuple[Form, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools"})
    unlisted: str | None = None
    """Set by ``check``: a text if the server's list of models lacks this model, otherwise None."""

    def __init__(self, model: str, *, refused: Iterable[str] = ()) -> None:
        self.model = model
        self.refused = frozenset(refused)
        """What the server is known to refuse. It only grows, so many calls in flight may add to it in any order."""
        self._served: frozenset[str] = frozenset()
        """The models that answered."""

    def learned(self) -> Mapping[str, Any]:
        """Return what the server refuses and which models answered, as plain JSON for later runs."""
        return {"refused": sorted(self.refused), **({"served": sorted(self._served)} if self._served else {})}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with the refusals and models that an earlier run learned about the server."""
        self.refused |= {str(name) for name in known.get("refused", ())}
        served = known.get("served", ())
        self._served = frozenset(str(one) for one in served) if isinstance(served, list) else frozenset()

    def detached_copy(self) -> Self:
        """Return a copy of this backend whose refusals and models are not recorded in the original."""
        return copy(self)

    async def _negotiate(
        self, request: JudgeRequest, frame: Frame, send: Send, *, secrets: tuple[str, ...]
    ) -> HttpReply | Refusal:
        """Send bodies from ``frame`` until the server accepts one, and return that reply or the last refusal.

        A refusal is remembered only if a request without the refused parts succeeded. So a single unexplained 400 does
        not cost a run its structured output. Every refusal but the last is reported to the request's
        ``on_failed_call``.
        """
        terms, refusal = Terms(self.refused), None
        found: frozenset[str] = frozenset()
        for _ in range(_MOST_STEPS):
            body = frame(terms)
            reply = await send(body)
            if refusal is not None and request.on_failed_call is not None:
                request.on_failed_call(FailedCall("bad_request", refusal.usage or Usage(cost_usd=0.0)))
            if reply.status == 200:
                if new := found - self.refused:
                    self.refused |= new
                    level = logging.WARNING if new & request.params.keys() else logging.INFO
                    names = ", ".join(sorted(new))
                    _log.log(level, "%s at %s refuses %s: questions are sent without", self.model, self.endpoint, names)
                return reply
            refusal = read_refusal(reply, secrets)
            if _GARBLED.search(refusal.prose) and not terms.plain:
                terms = replace(terms, plain=True)
                continue
            less = step_down(refusal, body, self.required)
            if less is None:
                return refusal
            found |= less.refused
            terms = replace(terms, refused=terms.refused | less.refused | self.refused, limit=less.limit or terms.limit)
        assert refusal is not None  # noqa: S101 - the loop ran, and every turn of it that ends here sets it
        return refusal

    def _answered(self, completion: Completion) -> Completion:
        """Note which model answered, and return ``completion`` unchanged."""
        served = completion.model
        if served is None or served in self._served:
            return completion
        if self._served:
            before = ", ".join(sorted(self._served))
            _log.warning(
                "%s at %s answers as %s now, and answered as %s before: scores of the two may not be comparable",
                *(self.model, self.endpoint, served, before),
            )
            self.refused = frozenset()
        if len(self._served) < _MOST_STEPS:  # a server that makes up names
            self._served |= {served}
        return completion


@dataclass(frozen=True, slots=True)
class Step:
    """The changes with which to send a refused request again: names to omit, and at most ``limit`` output tokens."""

    refused: frozenset[str] = frozenset()
    limit: int | None = None


def step_down(refusal: Refusal, body: Mapping[str, Any], required: AbstractSet[str]) -> Step | None:
    """Return the Step after a server's ``refusal`` of the request ``body``, or None if it names nothing that was sent.

    Only the server's own fields and prose count. Its echo of the request does not, because candidates wrote part of it.
    """
    if refusal.status not in _NEGOTIABLE or refuses_images(refusal):
        return None
    if refusal.status >= 500 and not _LOOKS_LIKE_REFUSAL.search(refusal.prose):
        return None  # an ordinary failure, whose text may mention any parameter
    if (smaller := _smaller_number(refusal, body)) is not None:
        return smaller
    if refusal.status == 404 and "endpoints found" not in refusal.prose:
        return None
    if not body.get("stream") and _ONLY_STREAMS.search(refusal.prose):
        return Step(frozenset({"unstreamed"}))
    form = _form_in(body)
    fields = frozenset({"response_format", "output_config"}) if form else frozenset[str]()
    left_out = {name for name in body.keys() - required - fields if _is_mentioned(name, refusal)}
    if form is not None and (
        refusal.names & {*fields, "json_schema", "schema", "format"} or _STRUCTURED.search(refusal.prose)
    ):
        left_out.add(form)
    return Step(frozenset(left_out)) if left_out else None


def _form_in(body: Mapping[str, Any]) -> Form | None:
    """Return the structured output that a request asks for."""
    asked = body.get("response_format")
    if isinstance(asked, Mapping):
        return "json_schema" if "json_schema" in asked else "json_object"
    config = body.get("output_config")
    return "json_schema" if isinstance(config, Mapping) and "format" in config else None


def _is_mentioned(name: str, refusal: Refusal) -> bool:
    """Return whether the refusal mentions the parameter ``name``, as a field or as a word.

    A name that is also an English word must be quoted or at the start.
    """
    word = re.escape(name.lower())
    if name in refusal.names or re.match(rf"{word}(?:\.[\w.]+)?: ", refusal.prose):
        return True
    unmistakable = "_" in name or name != name.lower() or name in {"temperature", "logprobs"}
    pattern = rf"(?<![\w-]){word}(?![\w-])" if unmistakable else rf"['\"`]{word}['\"`]"
    return re.search(pattern, refusal.prose) is not None


def _smaller_number(refusal: Refusal, body: Mapping[str, Any]) -> Step | None:
    """Return the step to a smaller number, if the server refuses only the number and not the parameter."""
    about = refusal.prose + " ".join(refusal.names)
    stated = _LIMIT.search(refusal.prose)
    granted = 0 if stated is None else int(stated[1]) if stated[1] else int(stated[2]) - 1
    alternatives, limit = body.get("top_logprobs"), body.get("max_tokens", body.get("max_completion_tokens"))
    if limit is not None:
        room = _ROOM.search(refusal.prose)
        if room is not None:
            room_left = int(room["window"] or room["window_too"]) - int(room["input"] or room["input_too"])
        else:
            room_left = granted if re.search(r"max_(?:completion_|output_)?tokens|maxoutputtokens", about) else 0
        if 0 < room_left < limit:
            return Step(limit=room_left)
    if isinstance(alternatives, int) and "logprobs" in about and 0 < granted < alternatives:
        return Step(frozenset({f"{ALTERNATIVES}{granted}"}))
    return None


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
