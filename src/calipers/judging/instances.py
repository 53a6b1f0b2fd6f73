"""The judges of a ``Judge``: how each is connected and called, which of them refuse every question, and what their
answers teach.

A judge that refuses every question (a mistyped model, a wrong key, a wrong address) would leave a whole run without
scores. It is recognised by how its first calls end.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from calipers.aggregators.panel import RESTS_ON_ONE
from calipers.aggregators.priors import Priors
from calipers.backends.connect import connect
from calipers.backends.limits.budget import Purse
from calipers.backends.limits.limited import Limited
from calipers.backends.names import name_without_password
from calipers.backends.negotiation import KnownWindow
from calipers.config.grouped_options import Calls
from calipers.config.options import JudgeOptions, Judges
from calipers.config.settings import RecordedJudge, Settings
from calipers.errors import ConfigError, without_exit
from calipers.interfaces import Backend, FullBackend, Store
from calipers.ledger import RecordedBackend, WritableLedger, find_learned, recorded_judgments, settings_of_equal_run
from calipers.types import Answered, FailureKind, Reading
from calipers.types.encoding import as_sentence

_LIMITS_OF_LIMITED: Final = ("budget", "price", "requests_per_minute")
"""Limits that a ``Limited`` backend sets, and that a Judge which uses this backend must not set."""

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
        created = super().__new__(cls, instances)
        created.around = nullcontext() if around is None else around
        created._lock = threading.Lock()
        created.all_answered = False  # read after every group, so it is not computed each time
        return created

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
            for answer in answered:
                judge, result = self[answer.ask.slot], answer.result
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
        refusing: list[JudgeInstance] = []
        with self._lock:
            for judge in self:
                if judge.refused is not None and not (judge.failed_otherwise or judge.answered or judge.refuses):
                    judge.refuses = judge.refused
                    refusing.append(judge)
                judge.refused, judge.failed_otherwise = None, False
            reasons = [f"{judge.name}: {judge.refuses}" for judge in self if judge.refuses and not judge.answered]
        if reasons and len(reasons) == len(self):
            raise ConfigError(
                f"every question was refused, so nothing would be scored: {as_sentence('; '.join(reasons))} Check the "
                "judge's name, its address and its key."
            )
        for judge in refusing:
            _log.warning("%s refuses every question, and the panel judges without it: %s", judge.name, judge.refuses)


def judges_in(judge: Judges) -> tuple[str | Backend, ...]:
    """Return the judges that judging asks, from ``judge=``, in the order of their slots. Raises ConfigError for []."""
    if isinstance(judge, str) or not isinstance(judge, Sequence):
        return (judge,)
    if not judge:
        raise ConfigError("judge=[]: name at least one judge")
    return tuple(judge)


def connect_judges(judges: Sequence[str | Backend], options: JudgeOptions, calls: Calls) -> JudgeInstances:
    """Connect the ``judges`` for judging, each with its limits and retries.

    Raises ConfigError for an unknown or repeated judge.
    """
    first, headers = judges[0], calls.headers
    if headers and len(judges) == 1 and all(isinstance(header, str) for header in headers.values()):
        headers = {first: headers} if isinstance(first, str) else headers
    stated = {"base_url": options.base_url, "api_key": options.api_key, "headers": headers, "price": calls.price}
    by_slot = [value_for_each_judge(option, value, judges) for option, value in stated.items()]
    limits = {
        "budget": None if options.budget is None else Purse(options.budget),
        "concurrency": options.concurrency,
    }
    instances: list[JudgeInstance] = []
    for judge, url, key, extra, price in zip(judges, *by_slot, strict=True):
        bare = connect(judge, base_url=url, api_key=key, timeout=calls.timeout, headers=extra)
        instance = _instance(judge, bare, calls, price=price, **limits)
        if any((bare.endpoint, bare.model) == (earlier.bare.endpoint, earlier.bare.model) for earlier in instances):
            raise ConfigError(f"{instance.name} is in the panel twice; to ask a judge more often, use samples=")
        instances.append(instance)
    around = None if calls.before is None and calls.after is None else _Hooks(calls.before, calls.after)
    return JudgeInstances(instances, around=around)


def with_connected(settings: Settings, judges: JudgeInstances) -> Settings:
    """Return the settings as the ledger records them: with the judges that were made, and their warnings."""
    recorded = tuple(judge.as_recorded(settings.calls.context_window) for judge in judges)
    warnings = dict.fromkeys(note for judge in judges for note in judge.bare.warnings)
    return replace(settings, judges=recorded, warnings=tuple(warnings))


def recorded_judges(settings: Settings) -> JudgeInstances:
    """Return stand-ins for the judges of a recorded run that is replayed; judging never asks them."""
    backends = [RecordedBackend(judge.endpoint, judge.model, settings.warnings) for judge in settings.judges]
    return JudgeInstances([_instance(backend, backend, Calls()) for backend in backends])


def _instance(judge: str | Backend, bare: FullBackend, calls: Calls, **limits: Any) -> JudgeInstance:
    """Wrap the backend ``bare`` of ``judge`` in retries and ``limits``.

    A judge given by name is retried. A caller's own Backend makes its retries itself; a Limited brings its own limits.
    """
    limits |= {name: getattr(calls, name) for name in ("requests_per_minute", "max_tokens")}
    if isinstance(bare, Limited):
        if extra := [name for name in _LIMITS_OF_LIMITED if limits.get(name) is not None]:
            raise ConfigError(f"{', '.join(extra)}: pass it to Limited(), whose limits apply to all Judges that use it")
        return JudgeInstance(bare.name, bare.bare, bare)
    by_name = isinstance(judge, str)
    name = name_without_password(judge) if isinstance(judge, str) else type(judge).__name__
    backend = Limited(bare, attempts=calls.attempts if by_name else None, **limits)
    return JudgeInstance(name, bare, backend, by_name)


def value_for_each_judge(option: str, value: object, judges: Sequence[str | Backend]) -> list[Any]:
    """Return the value of an option for each judge that judging asks.

    ``value`` is a mapping by judge name, or one value for one judge. Raises ConfigError for a name that no judge has,
    and for one value with several judges.
    """
    names = [judge for judge in judges if isinstance(judge, str)]
    if isinstance(value, Mapping):
        for name in value:
            if name not in names:
                known = ", ".join(map(name_without_password, names)) or "none has a name"
                raise ConfigError(f"{option}: {name_without_password(str(name))!r} is none of the judges ({known})")
        return [value.get(judge) if isinstance(judge, str) else None for judge in judges]
    if value is not None and len(judges) > 1:
        name = name_without_password(names[0]) if names else "NAME"
        raise ConfigError(
            f"{option}: there are {len(judges)} judges, so name the one it is for, as in {{{name!r}: ...}}"
        )
    return [value] * len(judges)


def with_learned_priors(settings: Settings, ledger: WritableLedger, judges: JudgeInstances) -> Settings:
    """Add to ``settings`` what earlier runs in the ledger learned about the judges.

    The ``judges`` start from it as well. The settings contain everything that decides a question, so that a run can be
    replayed. A run that repeats a recorded run starts from the same knowledge as that run did, so that the same input
    gets the same rewards.
    """
    for judge in judges:
        judge.start_from(find_learned(ledger, judge.bare.endpoint, judge.bare.model))
    before = settings_of_equal_run(ledger, settings)
    known = None if before is None else settings.with_windows_of(before)
    if known is None:
        pairs = zip(judges, settings.judges, strict=True)
        known = replace(settings, judges=tuple(judge.as_recorded(recorded.context_window) for judge, recorded in pairs))
    priors = None if before is None else before.experience
    if before is None and settings.records.learn:
        priors = Priors.learn(recorded_judgments(ledger, known), len(known.judges))
        priors = priors if priors.groups else None
    if priors is not None and max(priors.weights or (0.0,)) > RESTS_ON_ONE:
        shares = zip((judge.name for judge in judges), priors.weights or (), strict=True)
        weights = ", ".join(f"{name} {share:.2f}" for name, share in shares)
        _log.warning("one judge has most of the weight, learned without labels: %s. Measure it on gold", weights)
    return replace(known, experience=priors)


class _Hooks(AbstractAsyncContextManager[None]):
    """Calls ``before`` when judging begins while none is under way, and ``after`` when the last has ended.

    Both are called in a thread, one at a time, so they may block. What ``before`` raises ends the judging that waits
    for it. Safe to use from several threads and event loops.
    """

    def __init__(self, before: Callable[[], Any] | None, after: Callable[[], Any] | None) -> None:
        self._before, self._after = (hook and without_exit(hook) for hook in (before, after))
        self._lock = threading.Lock()
        self._inside = 0

    async def __aenter__(self) -> None:
        entering = asyncio.ensure_future(asyncio.to_thread(self._enter))
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            await entering
            await asyncio.to_thread(self._leave)
            raise

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.to_thread(self._leave))

    def _enter(self) -> None:
        with self._lock:
            if self._inside == 0 and self._before is not None:
                self._before()
            self._inside += 1

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._after is not None:
                self._after()
