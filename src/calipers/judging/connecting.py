"""Connects the judges that a user names: each becomes a backend with limits and retries, and starts from what earlier
runs learned about it. Sends no request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from calipers.aggregators.priors import Priors
from calipers.backends.connect import connect
from calipers.backends.limits.budget import Purse
from calipers.backends.limits.limited import Limited
from calipers.backends.names import name_without_password, writes_text
from calipers.backends.refusal_check import RefusalCheck
from calipers.config.grouped_options import Calls, Criteria
from calipers.config.options import JudgeOptions, Judges
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.interfaces import Backend, FullBackend
from calipers.judging.instances import JudgeInstance, JudgeInstances
from calipers.ledger import RecordedBackend, WritableLedger, find_learned, recorded_judgments, settings_of_equal_run

_LIMITS_OF_LIMITED: Final = ("budget", "price", "requests_per_minute")
"""Limits that a ``Limited`` backend sets, and that a Judge which uses this backend must not set."""

Hook: TypeAlias = Callable[[], Any]


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
    budget = None if options.budget is None else Purse(options.budget)
    assert isinstance(options.criteria, Criteria)  # noqa: S101 - JudgeOptions has made it one
    writer = _writer(judges, options.criteria)
    beside = None if writer in judges else writer

    def connected(judge: str | Backend, url: Any, key: Any, headers: Any, price: Any) -> JudgeInstance:
        bare = connect(judge, base_url=url, api_key=key, timeout=calls.timeout, headers=headers)
        limits = {"concurrency": options.concurrency, "budget": budget, "price": price}
        return _instance(judge, bare, calls, **limits)

    headers = calls.headers
    if headers and len(judges) == 1 and all(isinstance(one, str) for one in headers.values()):
        headers = {judges[0]: headers} if isinstance(judges[0], str) else headers
    given = {"base_url": options.base_url, "api_key": options.api_key, "headers": headers, "price": calls.price}
    name = beside if isinstance(beside, str) else None
    of_writer = [value.get(name) if isinstance(value, Mapping) and name else None for value in given.values()]
    others = [_without(value, beside) for value in given.values()]
    by_slot = (value_for_each_judge(option, value, judges) for option, value in zip(given, others, strict=True))
    found = [connected(*values) for values in zip(judges, *by_slot, strict=True)]
    seen = set()
    for one in found:
        if (who := (one.bare.endpoint, one.bare.model)) in seen:
            raise ConfigError(f"{one.name} is in the panel twice; to ask a judge more often, use samples=")
        seen.add(who)
    if writer is None:
        return JudgeInstances(found, around=hooks_around(calls.before, calls.after))
    other = found[judges.index(writer)] if beside is None else connected(beside, *of_writer)
    return JudgeInstances(found, other, around=hooks_around(calls.before, calls.after))


def _writer(judges: Sequence[str | Backend], chosen: Criteria) -> str | Backend | None:
    """Return the writer of criteria; None if there are none. Raises ConfigError for one that cannot write."""
    if chosen.mode == "off":
        if chosen.writer is not None:
            raise ConfigError("criteria: writer= needs criteria='auto' (--criteria auto)")
        return None
    writer = judges[0] if chosen.writer is None else chosen.writer
    if isinstance(writer, str) and not writes_text(writer):
        raise ConfigError(
            f"criteria={chosen.mode!r}: {name_without_password(writer)} scores answers and writes no text: name a "
            "model that writes the criteria, criteria={'writer': ...} (--criteria-writer)"
        )
    return writer


def _without(value: object, writer: str | Backend | None) -> object:
    """Return an option's mapping by judge name without the writer's entry."""
    if not isinstance(value, Mapping) or not isinstance(writer, str):
        return value
    return {name: one for name, one in value.items() if name != writer} or None


def with_connected(settings: Settings, judges: JudgeInstances) -> Settings:
    """Return the settings as the ledger records them: with the judges and the writer that were made, and warnings."""
    warnings = dict.fromkeys(note for judge in judges for note in judge.bare.warnings)
    return replace(
        settings,
        judges=tuple(judge.as_recorded(settings.calls.context_window) for judge in judges),
        writer=None if judges.writer is None else judges.writer.as_recorded(),
        warnings=tuple(warnings),
    )


def recorded_judges(settings: Settings) -> JudgeInstances:
    """Return stand-ins for the judges of a recorded run that is replayed; judging never asks them."""
    backends = [RecordedBackend(judge.endpoint, judge.model, settings.warnings) for judge in settings.judges]
    writer = settings.writer
    beside = None if writer is None else RecordedBackend(writer.endpoint, writer.model)
    return JudgeInstances(
        [_instance(one, one, Calls()) for one in backends],
        None if beside is None else _instance(beside, beside, Calls()),
    )


def _instance(judge: str | Backend, bare: FullBackend, calls: Calls, **limits: Any) -> JudgeInstance:
    """Wrap the backend ``bare`` of ``judge`` in retries and ``limits``.

    A judge given by name is retried. A caller's own Backend makes its retries itself; a Limited brings its own limits.
    """
    for name in ("requests_per_minute", "max_tokens"):
        limits[name] = getattr(calls, name)
    if isinstance(bare, Limited):
        if given := [name for name in _LIMITS_OF_LIMITED if limits.get(name) is not None]:
            raise ConfigError(f"{', '.join(given)}: pass it to Limited(), whose limits apply to all Judges that use it")
        return JudgeInstance(bare.name, bare.bare, bare, RefusalCheck(bare.bare, bounded=lambda backend: backend))
    of_calls = {name: limits[name] for name in ("budget", "price", "max_tokens") if name in limits}
    beside = partial(Limited, attempts=None, concurrency=1, **of_calls)
    refusal_check = RefusalCheck(bare, bounded=beside)
    if not isinstance(judge, str):
        name = type(judge).__name__
        asked = Limited(bare, attempts=None, **limits)
        return JudgeInstance(name, bare, asked, refusal_check)
    backend = Limited(bare, attempts=calls.attempts, **limits)
    return JudgeInstance(name_without_password(judge), bare, backend, refusal_check, by_name=True)


def value_for_each_judge(option: str, value: object, judges: Sequence[str | Backend]) -> list[Any]:
    """Return the value of an option for each judge that judging asks.

    ``value`` is a mapping by judge name, or one value for one judge. Raises ConfigError for a name that no judge has,
    and for one value with several judges.
    """
    if isinstance(value, Mapping):
        names = [judge for judge in judges if isinstance(judge, str)]
        for name in value:
            if name not in names:
                known = ", ".join(map(name_without_password, names)) or "none has a name"
                raise ConfigError(f"{option}: {name_without_password(str(name))!r} is none of the judges ({known})")
        return [value.get(judge) if isinstance(judge, str) else None for judge in judges]
    if value is not None and len(judges) > 1:
        first = judges[0]
        name = name_without_password(first) if isinstance(first, str) else "NAME"
        raise ConfigError(
            f"{option}: there are {len(judges)} judges, so name the one it is for, as in {{{name!r}: ...}}"
        )
    return [value] * len(judges)


def with_learned_priors(settings: Settings, ledger: WritableLedger, judges: JudgeInstances) -> Settings:
    """Before judging, add to ``settings`` what earlier runs in the ledger learned about the judges.

    The ``judges`` start from it as well. The settings contain everything that decides a question, so that a run can be
    replayed. A run that repeats a recorded run starts from the same knowledge as that run did, so that the same input
    gets the same rewards.
    """
    for judge in judges:
        judge.start_from(find_learned(ledger, judge.bare.endpoint, judge.bare.model))
    before = settings_of_equal_run(ledger, settings.to_dict())
    again = None if before is None else settings.with_windows_of(before)
    named = tuple(judge.as_recorded(one.context_window) for judge, one in zip(judges, settings.judges, strict=True))
    known = again or replace(settings, judges=named)
    return replace(known, experience=_priors(ledger, known, before))


def _priors(ledger: WritableLedger, settings: Settings, before: Mapping[str, Any] | None) -> Priors | None:
    """Learn the judges' priors from recorded answers; None if there are no answers, or learning is off."""
    if not settings.records.learn:
        return None
    if before is not None:
        return None if before["experience"] is None else Priors.of(before["experience"])
    found = Priors.learn(recorded_judgments(ledger, settings), len(settings.judges))
    return found if found.groups else None


def hooks_around(before: Hook | None, after: Hook | None) -> AbstractAsyncContextManager[None] | None:
    """Return what is entered while groups are judged, or None without functions to call."""
    return None if before is None and after is None else _Hooks(before, after)


class _Hooks(AbstractAsyncContextManager[None]):
    """Calls ``before`` when judging begins while none is under way, and ``after`` when the last has ended.

    Both are called in a thread, one at a time, so they may block. What ``before`` raises ends the judging that waits
    for it. Safe to use from several threads and event loops.
    """

    def __init__(self, before: Hook | None, after: Hook | None) -> None:
        self._before, self._after = before, after
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
