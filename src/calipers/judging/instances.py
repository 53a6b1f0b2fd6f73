"""The judges of a ``Judge``: how each is called, which of them refuse every question, and what their answers teach.

A judge that refuses every question (a mistyped model, a wrong key, a wrong address) would leave a whole run without
scores. It is recognised by how its first calls end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, Self

from calipers.backends.negotiation import KnownWindow
from calipers.config.settings import RecordedJudge
from calipers.errors import ConfigError
from calipers.interfaces import FullBackend, Store
from calipers.types import Answered, FailureKind, Reading
from calipers.types.encoding import as_sentence

_log = logging.getLogger(__name__)

_REFUSED: Final[frozenset[FailureKind]] = frozenset({"unauthorized", "not_found"})
"""Kinds of failure (401, 403, 404 and the like) that mean that the key, the model or the address is wrong."""


@dataclass(slots=True, eq=False)
class JudgeInstance:
    """One judge of a ``Judge``: ``bare`` is its backend, ``backend`` the same with limits and retries.

    ``by_name`` says that the judge was given by name, so that its connections are ours to close.
    """

    name: str
    bare: FullBackend
    backend: FullBackend
    by_name: bool = False
    window: KnownWindow = field(default_factory=KnownWindow)
    answered: bool = False
    """Whether the judge ever answered a question."""
    refused: str | None = None
    """The first refusal since the last call of ``require_answering``."""
    failed_otherwise: bool = False
    """Whether a call since the last call of ``require_answering`` failed for a reason that may pass."""
    refuses: str | None = None
    """Why the judge is known to refuse every question."""
    warned: bool = False
    _saved: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Note what the backend knows already, so that only later findings are recorded."""
        self._saved = self.learned()

    def as_recorded(self, context_window: int | None = None) -> RecordedJudge:
        """Return the judge as judging records it with a run, with its context window if that is known now."""
        tokens = context_window or self.window.tokens
        return RecordedJudge(self.name, self.bare.endpoint, self.bare.model, tokens, self.window.bytes_per_token)

    async def aclose(self) -> None:
        """Close this event loop's connections to a judge given by name; a caller closes their own Backend."""
        if self.by_name:
            await self.bare.aclose()

    def start_from(self, known: Mapping[str, Any]) -> None:
        """Start judging with what earlier runs learned about this judge's context window and servers."""
        self.window.start_from(known)
        self.bare.learn({key: value for key, value in known.items() if key != "window"})
        self._saved = self.learned()

    def learned(self) -> Mapping[str, Any]:
        """Return what judging found out about this judge, for later runs, as plain JSON data."""
        return {**self.bare.learned(), **self.window.learned()}

    def save_learned(self, store: Store) -> None:
        """Record what judging found out about this judge since the last call; this run's settings do not change."""
        if (learned := self.learned()) != self._saved:
            self._saved = learned
            store.learn(self.bare, learned)


class JudgeInstances(tuple[JudgeInstance, ...]):  # noqa: SLOT001 - it has a few attributes
    """All judges of a ``Judge``, by slot. Safe to use from several threads and event loops.

    ``around`` is entered while groups are judged.
    """

    around: AbstractAsyncContextManager[object]
    _lock: threading.Lock
    all_answered: bool

    def __new__(
        cls, instances: Iterable[JudgeInstance], *, around: AbstractAsyncContextManager[object] | None = None
    ) -> Self:
        """Hold the ``instances`` in the order of their slots."""
        made = super().__new__(cls, instances)
        made.around = nullcontext() if around is None else around
        made._lock = threading.Lock()
        made.all_answered = False  # read after every group, so it is not computed each time
        return made

    async def check(self, *, all_needed: bool) -> list[str]:
        """Check all judges; return their warnings. The check costs no token.

        With ``all_needed``, raises ConfigError if any judge cannot answer; otherwise only if no judge can.
        """
        warnings: list[str] = []
        errors: list[ConfigError] = []
        for judge in self:
            try:
                warnings += await judge.bare.check()
            except ConfigError as error:
                errors.append(error)
                warnings.append(
                    f"{judge.name} cannot be asked now, so the other judges of the panel are asked: {error}"
                )
        if errors and (all_needed or len(errors) == len(self)):
            raise errors[0]
        return warnings

    def count_outcomes(self, answered: Sequence[Answered]) -> None:
        """Note how its questions ended for each judge; a recorded answer counts as an answer."""
        with self._lock:
            for done in answered:
                judge, result = self[done.ask.slot], done.result
                if isinstance(result, Reading) or result.kind == "refused":
                    judge.answered = True  # a refusal in words shows that the key and the model's name are right
                elif result.kind in _REFUSED:
                    judge.refused = judge.refused or result.reason  # later ones only say that calls are paused
                else:
                    judge.failed_otherwise = True
            self.all_answered = all(judge.answered for judge in self)

    def require_answering(self) -> None:
        """Raise ConfigError if every judge refuses every question; log a warning if only some judges do.

        The calls since the last check are a batch. A judge that never answered, and refused every call of a batch for
        good, is known to refuse every question.
        """
        if self.all_answered:
            return
        with self._lock:
            for judge in self:
                if judge.refused is not None and not (judge.failed_otherwise or judge.answered or judge.refuses):
                    judge.refuses = judge.refused
                judge.refused, judge.failed_otherwise = None, False
        self._raise_if_all_refuse()
        for judge in self:
            if judge.refuses is not None and not judge.warned and len(self) > 1:
                judge.warned = True
                _log.warning(
                    "%s refuses every question, and the panel judges without it: %s", judge.name, judge.refuses
                )

    def _raise_if_all_refuse(self) -> None:
        with self._lock:
            reasons = [f"{judge.name}: {judge.refuses}" for judge in self if judge.refuses and not judge.answered]
        if reasons and len(reasons) == len(self):
            raise ConfigError(
                f"every question was refused, so nothing would be scored: {as_sentence('; '.join(reasons))} Check the "
                "judge's name, its address and its key."
            )
