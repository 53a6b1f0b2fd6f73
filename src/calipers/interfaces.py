"""The seams. A strategy is one class with one of these shapes, in one file of its own, and a line in ``registry``.

Only ``Backend`` and ``Store`` touch the world; everything else is pure and tested without an event loop.
"""

from __future__ import annotations

from abc import abstractmethod
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


class JudgingProtocol(Protocol):
    """How one question is framed and its answer read. ``read`` never raises: an answer it cannot read is a Reading."""

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest: ...

    def read(self, request: JudgeRequest, completion: Completion) -> Reading: ...


class Planner(Protocol):
    """From the answers so far, what to ask next; empty means done. A batch is answered before the next is planned."""

    def next_asks(self, state: PlanState) -> Sequence[Ask]: ...


class Backend(Protocol):
    """A judge that can be asked. Raises BackendError, and nothing else, when no answer came.

    ``endpoint`` and ``model`` name what answers; with the request they make the ledger key.
    """

    @property
    def endpoint(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def complete(self, request: JudgeRequest) -> Completion: ...


Record: TypeAlias = Callable[[Completion], Awaitable[Completion]]
"""Stores an answer durably and returns it as it is on record."""


@runtime_checkable
class FullBackend(Protocol):
    """A Backend with everything that calipers may use of one. Subclass it and override what yours can do.

    ``warnings`` are put on every result. ``has_logprobs`` False: log-probabilities cannot be had. ``context_window`` is
    in tokens, once it is known.
    """

    endpoint: str
    model: str
    warnings: tuple[str, ...] = ()
    has_logprobs: bool = True
    context_window: int | None = None

    @abstractmethod
    async def complete(self, request: JudgeRequest) -> Completion:
        """The answer. Raises BackendError when none came."""

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """The answer as ``record`` returns it; raises what ``record`` raises.

        A backend that bounds its calls in flight counts one until ``record`` is done. So whatever ends the process, no
        more answers than the bound are paid for and lost.
        """
        return await record(await self.complete(request))

    async def check(self) -> Sequence[str]:
        """Look, without spending a token, whether questions can be answered: warnings, or ConfigError when none can."""
        return ()

    def learned(self) -> Mapping[str, Any]:
        """What was found out about the endpoint, as plain JSON, for later runs."""
        return {}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Begin with what an earlier run's ``learned`` returned."""
        return

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        return


def full(backend: Backend) -> FullBackend:
    """``backend`` with the defaults for what it does not have. Nothing else asks what a backend can do."""
    return backend if isinstance(backend, FullBackend) else _WithDefaults(backend)


class _WithDefaults(FullBackend):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.endpoint = backend.endpoint
        self.model = backend.model
        for name in ("complete", *_OPTIONAL):
            if hasattr(backend, name):
                setattr(self, name, getattr(backend, name))

    async def complete(self, request: JudgeRequest) -> Completion:
        return await self._backend.complete(request)


_OPTIONAL = [name for name in vars(FullBackend) if not name.startswith("_") and name != "complete"]


class Store(Protocol):
    """One run: its groups, questions and answers. A subclass inherits the defaults of what it does not need.

    The groups of a run have numbers from 0, in the order of the calls of ``begin``, however many stores (of other
    processes, say) record the same run. ``answer`` returns the recorded answer or asks ``backend`` once, however many
    wait for it; it raises what the backend raises. ``note`` records how an ask ended, ``finish`` the group's result.
    """

    replays: bool = False
    """True for a store that only repeats a recorded run."""
    reused: int = 0
    """Answers that were on record already."""

    async def begin(self) -> int: ...

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion: ...

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None: ...

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None: ...

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """From now on the run has these ``settings``; durable with the next of the calls above."""
        return

    def learn(self, judge: Backend, learned: Mapping[str, Any]) -> None:
        """Keep for later runs what was found out about ``judge``'s endpoint; durable likewise."""
        return


class Aggregator(Protocol):
    """Judgments about ``n`` candidates to a score and a standard error each; None where there is no judgment."""

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores: ...


@runtime_checkable
class GroupAggregator(Protocol):
    """An Aggregator that needs to know the group: ``of`` makes an aggregator for the candidates of ``view``."""

    def of(self, view: RenderedGroup) -> Aggregator: ...


class RewardTransform(Protocol):
    """Scores to rewards; None stays None."""

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]: ...


class Verifier(Protocol):
    """A deterministic check of one trajectory."""

    def __call__(self, trajectory: Trajectory) -> Verdict: ...


class Reader(Protocol):
    """Rows of a groups file: a 1-based number and what ``as_group`` takes, or a text that says what is wrong."""

    def __call__(self, path: Path) -> Iterable[tuple[int, object]]: ...


class Watcher(Protocol):
    """Called with every finished group once it is recorded. It may add warnings to the result, and no more."""

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult: ...


@runtime_checkable
class AnswerWatcher(Watcher, Protocol):
    """A Watcher that is also called with every answer, and what was read from it."""

    def observe(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None: ...
