"""Sends a request again without what its server refuses by name, and remembers what refusals teach about the server.

A parameter that a refusal names is left out; structured output steps down from a JSON schema to a JSON object to plain
text. A context window that a refusal states is remembered, too; a run records which groups use which window
(``Settings.windows``), so that it can be replayed.
"""

from __future__ import annotations

import logging
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Final, Literal

from calipers.backends.transport.refusals import Refusal, read_refusal, refusal_error, refuses_images
from calipers.backends.transport.reply import HttpReply, Peer
from calipers.errors import BackendError
from calipers.interfaces import FullBackend
from calipers.render import BYTES_PER_TOKEN
from calipers.types import Completion, FailedCall, JudgeRequest, Usage, Window

_log = logging.getLogger("calipers.negotiation")

Form = Literal["json_schema", "json_object"]
_MOST_STEPS: Final = 8
"""The most times that a request is sent. Every repeat omits something more, and some servers refuse without end."""
_NEGOTIABLE: Final = frozenset({400, 404, 422, 500, 501})
_GARBLED = re.compile(r"does not match the expected [\w-]+ format")
"""The error of llama.cpp when it cannot parse what its own grammar allowed the model to write."""
_STRUCTURED = re.compile(
    r"response[_ ]format|json[_ ]schema|json[_ ]object|json mode|\bschema\b|grammar|structured[_ ]outputs?|\bguided_"
    r"|initialize samplers|no endpoints found|input should be 'text'|output[_ ](?:format|config)"
)
_ONLY_STREAMS = re.compile(
    r"only supports? stream|stream mode|non-streaming|(?:must|needs? to|has to) (?:be streamed|stream)\b"
    r"|streaming is required|requires streaming"
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

    ``refused`` holds parameter names, ``json_schema``, ``json_object`` and ``unstreamed`` (this model only streams).
    ``plain`` means that no structured output may be requested.
    """

    refused: frozenset[str] = frozenset()
    limit: int | None = None
    plain: bool = False


class Negotiated(FullBackend):
    """Sends requests to ``model`` without what its server refused. Each API has a subclass with ``body`` and ``read``.

    ``forms`` are the structured outputs that may be requested, the strictest first. Fields in ``required`` are never
    left out.
    """

    peer: Peer

    forms: ClassVar[tuple[Form, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools"})

    def __init__(self, model: str, *, refused: Iterable[str] = ()) -> None:
        self.model = model
        self.refused = frozenset(refused)
        """What the server is known to refuse. It only grows, so many calls in flight may add to it in any order."""

    def learned(self) -> Mapping[str, Any]:
        """Return what the server refuses, as plain JSON for later runs."""
        return {"refused": sorted(self.refused)}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with the refusals that an earlier run learned about the server."""
        self.refused |= {str(name) for name in known.get("refused", ())}

    @abstractmethod
    def body(self, request: JudgeRequest, terms: Terms) -> dict[str, Any]:
        """Return the body of a request to the judge's server that asks for everything that ``terms`` allow."""

    @abstractmethod
    def read(self, request: JudgeRequest, reply: HttpReply) -> Completion:
        """Return the answer in a server's 200 reply. Raises BackendError if there is none."""

    @abstractmethod
    async def send(self, body: Mapping[str, Any]) -> HttpReply:
        """Send a body to the judge's server, and return its reply, whatever the status. Raises BackendError."""

    async def error_for(self, refusal: Refusal) -> BackendError:
        """Return the error for a server's last refusal of a request."""
        return refusal_error(refusal, self.peer)

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the answer of the judge's server; ``latency`` is in seconds, including repeats after refusals. Raises
        BackendError.

        A refusal is remembered only if a request without the refused parts succeeded. So a single unexplained 400 does
        not cost a run its structured output. Every refusal but the last is reported to the request's
        ``on_failed_call``.
        """
        started, terms, refusal = perf_counter(), Terms(self.refused), None
        for _ in range(_MOST_STEPS):
            body = self.body(request, terms)
            reply = await self.send(body)
            if refusal is not None and request.on_failed_call is not None:
                request.on_failed_call(FailedCall("bad_request", refusal.usage or Usage(cost_usd=0.0)))
            if reply.status == 200:
                if new := terms.refused - self.refused:
                    self._remember(new, request.params)
                return replace(self.read(request, reply), latency=perf_counter() - started)
            refusal = read_refusal(reply, self.peer.secrets)
            if _GARBLED.search(refusal.prose) and not terms.plain:
                terms = replace(terms, plain=True)
                continue
            less = step_down(refusal, body, self.required)
            if less is None:
                break
            refused = terms.refused | less.refused | self.refused
            terms = Terms(refused, less.limit or terms.limit, terms.plain)
        assert refusal is not None  # noqa: S101 - the loop ran, and every turn of it that ends here sets it
        raise await self.error_for(refusal)

    def _remember(self, new: frozenset[str], params: Mapping[str, Any]) -> None:
        """Remember what a request that succeeded left out; a parameter that the user set is worth a warning."""
        self.refused |= new
        level = logging.WARNING if new & params.keys() else logging.INFO
        names = ", ".join(sorted(new))
        _log.log(level, "%s at %s refuses %s: questions are sent without", self.model, self.endpoint, names)


# --- what to leave out ------------------------------------------------------------------------------------------------


def step_down(refusal: Refusal, body: Mapping[str, Any], required: AbstractSet[str]) -> Terms | None:
    """Return what to leave out of the request ``body`` after a server's ``refusal``, and the limit of its output; None
    if it names nothing that was sent.

    Only the server's own fields and prose count. Its echo of the request does not, because candidates wrote part of it.
    """
    if refusal.status not in _NEGOTIABLE or refuses_images(refusal):
        return None
    if refusal.status >= 500 and not _LOOKS_LIKE_REFUSAL.search(refusal.prose):
        return None  # an ordinary failure, whose text may mention any parameter
    if (limit := _smaller_limit(refusal, body)) is not None:
        return Terms(limit=limit)
    if refusal.status == 404 and "endpoints found" not in refusal.prose:
        return None
    if not body.get("stream") and _ONLY_STREAMS.search(refusal.prose):
        return Terms(frozenset({"unstreamed"}))
    form = _form_in(body)
    fields = frozenset({"response_format", "output_config"}) if form else frozenset[str]()
    left_out = {name for name in body.keys() - required - fields if _is_mentioned(name, refusal)}
    if form is not None and (
        refusal.names & {*fields, "json_schema", "schema", "format"} or _STRUCTURED.search(refusal.prose)
    ):
        left_out.add(form)
    return Terms(frozenset(left_out)) if left_out else None


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


def _smaller_limit(refusal: Refusal, body: Mapping[str, Any]) -> int | None:
    """Return the most output tokens that the server allows, if it refuses only their number."""
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if limit is None:
        return None
    allowed = 0
    if room := _ROOM.search(refusal.prose):
        allowed = int(room["window"] or room["window_too"]) - int(room["input"] or room["input_too"])
    elif re.search(r"max_(?:completion_|output_)?tokens|maxoutputtokens", f"{refusal.prose} {refusal.names}"):
        stated = _LIMIT.search(refusal.prose)
        allowed = 0 if stated is None else int(stated[1]) if stated[1] else int(stated[2]) - 1
    return allowed if 0 < allowed < limit else None


# --- the context window -----------------------------------------------------------------------------------------------


class KnownWindow:
    """A judge's context window in ``tokens``, if known, and its ``bytes_per_token``."""

    def __init__(self) -> None:
        self.start_from({})

    def start_from(self, known: Mapping[str, Any]) -> None:
        """Start with the server's context window that an earlier run's ``learned`` returned, and forget all else."""
        window = known.get("window")
        earlier: Mapping[str, Any] = window if isinstance(window, dict) else {}
        self.tokens: int | None = earlier.get("tokens")
        self.bytes_per_token: float = earlier.get("bytes_per_token") or BYTES_PER_TOKEN
        self.reported: Window | None = None
        """The context window according to this run's refusals, or None without a refusal."""

    def learn_from_refusal(self, window: Window) -> None:
        """Learn the window's size from a server's refusal. If several servers name a size, the smallest counts."""
        self.tokens = window.tokens if self.tokens is None else min(self.tokens, window.tokens)
        self.bytes_per_token = min(self.bytes_per_token, window.bytes_per_token)
        self.reported = Window(self.tokens, self.bytes_per_token)

    def learned(self) -> Mapping[str, Any]:
        """Return what to store about the server's context window for later runs, as JSON: ``{}`` or ``{"window":
        {"tokens", "bytes_per_token"}}``.
        """
        if self.tokens is None:
            return {}
        return {"window": {"tokens": self.tokens, "bytes_per_token": self.bytes_per_token}}
