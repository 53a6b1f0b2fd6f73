"""How an ask ended: with a completion that was read, or a failure; and the state that a planner plans from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from calipers.types.judgments import Reading, Scores
from calipers.types.questions import Ask, RenderedGroup, Window
from calipers.types.usage import NO_FAILED_CALLS, NO_USAGE, FailedCalls, Usage

FinishReason: TypeAlias = Literal["stop", "length", "refused", "unknown"]
FailureKind: TypeAlias = Literal[
    "unreachable", "unauthorized", "not_found", "rate_limited", "server", "timeout", "context_window", "refused",
    "bad_request", "bad_reply", "not_recorded", "deadline", "budget", "internal",
]  # fmt: skip

Logprobs: TypeAlias = tuple[tuple[int, tuple[tuple[str, float], ...]], ...]
"""For each token with a digit: its position in the text, and (token, log-probability) of it and its alternatives."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A judge's answer as it came. ``model`` is what the server reports; ``reasoning`` is not part of ``text``.

    ``latency`` is in seconds and ``attempts`` counts transport tries (1 = no retry); both describe this call only.
    ``sent`` is the request body, where there was one; the ledger records it as the request. ``recorded`` means that the
    answer came out of a ledger. ``fingerprint`` is the server's name for its own version. ``logprobs`` is None where
    the server offers none. ``text_source`` is where ``text`` was in the reply: some servers put an answer into a tool
    call's arguments or under reasoning. ``failed`` are the failed calls for the same question (None: not counted);
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
    """An ask without an answer. ``fatal`` means that asking again fails too, until somebody fixes the cause.

    ``limit`` and ``prompt`` are the tokens of the context window and of the question, where a server that refused a
    question as too long reported them; ``window`` is what follows from them. ``failed`` are its failed calls.
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
    """How one ask ended: with a reading or a failure. ``usage`` is None without an answer.

    ``failed`` are its failed calls. ``question`` is the ledger's key of the question, where it is known: two asks with
    the same question share its answer. ``omitted`` maps candidates that were too long to be shown to the reason.
    """

    ask: Ask
    result: Reading | Failure
    usage: Usage | None = None
    failed: FailedCalls = NO_FAILED_CALLS
    question: str = ""
    omitted: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanState:
    """Everything a planner may look at. ``answered`` is in the order in which the asks were numbered."""

    view: RenderedGroup
    answered: tuple[Answered, ...]
    scores: Scores
    seed: int = 0
