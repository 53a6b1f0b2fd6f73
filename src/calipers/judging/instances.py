"""The judges of a panel, or the one there is: how each is called, which refuse everything, and what their answers
teach.

A judge that only ever refuses (a mistyped model, a wrong key, a wrong address) would score nothing to the end of a
run, so it is found by how its calls end and one small call more. Not responsible for which judge is asked what
(``planners``), or for how names become backends (``connecting``).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.backends.context_window import WindowEstimate
from calipers.backends.negotiation.confirming import REFUSED, Confirming
from calipers.backends.negotiation.probing import Probing
from calipers.config.settings import Named, Settings
from calipers.errors import ConfigError
from calipers.interfaces import FullBackend, Store
from calipers.types import Answered, Failure, Reading, Usage

_log = logging.getLogger(__name__)

_SHORTEST_PROBE, _LONGEST_PROBE = 0.5, 30.0
"""Seconds for a probe: with less left of a group's deadline, another group's turn is waited for."""


@dataclass(slots=True, eq=False)
class JudgeInstance:
    """One judge of a ``Judge``: ``bare`` is the backend that was named, ``backend`` the same with limits and retries.

    ``confirming`` finds out whether it refuses everything; ``probing`` examines the servers of a judge given by name.
    """

    name: str
    bare: FullBackend
    backend: FullBackend
    confirming: Confirming
    probing: Probing | None = None
    window: WindowEstimate = field(default_factory=WindowEstimate)
    answered: bool = False
    """Whether it ever answered."""
    refused: str | None = None
    """The first refusal of the batch of calls so far."""
    failed_otherwise: bool = False
    """Whether a call of the batch failed in a way that may pass."""
    refuses: str | None = None
    """Why it is known to refuse everything."""
    _warned: bool = False
    _saved: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with what the backend knows already."""
        self._saved = self.learned()

    def named(self, context_window: int | None = None) -> Named:
        """What a run records of it, with its context window as far as that is known now."""
        tokens = context_window or self.window.tokens
        return Named(self.name, self.bare.endpoint, self.bare.model, tokens, self.window.bytes_per_token)

    async def aclose(self) -> None:
        """Close the running loop's connections of a judge given by name; the caller closes a backend of their own."""
        if self.probing is not None:
            await self.bare.aclose()

    def take_up(self, known: Mapping[str, Any]) -> None:
        """Begin with what earlier runs learned about this judge."""
        self.window.take_up(known)
        self.bare.learn({key: value for key, value in known.items() if key != "window"})
        self._saved = self.learned()

    def learned(self) -> Mapping[str, Any]:
        """What is worth recording for later runs, as plain JSON."""
        return {**self.bare.learned(), **self.window.learned()}

    def save_learned(self, store: Store) -> None:
        """Record what is new since the run began, or since the last call; this run's snapshot stays as it was."""
        if (learned := self.learned()) != self._saved:
            self._saved = learned
            store.learn(self.bare, learned)

    def saw(self, result: Reading | Failure) -> None:
        """Count how a question ended."""
        if isinstance(result, Reading) or result.kind == "refused":  # the key and the name are right then
            self.answered = True
        elif result.kind in REFUSED:
            self.refused = self.refused or result.reason  # the first: later ones say that calls are paused
        else:
            self.failed_otherwise = True

    async def check(self) -> list[str]:
        """Warnings before this judge is asked. Raises ConfigError when no question can succeed.

        This costs no token, unless the server's list of models lacks the model: then one small question finds out
        whether the server answers for it anyway, as proxies do that hide models.
        """
        warnings = await self.bare.check()
        unlisted = await self.confirming.unlisted()
        refused = [f"{told} It refuses it: {why}" for told, why in unlisted if why]
        if refused and len(refused) == self.confirming.servers:
            raise ConfigError(refused[0])
        settled = {told for told, why in unlisted if why is not None}
        return [*(warning for warning in warnings if warning not in settled), *refused]


class JudgeInstances:
    """All judges of a ``Judge``, by slot. Safe to use from several threads and event loops."""

    def __init__(self, instances: Sequence[JudgeInstance]) -> None:
        self._all = tuple(instances)
        self._lock = threading.Lock()
        self._all_answered = False  # looked at after every group, so it is not counted each time

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, slot: int) -> JudgeInstance:
        return self._all[slot]

    def __iter__(self) -> Iterator[JudgeInstance]:
        return iter(self._all)

    async def check(self, *, all_needed: bool) -> list[str]:
        """Every judge's warnings. Raises ConfigError for one that cannot answer; unless ``all_needed``, if none can."""
        warnings: list[str] = []
        errors: list[ConfigError] = []
        for judge in self:
            try:
                warnings += await judge.check()
            except ConfigError as error:
                errors.append(error)
                warnings.append(f"{judge.name} is left to the others of the panel for now: {error}")
        if errors and (all_needed or len(errors) == len(self)):
            raise errors[0]
        return warnings

    def saw(self, answered: Sequence[Answered]) -> None:
        """Count how a group's questions ended; recorded answers are answers."""
        if not self._all_answered:
            with self._lock:
                for done in answered:
                    self[done.ask.slot].saw(done.result)
                self._all_answered = all(judge.answered for judge in self)

    async def require_answering(self) -> None:
        """Raise ConfigError if every judge is known to refuse everything; warn once of one that does while others
        answer.

        The calls since the last time are a batch. A judge that never answered, and whose every call in the batch was
        refused for good, is asked one small question; if that is refused as well, it is known. Free otherwise.
        """
        if self._all_answered:
            return
        self._raise_if_all_refuse()
        for judge, reason in self._suspects():
            refusal = await judge.confirming.refusal(reason)
            with self._lock:
                judge.answered = judge.answered or refusal == ""
                judge.refuses = refusal or None
        self._raise_if_all_refuse()
        for judge in self:
            if judge.refuses is not None and not judge._warned and len(self) > 1:  # noqa: SLF001 - of this module
                judge._warned = True  # noqa: SLF001 - likewise
                _log.warning(
                    "%s refuses every question, and the panel judges without it: %s", judge.name, judge.refuses
                )

    def _suspects(self) -> list[tuple[JudgeInstance, str]]:
        """Judges whose calls of the batch that ends now were all refused, each with the reason."""
        found = []
        with self._lock:
            for judge in self:
                if judge.refused is not None and not (judge.failed_otherwise or judge.answered or judge.refuses):
                    found.append((judge, judge.refused))
                judge.refused, judge.failed_otherwise = None, False
        return found

    def _raise_if_all_refuse(self) -> None:
        with self._lock:
            reasons = [f"{judge.name}: {judge.refuses}" for judge in self if judge.refuses and not judge.answered]
        if reasons and len(reasons) == len(self):
            raise ConfigError(
                f"every question was refused, so nothing would be scored: {'; '.join(reasons).rstrip('.')}. Check the "
                "judge's name, its address and its key"
            )

    async def probe(self, *, until: float | None) -> None:
        """Examine new servers behind the judges, until ``until`` by the event loop's clock. Never raises."""
        for judge in self:
            if judge.probing is not None and judge.probing.is_due:
                left = _LONGEST_PROBE if until is None else until - asyncio.get_running_loop().time()
                if left > _SHORTEST_PROBE:
                    await judge.probing.look(seconds=left)

    @property
    def probed(self) -> tuple[int, Usage]:
        """Calls and usage of probes and of calls that confirm a refusal: they are in no group's."""
        calls: list[Probing | Confirming] = [judge.confirming for judge in self]
        calls += [judge.probing for judge in self if judge.probing is not None]
        return sum(one.calls for one in calls), Usage.total([one.usage for one in calls])

    def narrowed(self, settings: Settings, store: Store, *, begun: int) -> Settings:
        """``settings`` with the context windows that refusals revealed, for groups after the ``begun`` ones, recorded.

        A replay knows them beforehand.
        """
        revealed = [judge.window.told for judge in self]
        if not any(revealed) or store.replays:
            return settings
        found = settings.narrowed(begun, revealed)
        if found is not settings:
            store.change_settings(found.to_dict())
        return found
