"""The protocols that strategies implement: each strategy is one class in a file of its own, with a line in
``registry``.

Only ``Backend`` and ``Store`` do I/O. Everything else is pure and tested without an event loop.
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
    """Turns an Ask into a request to the judge (``frame``), and the judge's reply into a Reading (``read``).

    ``read`` never raises: for a reply that it cannot read, the Reading says why.
    """

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest: ...

    def read(self, request: JudgeRequest, completion: Completion) -> Reading: ...


class Planner(Protocol):
    """Decides which Asks to send to the judges next, given the answers so far. An empty list ends the judging of a
    group.

    A whole batch is answered before the next batch is planned.
    """

    def next_asks(self, state: PlanState) -> Sequence[Ask]: ...


class Backend(Protocol):
    """A judge to which requests can be sent. If it gives no answer, it raises BackendError and nothing else.

    ``endpoint`` and ``model`` identify the judge. The ledger key is computed from both of them and the request.
    """

    @property
    def endpoint(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def complete(self, request: JudgeRequest) -> Completion: ...


Record: TypeAlias = Callable[[Completion], Awaitable[Completion]]
"""Stores an answer durably and returns the stored answer."""


@runtime_checkable
class FullBackend(Protocol):
    """A Backend with every optional ability that calipers uses. Subclass it and override what your backend can do.

    ``warnings`` are added to every result. ``has_logprobs`` is False if log-probabilities are unavailable.
    ``has_tools`` is True if the judge can call the ``tools`` of a request; such an answer has the ``finish_reason``
    "tool_calls".
    """

    endpoint: str
    model: str
    warnings: tuple[str, ...] = ()
    has_logprobs: bool = True
    has_tools: bool = False

    @abstractmethod
    async def complete(self, request: JudgeRequest) -> Completion:
        """Send ``request`` to the judge and return its answer. Raises BackendError when there is none."""

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """Send ``request`` to the judge and return its answer as ``record`` returns it. Raises what ``record`` raises.

        A backend that limits its calls in flight counts a call until ``record`` is done. So if the process ends, at
        most that many paid answers are lost.
        """
        return await record(await self.complete(request))

    async def check(self) -> Sequence[str]:
        """Check, without spending a token, whether the judge can answer, and return warnings.

        Raises ConfigError when no request can be answered.
        """
        return ()

    def learned(self) -> Mapping[str, Any]:
        """Return what the backend found out about its endpoint, as plain JSON, for later runs."""
        return {}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with what an earlier run's ``learned`` returned."""
        return

    async def aclose(self) -> None:
        """Close the connections that belong to the running event loop."""
        return


def full(backend: Backend) -> FullBackend:
    """Return ``backend`` if it is a FullBackend. Otherwise wrap it, with FullBackend's default for each missing
    ability.

    Nothing else in calipers asks what a backend can do.
    """
    return backend if isinstance(backend, FullBackend) else _WithDefaults(backend)


_OPTIONAL = frozenset(name for name in vars(FullBackend) if not name.startswith("_") and name != "complete")
"""The attributes of a FullBackend that a user's backend may lack."""


class _WithDefaults(FullBackend):
    """A user's ``backend``, with FullBackend's defaults for the attributes that ``backend`` lacks."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.endpoint = backend.endpoint
        self.model = backend.model
        for name in (*_OPTIONAL, "complete"):
            if hasattr(backend, name):
                setattr(self, name, getattr(backend, name))

    async def complete(self, request: JudgeRequest) -> Completion:
        return await self._backend.complete(request)


class Store(Protocol):
    """Stores one run: its groups, requests and answers. A subclass inherits defaults for what it does not need.

    ``begin`` returns the number of a group. Numbers start at 0 and follow the order of the calls of ``begin``, even if
    several stores (in several processes, for example) record the same run. ``answer`` returns the recorded answer if
    there is one. Otherwise it asks ``backend``, only once even if several callers wait, and raises what ``backend``
    raises.
    """

    replays: bool = False
    """True for a store that only repeats a recorded run."""
    reused: int = 0
    """The number of answers that were already recorded."""

    async def begin(self) -> int: ...

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion: ...

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Record how a request ended, unless the store records nothing."""
        return

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Record a group and its result, unless the store records nothing."""
        return

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """Change the run's settings to ``settings``. The store writes them with its next commit, at the latest in
        ``finish``.
        """
        return

    def learn(self, judge: Backend, learned: Mapping[str, Any]) -> None:
        """Record for later runs what was found out about ``judge``'s endpoint. The store writes it as in
        ``change_settings``.
        """
        return


class Aggregator(Protocol):
    """Computes a score and its standard error for each of ``n`` candidates from the judges' judgments.

    A candidate without a judgment gets None.
    """

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores: ...


@runtime_checkable
class GroupAggregator(Protocol):
    """Makes Aggregators that depend on the group: ``of`` returns the Aggregator for the candidates of ``view``."""

    def of(self, view: RenderedGroup) -> Aggregator: ...


class RewardTransform(Protocol):
    """Maps scores to rewards; a missing score (None) stays None."""

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]: ...


class Verifier(Protocol):
    """Checks one trajectory by code, without a judge; the same trajectory always gets the same verdict."""

    def __call__(self, trajectory: Trajectory) -> Verdict: ...


class Reader(Protocol):
    """Yields the number of each row of a groups file (from 1) and either an object for ``as_group`` or an error."""

    def __call__(self, path: Path) -> Iterable[tuple[int, object]]: ...


class Watcher(Protocol):
    """Is called with every finished group after its result is recorded. It may only add warnings to the result.

    Its method ``observe``, if it has one, is called with every answer: (request, completion, reading).
    """

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult: ...
