"""The seams. A strategy is one class with one of these shapes, in one file of its own, and a line in ``registry``.

Only ``Backend`` and ``Store`` touch the world; everything else is pure and tested without an event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from calipers.types import (
    Ask,
    Completion,
    Failure,
    GroupResult,
    JudgeRequest,
    Judgment,
    PlanState,
    Reading,
    RenderedGroup,
    Scores,
    Trajectory,
    TrajectoryGroup,
    Verdict,
)


class Renderer(Protocol):
    """Makes a group ready to be shown; the same group always renders the same."""

    def __call__(self, group: TrajectoryGroup) -> RenderedGroup: ...


class JudgingProtocol(Protocol):
    """How one question is framed and its answer read. ``read`` never raises: an answer it cannot read is a Reading."""

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest: ...

    def read(self, request: JudgeRequest, completion: Completion) -> Reading: ...


class Planner(Protocol):
    """Given what is known, what to ask next; empty means done. Each returned batch is a barrier."""

    def next_asks(self, state: PlanState) -> Sequence[Ask]: ...


class Backend(Protocol):
    """A judge one can put a question to. Raises BackendError, and nothing else, when no answer came.

    ``endpoint`` and ``model`` name what answers; with the request they make the ledger key.
    """

    @property
    def endpoint(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def complete(self, request: JudgeRequest) -> Completion: ...


Keep: TypeAlias = Callable[[Completion], Awaitable[Completion]]
"""Makes an answer safe, and gives what is on record then."""


@runtime_checkable
class Keeper(Protocol):
    """A Backend that bounds its calls in flight, and counts one until ``keep`` has made its answer safe.

    So whatever ends the process, no more answers than the bound are paid for and lost. Raises what ``keep`` raises.
    """

    async def complete_kept(self, request: JudgeRequest, keep: Keep) -> Completion: ...


@runtime_checkable
class Learner(Protocol):
    """A Backend that finds out what its endpoint can do. ``learned`` is plain JSON; ``learn`` takes it up again."""

    def learned(self) -> Mapping[str, Any]: ...

    def learn(self, known: Mapping[str, Any]) -> None: ...


class Store(Protocol):
    """Remembers what was asked and answered. ``begin`` numbers groups in the order they come in.

    ``answer`` gives the recorded answer or asks ``backend`` once, however many wait for it; it raises what the backend
    raises. ``note`` records how an ask ended, ``finish`` the group's result.
    """

    def begin(self) -> int: ...

    async def answer(self, position: int, request: JudgeRequest, backend: Backend) -> Completion: ...

    def note(self, position: int, request: JudgeRequest, result: Reading | Failure) -> None: ...

    async def finish(self, position: int, group: TrajectoryGroup, result: GroupResult) -> None: ...


class Aggregator(Protocol):
    """Judgments about ``n`` candidates to a score and a standard error each; None where nothing was said."""

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores: ...


@runtime_checkable
class GroupAggregator(Protocol):
    """An Aggregator that needs to know the group: ``of`` makes the one for its candidates."""

    def of(self, view: RenderedGroup) -> Aggregator: ...


class RewardTransform(Protocol):
    """Scores to rewards; None stays None."""

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]: ...


class Verifier(Protocol):
    """A deterministic check of one trajectory."""

    def __call__(self, trajectory: Trajectory) -> Verdict: ...


class Reader(Protocol):
    """Rows of a groups file, each a 1-based number and what ``as_group`` takes, or text that says what is wrong with it."""

    def __call__(self, path: Path) -> Iterable[tuple[int, object]]: ...


class Watcher(Protocol):
    """Sees every finished group after it was recorded; may add warnings to what the caller gets, and nothing else.

    One that also has ``observe(request, completion, reading)`` sees every answer.
    """

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult: ...


class Diagnostic(Protocol):
    """Findings about a judge from finished results."""

    def __call__(self, results: Sequence[Any]) -> Sequence[Mapping[str, Any]]: ...
