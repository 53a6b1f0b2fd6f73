"""What a judge is shown and asked: rendered groups, asks, requests.

Plain frozen data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from calipers.types.groups import Message, Rubric, Tool
from calipers.types.judgments import Verdict
from calipers.types.usage import FailedCall

Cause: TypeAlias = Literal[
    "first", "order", "sample", "missing", "doubt", "truncated", "swap", "unresolved", "window", "substitute",
    "canary", "tested", "criteria", "tools",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a message, passed to the judge as an image, never as text. ``url`` is an http(s) or a data URL."""

    url: str
    detail: str | None = None


Part: TypeAlias = str | Image
"""A piece of a rendered question: text, or an image at this position."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A distinct trajectory as a judge sees it. Identical trajectories of a group are one candidate.

    ``members`` are the positions of these trajectories in the group; a decoy answer (canary) has none, and comes last.
    ``messages`` are canonical, include the shared prefix and are never shortened; judges that take data instead of a
    prompt read these.
    ``body`` is the transcript without what all candidates share. ``elided`` lists what was omitted.
    """

    members: tuple[int, ...]
    messages: tuple[Message, ...]
    body: tuple[Part, ...]
    elided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedGroup:
    """A group rendered for a judge: the shared parts once, then one body for each distinct candidate.

    ``ids`` are the ids of all trajectories in input order; ``Candidate.members`` are positions in ``ids``. ``marker``
    begins every structural line and occurs nowhere in the content, so content cannot forge structure. ``head`` holds
    tools, the shared prefix and long messages that recur. ``digest`` (hex) is a hash of all content and the rubric, and
    seeds every random choice. ``prefix_length`` counts the messages that all candidates share. ``rubrics`` holds each
    candidate's criteria if criteria are graded. ``digest`` does not cover them, so that a question about one criterion
    stays the same when another criterion is edited. ``rule_verdicts`` holds the verdicts of rules on each candidate's
    criteria. ``gold`` and ``metadata`` are those of all trajectories: no judge is shown them, but simulated judges read
    them. ``artifacts`` are those of all trajectories, and ``task_artifacts`` the group's; judges with tools read them.
    Both are empty if no judge has tools.
    """

    group_id: str
    ids: tuple[str, ...]
    digest: str
    marker: str
    head: tuple[Part, ...]
    candidates: tuple[Candidate, ...]
    rubric: str | None = None
    tools: tuple[Tool, ...] | None = None
    prefix_length: int = 0
    warnings: tuple[str, ...] = ()
    rubrics: tuple[Rubric | None, ...] = ()
    rule_verdicts: tuple[Mapping[str, Verdict], ...] = ()
    gold: tuple[float | None, ...] = ()
    metadata: tuple[Mapping[str, Any], ...] = ()
    artifacts: tuple[Mapping[str, str], ...] = ()
    task_artifacts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """A judge's context window: ``tokens`` for question and reply together, and the UTF-8 bytes per token."""

    tokens: int
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class Ask:
    """One question about some candidates of a group, as a planner plans it.

    ``members`` are the candidates asked about and ``order`` all candidates shown, first to last (anchors included),
    both as positions in ``RenderedGroup.candidates``. ``anchors`` are candidates whose score (0-1) is stated in the
    question. ``slot`` is the panel member, ``sample`` counts repeats of the same question, and ``cause`` says why the
    question is asked. ``note`` says what was wrong with the previous reply. ``max_tokens_factor`` multiplies the
    reply's token limit. ``parent`` is the number of the ask whose reply made this ask necessary. ``presentation`` is
    the number under which the ratings are recorded: None means the ask's own number, and an ask that fills the gaps of
    an answer has that answer's number. ``window`` is the context window that a refusal revealed. ``criteria`` are the
    ids of the criteria asked about, for protocols that ask about criteria. ``doubted`` are the values of the previous
    reply, if they count when the judge gives them again (``Reading.doubted``).
    """

    number: int
    members: tuple[int, ...]
    order: tuple[int, ...]
    slot: int = 0
    anchors: tuple[tuple[int, float], ...] = ()
    sample: int = 0
    cause: Cause = "first"
    note: str = ""
    max_tokens_factor: int = 1
    parent: int | None = None
    presentation: int | None = None
    window: Window | None = None
    criteria: tuple[str, ...] = ()
    doubted: tuple[tuple[int, str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A request to a backend. ``view`` and ``ask`` are for judges that take data instead of a prompt, such as
    verifiers; the ledger's key does not cover them.

    ``keys`` are the opaque candidate keys in the order shown (``keys[i]`` is ``ask.order[i]``). ``schema`` is the JSON
    schema that the reply should follow, or None. ``max_tokens=None`` means the server's own limit. ``params`` are
    further body parameters (temperature, seed, ...), sent unchanged. ``max_score`` is the highest score asked for.
    ``is_comparison`` means that two candidates are compared and only the difference of their scores counts.
    ``tools`` are definitions of tools that the judge may call. ``on_failed_call`` is called with every failed call for
    this request.
    """

    messages: tuple[Message, ...]
    keys: tuple[str, ...]
    ask: Ask
    view: RenderedGroup
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    max_score: int = 100
    is_comparison: bool = False
    tools: tuple[Tool, ...] = ()
    on_failed_call: Callable[[FailedCall], None] | None = field(default=None, repr=False, compare=False)
