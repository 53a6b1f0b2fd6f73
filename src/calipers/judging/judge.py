"""Judge: what can be configured, and groups to results.

Not responsible for the questions and answers about a group (``interrogation``), or for how names become backends
(``backends.connect``).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeAlias

from calipers import registry
from calipers._version import __version__
from calipers.backends.limits.concurrency import MOST
from calipers.config.flat import nested, takes
from calipers.config.options import JudgeOptions
from calipers.config.settings import Settings
from calipers.errors import ConfigError, InputError
from calipers.guard.canary import CanaryAmong, CanaryFirst
from calipers.interfaces import AnswerWatcher, JudgingProtocol, Store
from calipers.judging.assembly import aggregator, planner, settle
from calipers.judging.assembly import reward as rewarding
from calipers.judging.attacks import find_attacks_of, with_attackers, without_attackers
from calipers.judging.contradictions import require_logprobs, settings_of
from calipers.judging.learned import Memory, remembered
from calipers.judging.loop import Interrogation, Interrogator
from calipers.judging.members import Seat, absent, check_of, connected, look_behind, members, spent_on_probes
from calipers.judging.preparing import Prepare, preparing
from calipers.judging.refusals import Refusals
from calipers.judging.results import (
    assemble,
    doubts,
    overruled,
    unasked,
    with_judges,
    with_messages,
    with_own_rewards,
    with_silent,
)
from calipers.judging.show import print_answer
from calipers.judging.standards import require_graded, with_criteria
from calipers.judging.streaming import stream
from calipers.ledger import Ledger, Recorder, Run, Unrecorded, group_digest, has_answers
from calipers.monitoring.monitor import combined
from calipers.protocols.question import Parse
from calipers.readers import as_group
from calipers.render import render
from calipers.types import GroupResult, RenderedGroup, TrajectoryGroup, Usage
from calipers.verifiers.criteria_rules import with_rules

_MOST_AHEAD = 32
"""Groups that are begun before there is a place for their call."""


class Judge:
    """A judge and how to ask it. Constructor arguments are the whole configuration; nothing is contacted until used.

    ``judge`` is a name (``"openai/gpt-5-mini"``, ``"vllm/qwen3"``, ``"embedded"``...) or a Backend of your own, which
    is used as it is, without retries. Several are a panel. Everyday options are arguments; the others are in groups
    (``panel``, ``resolve``, ``reward``, ``question``, ``calls``, ``defence``, ``records``), each an object from
    ``calipers.config`` or a mapping of its fields, as in ``calls={"timeout": 30}``. A lone value stands for the obvious
    field: ``panel="cycle"``, ``reward="rank"``, ``resolve=0.015``. All of them, with defaults and ranges, are in
    docs/options.md.

    With several judges, ``base_url``, ``api_key`` and ``calls={"price": ...}`` are mappings by judge name. Of several
    ``base_url`` of one judge, the first names it in the ledger. ``ledger`` is a path, a ``sqlite:///`` URL, a Ledger, or
    a Store of your own. ``rubric`` is for groups that bring none: text or, for ``protocol="checklist"``, criteria (a
    Rubric, its object, or the Path of its file).

    Safe to use from several event loops. Raises ConfigError, before any token is spent, for options that cannot work.
    """

    @takes(JudgeOptions)
    def __init__(self, options: JudgeOptions) -> None:
        judges = members(options.judge)
        settings = settings_of(options, judges)
        seats = connected(judges, options, settings.calls)
        require_logprobs(settings, seats)
        named = tuple(seat.named(settings.calls.context_window) for seat in seats)
        warnings = dict.fromkeys(note for seat in seats for note in seat.bare.warnings)
        self._assemble(
            replace(settings, judges=named, warnings=tuple(warnings)),
            seats,
            ledger=options.ledger,
            parse=options.parse,
            concurrency=MOST if options.concurrency == "auto" else options.concurrency,
        )

    def _assemble(
        self,
        settings: Settings,
        seats: tuple[Seat, ...],
        *,
        ledger: str | Path | Ledger | Store | None,
        parse: Parse | None,
        concurrency: int,
    ) -> None:
        self.settings = settings
        self.concurrency = concurrency
        self._seats = seats
        self._refusals = Refusals(seats)
        self._parse = parse
        # While one group's answer is written down, another's question takes its place. Waiting for one counts against
        # a deadline, so with a deadline nobody waits.
        self._ahead = 0 if settings.deadline is not None else min(_MOST_AHEAD, concurrency // 2)
        records = settings.records
        self._watchers = tuple(records.watchers)
        seen_by = [watcher.observe for watcher in self._watchers if isinstance(watcher, AnswerWatcher)]
        self._observer = combined(records.observer or (print_answer if records.debug else None), *seen_by)
        self._setup()
        self._memory = Memory(seats)
        self._turn = threading.RLock()
        self._begun = 0
        self._owns_ledger = isinstance(ledger, str | Path)
        found = Ledger(ledger) if isinstance(ledger, str | Path) else ledger
        self._ledger = found if isinstance(found, Ledger) else None
        self._store: Store | None = Unrecorded() if found is None else None if isinstance(found, Ledger) else found

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """A judge from options by their flat names (docs/options.md), as flags, calipers.toml and trainers have them.

        Raises ConfigError as the constructor does, and for a name there is not.
        """
        return cls(**nested(options))

    @classmethod
    def replaying(cls, settings: Settings, store: Store, *, parse: Parse | None = None) -> Self:
        """A judge that asks as ``settings`` say and gets its answers from ``store`` only."""
        if settings.custom_parse and parse is None:
            raise ConfigError("this run was read by a parse= function of its own: replay it from Python, with it")
        judge = cls.__new__(cls)
        judge._assemble(  # noqa: SLF001 - another constructor
            settings, absent(settings), ledger=store, parse=parse, concurrency=1
        )
        return judge

    def _setup(self) -> None:
        settings = self.settings
        method = registry.find_method(settings.protocol)
        graded = {"grading": settings.grading} if method.graded else {}
        scored: dict[str, Any] = {
            "rubric": settings.rubric,
            "out_of_range": settings.out_of_range,
            "parse": self._parse,
        }
        path = method.protocol
        if settings.aspects is not None:
            path, scored["aspects"] = method.aspects, settings.aspects
        elif settings.question.expected:
            path = method.expected
        protocol: JudgingProtocol = registry.load(path)(
            max_tokens=settings.calls.max_tokens, params=settings.calls.params or {}, **(graded or scored)
        )
        if share := settings.defence.share:
            protocol = (CanaryAmong if settings.protocol == "listwise" else CanaryFirst)(protocol, share, settings.seed)
        self._asked_by = Interrogator(
            protocol=protocol,
            planner=planner(settings),
            aggregate=aggregator(settings),
            seats=self._seats,
            observer=self._observer,
        )
        self._reward = rewarding(settings)

    @property
    def store(self) -> Store:
        """Where answers are kept; with a ledger, the run begins when this is first needed."""
        return self._store or self._open(None)

    def _open(self, first: TrajectoryGroup | None) -> Store:
        """Begin the run with its ``first`` group, once however many threads bring one."""
        with self._turn:
            if self._store is None:
                assert self._ledger is not None  # noqa: S101 - the constructor sees to one or the other
                self.settings = replace(self.settings, begins_with=None if first is None else group_digest(first))
                self.settings = remembered(self._ledger, self.settings, self._seats)
                self._setup()
                self._memory = Memory(self._seats)
                self._store = Recorder(Run(self._ledger, self.settings.to_dict(), version=__version__))
            return self._store

    async def score_group(self, group: object) -> GroupResult:
        """Judge one group: a TrajectoryGroup, a groups-file object, message lists, or a trainer's own group.

        Never raises for a judge's doing; every trajectory of the result is scored, abstained or failed with a reason.
        Raises InputError for a group that cannot be read and LedgerError when answers cannot be kept.
        """
        return await self._begin(as_group(group))

    def preparing(self, head: TrajectoryGroup) -> Prepare:
        """What can be done about each trajectory of a group before the group is whole: for ``trainers.cohort.Cohorts``.

        ``head`` is the group without trajectories. ``score_group`` gives the same for prepared ones, sooner.
        """
        how = self.settings
        return preparing(head, reasoning=how.question.reasoning, rubric=how.rubric, grading=how.grading)

    async def score_groups(
        self,
        groups: Iterable[object] | AsyncIterable[object],
        *,
        concurrency: int | None = None,
        ordered: bool = False,
        on_error: Callable[[InputError], None] | None = None,
    ) -> AsyncIterator[GroupResult]:
        """Judge many groups and yield results as they finish, or (``ordered``) in input order.

        ``concurrency`` groups are worked on at a time; by default, as many as keep the judge's calls in flight.

        A group that cannot be read is handed to ``on_error`` as an InputError naming it, and left out; without one,
        the InputError is raised. Memory stays flat however many groups there are.
        """
        limit = concurrency or self.concurrency + self._ahead
        readable = (
            _readable_later(groups, on_error) if isinstance(groups, AsyncIterable) else _readable(groups, on_error)
        )
        results = stream(readable, self._begin, limit=limit, ordered=ordered)
        async with aclosing(results):  # who stops listening leaves no call in flight behind
            async for result in results:
                yield result

    def begin_with(self, group: TrajectoryGroup) -> Store:
        """Begin the run, unless it has begun: ``group`` names it, whether or not it will be asked about."""
        return self._store or self._open(group)

    async def _begin(self, group: TrajectoryGroup) -> GroupResult:
        # Begun in input order, and nothing is awaited before: numbers in the ledger are input positions.
        number = await self.begin_with(group).begin()
        with self._turn:
            self._begun = max(self._begun, number + 1)
            settings = self.settings.at(number)
        return await self._score(group, number, settings)

    async def _score(self, group: TrajectoryGroup, position: int, settings: Settings) -> GroupResult:
        # A replay meets no deadline: what it cost the recorded run is recorded.
        begun = asyncio.get_running_loop().time()
        ends = None if settings.deadline is None or self.store.replays else begun + settings.deadline
        warnings = (*doubts(group, settings), *settings.warnings)
        rolled_out = with_messages(group)
        graded = settings.grading is not None
        view = self._render(rolled_out)
        attacks = find_attacks_of(rolled_out, view)
        # Let others get so far, here and before the question is put: a stage gone through by many groups in a row takes
        # less CPU than every group's way through all stages, and answers that came in are taken in between.
        await asyncio.sleep(0)
        asked_about = without_attackers(rolled_out, attacks, settings.defence.on_attack)
        if asked_about is not rolled_out:
            view = self._render(asked_about)
        view, ungradable = with_criteria(asked_about, view, settings.grading)
        if settings.grading is not None:
            view = await with_rules(asked_about, view, settings.grading)
        warnings = (*warnings, *ungradable, *overruled(group, settings))
        distinct, (low, high) = len(view.candidates), settings.reward.range
        if distinct == 0 or (distinct == 1 and not settings.question.absolute and not graded):
            result = unasked(asked_about, view, reward=low + (high - low) / 2, warnings=warnings)
        else:
            answered, scores = await Interrogation(self._asked_by, view, position, settings, self.store, ends).run()
            self._refusals.saw(answered)
            scores, unsettled = settle(scores, settings.resolve)
            result = assemble(
                asked_about,
                view,
                answered,
                scores=scores,
                rewards=self._reward(scores, view),
                warnings=(*unsettled, *warnings),
                quorum=settings.quorum,
            )
            if settings.reward.blend is not None:
                result = with_own_rewards(result, asked_about, how=settings.reward.blend, weight=settings.reward.weight)
            if len(settings.judges) > 1:
                result = with_judges(result, answered, settings.judges)
        if settings.grading is not None and settings.grading.on_missing == "raise":
            require_graded(result)  # before those are back who were not to be graded
        result = with_attackers(result, rolled_out, attacks, rule=settings.defence.on_attack, floor=low)
        result = with_silent(result, group)
        await look_behind(self._seats, until=ends)
        with self._turn:
            self.settings = self._memory.narrowed(self.settings, self.store, begun=self._begun)
            self._memory.keep(self.store)
        await self.store.finish(position, group, result)
        for watcher in self._watchers:
            result = watcher.seen(group, result)
        return result

    def _render(self, group: TrajectoryGroup) -> RenderedGroup:
        how = self.settings
        return render(group, rubric=how.rubric, reasoning=how.question.reasoning, graded=how.grading is not None)

    async def check(self) -> Sequence[str]:
        """Find out whether the judge can be reached; returns warnings. No token is spent, unless its server lists other models.

        Then one small question is asked. Raises ConfigError, with the remedy, when the judge cannot be reached or refuses
        it; of judges that stand in for one another, when none can be.
        """
        found: list[Sequence[str]] = []
        errors: list[ConfigError] = []
        for seat in self._seats:
            try:
                found.append(await check_of(seat))
            except ConfigError as error:
                errors.append(error)
                found.append((f"{seat.name} is left to the others of the panel for now: {error}",))
        if errors and (self.settings.panel.mode != "fallback" or len(errors) == len(self._seats)):
            raise errors[0]
        if not isinstance(self._store, Recorder):
            told = [seat.bare.context_window for seat in self._seats]
            judges = zip(self.settings.judges, told, strict=True)
            known = tuple(replace(one, context_window=one.context_window or window) for one, window in judges)
            self.settings = replace(self.settings, judges=known)
        return [warning for warnings in found for warning in warnings]

    async def require_answering(self) -> None:
        """Raise ConfigError where every call so far was refused for good: the model, the key or the address is wrong.

        For loops that train or write on: to be awaited after a batch of groups, and at no cost once the judge has
        answered. Calls of the batch that all ended in 401, 403, 404 or the like are confirmed by one small question; what
        may pass (429, 5xx, timeouts) never raises here. Of a panel, all must refuse: one that does is warned of once.
        """
        await self._refusals.require_answering()

    @property
    def probed(self) -> tuple[int, Usage]:
        """Calls and usage of the questions put beside groups, by ``probe`` or to confirm a refusal: they are in no group's."""
        return spent_on_probes(self._seats)

    def has_recorded_answers(self) -> bool:
        """Whether the ledger can answer anything in the judges' place."""
        return self._ledger is not None and any(has_answers(self._ledger, seat.bare) for seat in self._seats)

    def close(self) -> None:
        """Close the ledger this judge opened. Connections close with their event loop."""
        if self._ledger is not None and self._owns_ledger:
            self._ledger.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for seat in self._seats:
            await seat.aclose()
        self.close()


_OnError: TypeAlias = Callable[[InputError], None] | None


def _readable(groups: Iterable[object], on_error: _OnError) -> Iterator[TrajectoryGroup]:
    """The groups that can be read; what is wrong with another says which one it is."""
    for number, group in enumerate(groups, start=1):
        if (read := _read(group, number, on_error)) is not None:
            yield read


async def _readable_later(groups: AsyncIterable[object], on_error: _OnError) -> AsyncIterator[TrajectoryGroup]:
    """Likewise, as they come."""
    number = 0
    async for group in groups:
        number += 1
        if (read := _read(group, number, on_error)) is not None:
            yield read


def _read(group: object, number: int, on_error: _OnError) -> TrajectoryGroup | None:
    try:
        return as_group(group)
    except InputError as error:
        name = group.get("group_id") if isinstance(group, Mapping) else None
        named = InputError(f"group {number}{'' if name is None else f' ({name})'}: {error}")
        if on_error is None:
            raise named from error
        on_error(named)
        return None
