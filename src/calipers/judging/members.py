"""A judge in its place: the bare backend, the way to it, and what its answers teach. A panel has several.

Not responsible for who is asked what (``planners``), nor for how names become backends (``backends.connect``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from calipers.backends.connect import connect
from calipers.backends.context_window import WindowEstimate
from calipers.backends.limits.bounds import Shared, wrapped
from calipers.backends.limits.budget import Budget, SharedBudget
from calipers.backends.names import apart, shown
from calipers.backends.negotiation.confirming import Confirming
from calipers.backends.negotiation.probing import Probing
from calipers.config.options import Calls, JudgeOptions, Judges
from calipers.config.settings import Named, Settings
from calipers.errors import ConfigError
from calipers.interfaces import Backend, FullBackend
from calipers.ledger import Ledger, Nobody
from calipers.types import Usage

_OF_A_WAY: Final = ("budget", "price", "requests_per_minute", "tokens_per_minute", "hedge")
"""Bounds that are a Shared backend's own."""

_SHORTEST_LOOK, _LONGEST_LOOK = 0.5, 30.0
"""Seconds for a tiny question: with less left of a group's deadline, it is left to another group."""


@dataclass(frozen=True, slots=True)
class Seat:
    """``bare`` is what was named; ``backend`` is how it is asked, within bounds and retried. ``confirming`` finds out whether
    it refuses everything; ``probing`` looks at the servers behind a judge that was given by its name.
    """

    name: str
    bare: FullBackend
    backend: FullBackend
    confirming: Confirming
    probing: Probing | None = None
    gauge: WindowEstimate = field(default_factory=WindowEstimate)

    def named(self, context_window: int | None = None) -> Named:
        """Which judge sits here, with its window as far as it is known now."""
        return Named(
            self.name,
            self.bare.endpoint,
            self.bare.model,
            context_window or self.gauge.tokens,
            self.gauge.bytes_per_token,
        )

    async def aclose(self) -> None:
        """Close the running loop's connections of a judge given by name; a backend of the caller's own is the caller's."""
        if self.probing is not None:
            await self.bare.aclose()

    def take_up(self, known: Mapping[str, Any]) -> None:
        """Begin with what earlier runs learned about this judge."""
        self.gauge.take_up(known)
        self.bare.learn({key: value for key, value in known.items() if key != "window"})

    def learned(self) -> Mapping[str, Any]:
        """What is worth keeping for later runs, as plain JSON."""
        return {**self.bare.learned(), **self.gauge.learned()}


def seated(
    judge: str | Backend, bare: FullBackend, *, attempts: int, probe: bool, params: Mapping[str, Any], **bounds: Any
) -> Seat:
    """The seat of ``judge``, which is ``bare``, within ``bounds``.

    A named one has ``attempts`` at each question, and is probed where ``probe``, with ``params``. The caller's own backend
    has the tries it makes itself; a Shared one comes with its own way, too.
    """
    if isinstance(bare, Shared):
        if given := [name for name in _OF_A_WAY if bounds.get(name) is not None]:
            raise ConfigError(f"{', '.join(given)}: give it to Shared(), whose bounds hold for all Judges that use it")
        return Seat(bare.name, bare.bare, bare, Confirming(bare.bare, bounded=_as_it_is))
    own = {name: bounds[name] for name in ("budget", "price", "max_tokens") if name in bounds}
    beside = partial(wrapped, attempts=None, concurrency=1, **own)
    confirming = Confirming(bare, bounded=beside)
    if not isinstance(judge, str):
        return Seat(type(judge).__name__, bare, wrapped(bare, attempts=None, **bounds), confirming)
    probing = Probing(
        shown(judge),
        bare,
        asks=probe,
        bounded=beside,
        params=params,
        max_tokens=bounds.get("max_tokens"),
    )
    return Seat(shown(judge), bare, wrapped(bare, attempts=attempts, **bounds), confirming, probing)


def connected(judges: Sequence[str | Backend], options: JudgeOptions, calls: Calls) -> tuple[Seat, ...]:
    """The ``judges`` with the way to each. Nothing is contacted. Raises ConfigError for one there is not, or twice."""
    budget = None if options.budget is None else SharedBudget(Budget.of(options.budget))
    probe = isinstance(options.ledger, str | Path | Ledger) if calls.probe is None else calls.probe
    seats = tuple(
        seated(
            judge,
            connect(judge, base_url=url, api_key=key, timeout=calls.timeout),
            attempts=calls.attempts,
            probe=probe,
            params=calls.params or {},
            concurrency=options.concurrency,
            budget=budget,
            price=price,
            requests_per_minute=calls.requests_per_minute,
            tokens_per_minute=calls.tokens_per_minute,
            hedge=calls.hedge,
            max_tokens=calls.max_tokens,
        )
        for judge, url, key, price in zip(
            judges,
            each("base_url", options.base_url, judges),
            each("api_key", options.api_key, judges),
            each("price", calls.price, judges),
            strict=True,
        )
    )
    require_different(seats)
    return seats


def absent(settings: Settings) -> tuple[Seat, ...]:
    """The judges of a recorded run, for its replay: they are never asked."""
    found = [Nobody(judge.endpoint, judge.model, settings.warnings) for judge in settings.judges]
    return tuple(seated(one, one, attempts=1, probe=False, params={}) for one in found)


def _as_it_is(backend: Backend) -> Backend:
    return backend


async def check_of(seat: Seat) -> list[str]:
    """What is to be warned of before this judge is asked. Raises ConfigError when no question can succeed.

    No token is spent, unless the server's list of models lacks the model: then one small question tells whether the server
    answers for it all the same, as proxies do that hide models.
    """
    warnings = await seat.bare.check()
    unlisted = await seat.confirming.unlisted()
    refused = [f"{told} It refuses it: {why}" for told, why in unlisted if why]
    if refused and len(refused) == seat.confirming.servers:
        raise ConfigError(refused[0])
    settled = {told for told, why in unlisted if why is not None}
    return [*(warning for warning in warnings if warning not in settled), *refused]


async def look_behind(seats: Sequence[Seat], *, until: float | None) -> None:
    """Find out and say what is new behind ``seats``, up to ``until`` by the event loop's clock. Never raises for a judge's doing."""
    for seat in seats:
        if seat.probing is not None and seat.probing.is_due:
            left = _LONGEST_LOOK if until is None else until - asyncio.get_running_loop().time()
            if left > _SHORTEST_LOOK:
                await seat.probing.look(seconds=left)


def spent_on_probes(seats: Sequence[Seat]) -> tuple[int, Usage]:
    """Calls and usage of the questions asked to know the servers: they are in no group's."""
    looks: list[Probing | Confirming] = [seat.confirming for seat in seats]
    looks += [seat.probing for seat in seats if seat.probing is not None]
    return sum(one.calls for one in looks), Usage.total([one.usage for one in looks])


def members(judge: Judges) -> tuple[str | Backend, ...]:
    """The judges of ``judge``, in the order of their slots. Raises ConfigError for none."""
    if isinstance(judge, str) or not isinstance(judge, Sequence):
        return (judge,)
    if not judge:
        raise ConfigError("judge=[]: name at least one judge")
    return tuple(judge)


def require_different(seats: Sequence[Seat]) -> None:
    """Raise ConfigError where one judge has two seats: its answer to a question is one, and would be counted twice."""
    seen = set()
    for seat in seats:
        place = (seat.bare.endpoint, seat.bare.model)
        if place in seen:
            raise ConfigError(f"{seat.name} is in the panel twice; to ask a judge more often, there is samples=")
        seen.add(place)


def each(option: str, value: object, judges: Sequence[str | Backend]) -> list[Any]:
    """``value`` of an option for every judge: a mapping by judge name, or one value where there is one judge.

    Raises ConfigError for a name that is no judge's, and for one value where several judges could be meant.
    """
    if isinstance(value, Mapping):
        names = [one for one in judges if isinstance(one, str)]
        for name in value:
            if name not in names:
                known = ", ".join(map(shown, names)) or "none has a name"
                raise ConfigError(f"{option}: {shown(str(name))!r} is none of the judges ({known})")
        return [value.get(one) if isinstance(one, str) else None for one in judges]
    if value is not None and len(judges) > 1:
        first = judges[0]
        name = shown(first) if isinstance(first, str) else "NAME"
        raise ConfigError(f"{option}: say which of the {len(judges)} judges it is for, as in {{{name!r}: ...}}")
    return [value] * len(judges)


_FAMILIES: Final = (
    "claude",
    "command",
    "deepseek",
    "gemini",
    "gemma",
    "glm",
    "gpt",
    "granite",
    "grok",
    "kimi",
    "llama",
    "mistral",
    "nemotron",
    "olmo",
    "phi",
    "qwen",
)
_SAME: Final[Mapping[str, str]] = {
    "codestral": "mistral",
    "devstral": "mistral",
    "magistral": "mistral",
    "ministral": "mistral",
    "mixtral": "mistral",
    "o1": "gpt",
    "o3": "gpt",
    "o4": "gpt",
    "qwq": "qwen",
    "gemma": "gemini",
}
_WORDS = re.compile(r"[a-z]+[0-9]*")
_INSTEAD = "choose another judge, or allow it with panel={'own_family': True} (--own-family)"


def families(model: str) -> frozenset[str]:
    """The model families a name speaks of: a distilled model may have two. Empty where none is recognised."""
    words = [word for word in _WORDS.findall(apart(model)[0].lower()) if word != "llamacpp"]  # a server, and no family
    found = {family for family in _FAMILIES for word in words if word.startswith(family)}
    found |= {family for name, family in _SAME.items() for word in words if word.startswith(name)}
    return frozenset(_SAME.get(family, family) for family in found)


def require_other_family(policy: str | None, judges: Sequence[str | Backend], *, allowed: bool) -> None:
    """Raise ConfigError where a judge is of the family of the ``policy`` under training: models favour their own kind."""
    if policy is None or allowed:
        return
    for judge in judges:
        name = shown(judge) if isinstance(judge, str) else judge.model
        if shared := families(policy) & families(name):
            raise ConfigError(
                f"{name} and the policy {policy} are both of the {min(shared)} family, and models favour their own "
                f"kind: {_INSTEAD}"
            )
        if _bare(policy) == _bare(name):
            raise ConfigError(f"{name} is named like the policy {policy}, and would judge itself: {_INSTEAD}")


def _bare(model: str) -> str:
    """A model's own name, without who serves or made it."""
    return apart(model)[0].rstrip("/").rpartition("/")[2].lower()
