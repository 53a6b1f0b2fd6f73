"""Connects the judges that a user names: each becomes a backend with limits and retries, and starts from what earlier
runs learned about it. Sends no request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final, TypeAlias

from calipers.aggregators.priors import Priors
from calipers.backends.connect import connect
from calipers.backends.limits.budget import Purse
from calipers.backends.limits.limited import Limited
from calipers.backends.names import name_without_password, writes_text
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
    first = judges[0]
    assert isinstance(options.criteria, Criteria)  # noqa: S101 - JudgeOptions has made it one
    if options.criteria.mode != "off" and isinstance(first, str) and not writes_text(first):
        raise ConfigError(
            f"criteria={options.criteria.mode!r}: the first judge writes the criteria, and "
            f"{name_without_password(first)} scores answers and writes no text: name a model first"
        )
    headers = calls.headers
    if headers and len(judges) == 1 and all(isinstance(one, str) for one in headers.values()):
        headers = {first: headers} if isinstance(first, str) else headers
    given = {"base_url": options.base_url, "api_key": options.api_key, "headers": headers, "price": calls.price}
    by_slot = [value_for_each_judge(option, value, judges) for option, value in given.items()]
    limits = {
        "budget": None if options.budget is None else Purse(options.budget),
        "concurrency": options.concurrency,
    }
    found: list[JudgeInstance] = []
    for judge, url, key, extra, price in zip(judges, *by_slot, strict=True):
        bare = connect(judge, base_url=url, api_key=key, timeout=calls.timeout, headers=extra)
        made = _instance(judge, bare, calls, price=price, **limits)
        if any((bare.endpoint, bare.model) == (one.bare.endpoint, one.bare.model) for one in found):
            raise ConfigError(f"{made.name} is in the panel twice; to ask a judge more often, use samples=")
        found.append(made)
    around = None if calls.before is None and calls.after is None else _Hooks(calls.before, calls.after)
    return JudgeInstances(found, around=around)


def with_connected(settings: Settings, judges: JudgeInstances) -> Settings:
    """Return the settings as the ledger records them: with the judges that were made, and their warnings."""
    recorded = tuple(judge.as_recorded(settings.calls.context_window) for judge in judges)
    warnings = dict.fromkeys(note for judge in judges for note in judge.bare.warnings)
    return replace(settings, judges=recorded, warnings=tuple(warnings))


def recorded_judges(settings: Settings) -> JudgeInstances:
    """Return stand-ins for the judges of a recorded run that is replayed; judging never asks them."""
    backends = [RecordedBackend(judge.endpoint, judge.model, settings.warnings) for judge in settings.judges]
    return JudgeInstances([_instance(one, one, Calls()) for one in backends])


def _instance(judge: str | Backend, bare: FullBackend, calls: Calls, **limits: Any) -> JudgeInstance:
    """Wrap the backend ``bare`` of ``judge`` in retries and ``limits``.

    A judge given by name is retried. A caller's own Backend makes its retries itself; a Limited brings its own limits.
    """
    limits |= {name: getattr(calls, name) for name in ("requests_per_minute", "max_tokens")}
    if isinstance(bare, Limited):
        if given := [name for name in _LIMITS_OF_LIMITED if limits.get(name) is not None]:
            raise ConfigError(f"{', '.join(given)}: pass it to Limited(), whose limits apply to all Judges that use it")
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
    before = settings_of_equal_run(ledger, settings.to_dict())
    known = None if before is None else settings.with_windows_of(before)
    if known is None:
        named = zip(judges, settings.judges, strict=True)
        known = replace(settings, judges=tuple(judge.as_recorded(one.context_window) for judge, one in named))
    priors: Priors | None = None
    if settings.records.learn and before is not None:
        priors = None if before["experience"] is None else Priors.of(before["experience"])
    elif settings.records.learn:
        priors = Priors.learn(recorded_judgments(ledger, known), len(known.judges))
        priors = priors if priors.groups else None
    return replace(known, experience=priors)


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
