"""What comes back for a question: the judge's completion and what was read from it, or a failure.

Also ``PlanState``, from which a planner chooses the next questions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from calipers.types.judgments import Reading, Scores
from calipers.types.questions import Ask, RenderedGroup, Window
from calipers.types.usage import NO_FAILED_CALLS, NO_USAGE, FailedCalls, Usage

FinishReason: TypeAlias = Literal["stop", "length", "refused", "tool_calls", "unknown"]
"""Why an answer ended. After "tool_calls", the answer's text is that of ``text_of_calls``."""
FailureKind: TypeAlias = Literal[
    "unreachable", "unauthorized", "not_found", "rate_limited", "server", "timeout", "context_window", "refused",
    "bad_request", "bad_reply", "not_recorded", "deadline", "budget", "internal",
]  # fmt: skip

Logprobs: TypeAlias = tuple[tuple[int, tuple[tuple[str, float], ...]], ...]
"""For each token with a digit: its position in the text, and (token, log-probability) for it and each alternative."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A judge's answer as received. ``model`` is what the server reports; ``reasoning`` is not part of ``text``.

    ``latency`` is in seconds and ``attempts`` counts transport tries (1 = no retry); both describe this call only.
    ``sent`` is the body of the request, if there was one; the ledger records it. ``recorded`` means that the answer was
    read from a ledger. ``fingerprint`` is the server's name for its own version. ``logprobs`` is None if the server
    offers none. ``text_source`` is the part of the reply that held ``text``: some servers put an answer into a tool
    call's arguments or under reasoning. ``failed`` sums up the failed calls for the same question (None: not counted).
    ``question`` is the ledger's key of the question.
    """

    text: str
    finish_reason: FinishReason = "stop"
    reasoning: str = ""
    model: str | None = None
    usage: Usage = NO_USAGE
    latency: float = 0.0
    attempts: int = 1
    sent: bytes | None = field(default=None, repr=False, compare=False)
    recorded: bool = field(default=False, repr=False, compare=False)
    fingerprint: str | None = field(default=None, repr=False, compare=False)
    logprobs: Logprobs | None = field(default=None, repr=False)
    text_source: Literal["content", "tool_call", "reasoning"] = field(default="content", repr=False, compare=False)
    failed: FailedCalls | None = field(default=None, repr=False, compare=False)
    question: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """A question without an answer. ``fatal`` means that repeating it fails too, until somebody fixes the cause.

    If a server refused the question as too long, ``limit`` is the size of the context window and ``prompt`` that of the
    question, both in tokens as far as the server reported them. ``window`` is the context window to use from now on.
    ``failed`` sums up the failed calls for the question.
    """

    kind: FailureKind
    reason: str
    fatal: bool = False
    limit: int | None = None
    prompt: int | None = None
    window: Window | None = None
    failed: FailedCalls = NO_FAILED_CALLS


@dataclass(frozen=True, slots=True)
class Answered:
    """A question (``ask``) with its ``result``: a reading, or a failure. ``usage`` is None without an answer.

    ``failed`` sums up the failed calls. ``question`` is the ledger's key of the question, if known: two asks with the
    same key share one answer. ``omitted`` maps each candidate that was too long to be shown to the reason. ``turns``
    are the answers before this one in which the judge called tools.
    """

    ask: Ask
    result: Reading | Failure
    usage: Usage | None = None
    failed: FailedCalls = NO_FAILED_CALLS
    question: str = ""
    omitted: Mapping[int, str] = field(default_factory=dict)
    turns: tuple[Answered, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanState:
    """Everything a planner may use to choose the next questions. ``answered`` is in the order of the asks' numbers."""

    view: RenderedGroup
    answered: tuple[Answered, ...]
    scores: Scores
    seed: int = 0


TOOL_NAMES: Final = ("list_files", "read_file", "diff", "python")
"""The tools that a judge may have. None of them runs a candidate's code, unless a judge's own program does so."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A judge's call of a tool: its ``name``, and its ``arguments`` as JSON text, as the judge wrote them."""

    name: str
    arguments: str


def text_of_calls(calls: Sequence[ToolCall], said: str = "") -> str:
    """Return the text of an answer that calls tools: one JSON object with what the judge ``said`` and its calls.

    The server's ids of the calls are left out: they differ at every attempt, and the next question follows from this
    text.
    """
    listed = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return json.dumps({"said": said, "tool_calls": listed}, ensure_ascii=False)


def said_and_calls(completion: Completion) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what the judge said in an answer whose ``finish_reason`` is "tool_calls", and the tools that it called.

    No calls are returned for a text that ``text_of_calls`` did not write, such as one that was too long to be recorded
    whole.
    """
    try:
        recorded = json.loads(completion.text)
        return str(recorded["said"]), tuple(
            ToolCall(str(call["name"]), str(call["arguments"])) for call in recorded["tool_calls"]
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", ()
