"""The class ``Judge``: builds strategies from options, and judges groups with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from calipers._version import __version__
from calipers.config.flat_names import judge_arguments, options_of_settings, require_switched_on, takes_options
from calipers.config.options import JudgeOptions
from calipers.config.settings import Settings
from calipers.errors import ConfigError, InputError
from calipers.inputs import group_in_steps
from calipers.interfaces import AnswerWatcher, Store
from calipers.judging.assembly import build_strategies, criteria_writer, observer_of
from calipers.judging.configured import Configured
from calipers.judging.connecting import (
    connect_judges,
    judges_in,
    recorded_judges,
    with_connected,
    with_learned_priors,
)
from calipers.judging.contradictions import checked_settings, require_abilities
from calipers.judging.criteria import require_graded, with_gradable_rubrics
from calipers.judging.excluded import (
    attacks_in_group_in_steps,
    rendered_in_steps,
    restore_attackers,
    restore_empty,
    without_attackers,
    without_empty,
)
from calipers.judging.instances import JudgeInstances
from calipers.judging.loop import QueryLoop, Strategies
from calipers.judging.preparing import EarlySearch, Prepare, rollout_preparer
from calipers.judging.results import (
    assemble_result,
    constant_result,
    is_judged,
    replaced_rubric_warning,
    unused_content_warnings,
    with_panel_parts,
    with_reward_warnings,
)
from calipers.judging.streaming import readable_groups, stream_results
from calipers.ledger import Recorder, Run, Unrecorded, WritableLedger, group_digest, has_answers, open_ledger
from calipers.monitoring.monitor import combined_observer
from calipers.pacing import pace_of_loop
from calipers.protocols.question import Parse
from calipers.types import GroupResult, RenderedGroup, TrajectoryGroup, Usage
from calipers.verifiers.rubric_rules import with_rule_verdicts

_MOST_AHEAD = 32
"""The largest number of groups that may be begun while the judge's calls in flight are about other groups."""


class Judge(Configured):
    """A judge and how to ask it. Constructor arguments are the whole configuration; no request is sent before the first
    group.

    ``judge`` is a name (``"openai/gpt-5-mini"``, ``"vllm/qwen3"``, ``"embedded"``...), a Backend of your own, which is
    used without retries, or several of these (a panel). Everyday options are arguments; the others are in groups
    (``panel``, ``resolve``, ``reward``, ``question``, ``calls``, ``defence``, ``records``), each an object from
    ``calipers.config`` or a mapping of its fields, as in ``calls={"timeout": 30}``. A single value sets a group's first
    field: ``panel="cycle"``, ``reward="rank"``, ``resolve=0.015``. All options, with defaults and ranges, are in
    docs/options.md.

    With several judges, ``base_url``, ``api_key`` and ``calls={"price": ...}`` are mappings by judge name. If a judge
    has several ``base_url``, the ledger names the judge by the first. ``ledger`` is a path, a ``sqlite:///`` or
    ``postgresql://`` URL, an open ledger, a Run that several processes share, or a Store of your own. ``rubric`` is for
    groups that bring none: text or, for ``protocol="checklist"``, criteria (a Rubric, its object, or the Path of its
    file).

    Safe to use from several event loops, and pickled as its configuration. Raises ConfigError, before any token is
    spent, for options that cannot work.
    """

    @takes_options(JudgeOptions)
    def __init__(self, options: JudgeOptions) -> None:
        self._connect(options)

    def _connect(self, options: JudgeOptions) -> None:
        self._options = options
        named = judges_in(options.judge)
        settings = checked_settings(options, named)
        judges = connect_judges(named, options, settings.calls)
        require_abilities(settings, judges)
        self._assemble(
            with_connected(settings, judges),
            judges,
            ledger=options.ledger,
            parse=options.parse,
            concurrency=options.concurrency,
        )

    def _assemble(
        self,
        settings: Settings,
        judges: JudgeInstances,
        *,
        ledger: str | Path | WritableLedger | Store | None,
        parse: Parse | None,
        concurrency: int,
    ) -> None:
        self.settings = settings
        self.concurrency = concurrency
        self._judges = judges
        self._parse = parse
        self._strategies = self._build_strategies(settings)
        self._criteria = criteria_writer(judges, settings)
        # Groups begun beyond the calls in flight keep the judge busy while answers are recorded. A group that waits for
        # its call uses up its deadline, so with a deadline no group is begun early.
        self._ahead = 0 if settings.deadline is not None else min(_MOST_AHEAD, concurrency // 2)
        observers = [watcher.observe for watcher in settings.records.watchers if isinstance(watcher, AnswerWatcher)]
        self._observer = combined_observer(observer_of(settings.records), *observers)
        self._lock = threading.RLock()
        self._begun = 0
        self._owns_ledger = isinstance(ledger, str | Path)
        found = open_ledger(ledger) if isinstance(ledger, str | Path) else ledger
        self._ledger = found if isinstance(found, WritableLedger) else None
        self._store: Store | None = None if isinstance(found, WritableLedger) else found or Unrecorded()

    def _build_strategies(self, settings: Settings) -> Strategies:
        """Build the judging strategies of a run; the study of judges replaces one of them, for comparison."""
        return build_strategies(settings, self._parse)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Build a judge from options by their flat names (docs/options.md), as flags and trainers give them, or from
        the content of a file that ``calipers --config`` takes.

        Raises ConfigError as the constructor does, and for an unknown name.
        """
        options = options_of_settings(options)
        require_switched_on(options)
        return cls(**judge_arguments(options))

    @classmethod
    def replaying(cls, settings: Settings, store: Store, *, parse: Parse | None = None) -> Self:
        """Build a judge for judging again (a replay): as ``settings`` say, with answers from ``store`` only."""
        if settings.custom_parse and parse is None:
            raise ConfigError(
                "a parse= function read the replies of this run: replay it from Python, with that function"
            )
        judge = cls.__new__(cls)
        judge._assemble(  # noqa: SLF001 - another constructor
            settings, recorded_judges(settings), ledger=store, parse=parse, concurrency=1
        )
        return judge

    @property
    def store(self) -> Store:
        """The store that records answers; with a ledger, the first use of this property begins the run."""
        return self._store or self._begin_run(None)

    def begin_run_with(self, group: TrajectoryGroup) -> Store:
        """Begin judging with ``group``, which identifies the run, unless the run has begun. Returns the run's store."""
        return self._store or self._begin_run(group)

    def _begin_run(self, first: TrajectoryGroup | None) -> Store:
        """Begin the run with its ``first`` group; only the first of several threads does so."""
        with self._lock:
            if self._store is None:
                assert self._ledger is not None  # noqa: S101 - there is a ledger or a store
                begun = replace(self.settings, begins_with=None if first is None else group_digest(first))
                self.settings = with_learned_priors(begun, self._ledger, self._judges)
                self._strategies = self._build_strategies(self.settings)
                self._store = Recorder(Run(self._ledger, self.settings.to_dict(), version=__version__))
            return self._store

    async def score_group(self, group: object) -> GroupResult:
        """Judge one group: a TrajectoryGroup, a groups-file object, message lists, or a trainer's own group.

        Never raises because of a judge: every trajectory of the result is scored, abstained or failed, with a reason.
        Raises InputError for a group that cannot be read and LedgerError when answers cannot be recorded. A long group
        is read, rendered and searched in steps, between which the event loop does other work.
        """
        pace = pace_of_loop()
        await pace.enter()  # in the order of the calls, which numbers the groups
        return await self._begin(await pace.run(group_in_steps(group)))

    def preparing(self, head: TrajectoryGroup, *, early: EarlySearch | None = None) -> Prepare:
        """Return a function that does part of the judging of each trajectory before the group is complete.

        ``head`` is the group without trajectories. ``score_group`` gives the same result for prepared trajectories,
        sooner. ``early`` has searched the trajectories already.
        """
        return rollout_preparer(head, reasoning=self.settings.question.reasoning, early=early)

    async def score_groups(
        self,
        groups: Iterable[object] | AsyncIterable[object],
        *,
        concurrency: int | None = None,
        ordered: bool = False,
        on_error: Callable[[InputError], None] | None = None,
    ) -> AsyncIterator[GroupResult]:
        """Judge many groups and yield results as they finish, or (``ordered``) in input order.

        ``concurrency`` groups are judged at a time; by default, enough to keep all of the judge's calls in flight busy.
        A group that cannot be read is passed to ``on_error`` as an InputError that names it, and skipped; without
        ``on_error``, the InputError is raised. Memory use does not grow with the number of groups.
        """
        limit = concurrency or self.concurrency + self._ahead
        results = stream_results(readable_groups(groups, on_error), self._begin, limit=limit, ordered=ordered)
        async with self._judges.around, aclosing(results):  # if the consumer stops early, no call stays in flight
            async for result in results:
                yield result

    async def _begin(self, group: TrajectoryGroup) -> GroupResult:
        # Called in input order, and nothing is awaited before: a group's number in the ledger is its input position.
        number = await self.begin_run_with(group).begin()
        with self._lock:
            self._begun = max(self._begun, number + 1)
            settings = self.settings.for_group(number)
        async with self._judges.around:
            return await self._score(group, number, settings)

    async def _score(self, group: TrajectoryGroup, number: int, settings: Settings) -> GroupResult:
        pace = pace_of_loop()
        await pace.enter()
        # A replay needs no deadline: the failures that the deadline caused are in the ledger.
        started = asyncio.get_running_loop().time()
        ends = None if settings.deadline is None or self.store.replays else started + settings.deadline
        judged = without_empty(group)
        view = await pace.run(rendered_in_steps(judged, settings))
        attacks = await pace.run(attacks_in_group_in_steps(judged, view))
        # Yield to the event loop here, and again before a question is sent, so that other groups reach the same stage.
        # One stage for many groups in a row takes less CPU than all stages for each group, and answers arrive
        # meanwhile.
        await asyncio.sleep(0)
        shown = without_attackers(judged, attacks, settings.defence.on_attack)
        if shown is not judged:
            view = await pace.run(rendered_in_steps(shown, settings))
        warnings = (*unused_content_warnings(group, settings), *settings.warnings)
        found = None
        if self._criteria is not None and is_judged(view, settings):
            found, settings = await self._criteria.settings_for(shown, number, settings, self.store, ends)
            view = await pace.run(rendered_in_steps(shown, settings))
        if settings.grading is not None:
            view, notes = with_gradable_rubrics(shown, view, settings.grading)
            view = await with_rule_verdicts(shown, view, settings.grading)
            warnings += notes
        warnings += replaced_rubric_warning(group, settings)
        result = found.result_instead(shown, view, settings, warnings) if found is not None else None
        result = result or await self._judge(shown, view, number, settings, ends, warnings)
        result = result if found is None else found.added_to(result)
        if settings.grading is not None and settings.grading.on_missing == "raise":
            require_graded(result)  # before excluded trajectories are restored, because these need no grade
        floor = settings.reward.range[0]
        result = restore_attackers(result, judged, attacks, rule=settings.defence.on_attack, floor=floor)
        result = restore_empty(result, group)
        await self._finish(group, number, result)
        for watcher in settings.records.watchers:
            result = watcher.seen(group, result)
        return result

    async def _judge(
        self,
        group: TrajectoryGroup,
        view: RenderedGroup,
        number: int,
        settings: Settings,
        ends: float | None,
        warnings: tuple[str, ...],
    ) -> GroupResult:
        """Ask the judge about the trajectories it may see, and return the group's result.

        If there is nothing to compare, the judge is not asked and the reward is constant.
        """
        if not is_judged(view, settings):
            return constant_result(group, view, settings.reward, warnings=warnings)
        loop = QueryLoop(self._strategies, self._judges, self._observer, view, number, settings, self.store, ends)
        answered, scores = await loop.run()
        self._judges.count_outcomes(answered)
        rewards, notes = self._strategies.rewards(scores, view)
        warnings = (*notes, *warnings)
        result = assemble_result(
            group,
            view,
            answered,
            scores=scores,
            rewards=rewards,
            warnings=warnings,
            quorum=settings.quorum,
        )
        result = with_reward_warnings(result, settings.reward)
        if len(settings.judges) > 1:
            result = with_panel_parts(result, answered, settings.judges)
        return result

    async def _finish(self, group: TrajectoryGroup, number: int, result: GroupResult) -> None:
        """Record the group's result, and what its calls revealed about the judges."""
        with self._lock:
            self.settings = self._judges.settings_with_revealed_windows(self.settings, self.store, begun=self._begun)
            for judge in self._judges:
                judge.save_learned(self.store)
        await self.store.finish(number, group, result)

    async def check(self) -> Sequence[str]:
        """Before judging, check whether the judge can be reached; return warnings. Usually free.

        If the judge's server does not list its model, one small question is asked. Raises ConfigError, with the remedy,
        when the judge cannot be reached or refuses the question; for a panel with ``mode="fallback"``, only when no
        judge can be reached.
        """
        return await self._judges.check(all_needed=self.settings.panel.mode != "fallback")

    async def require_answering(self) -> None:
        """While judging, raise ConfigError if every call so far was refused for good: wrong model, key or address.

        Loops that train or write results await this after a batch of groups; it is free once the judge has answered. If
        all calls of a batch ended in 401, 403, 404 or the like, one small question confirms the refusal. Failures that
        may pass (429, 5xx, timeouts) never raise here. A panel raises if all its judges refuse; one is in a warning.
        """
        await self._judges.require_answering()

    @property
    def probed(self) -> tuple[int, Usage]:
        """Calls and usage of probes and of questions that confirm a refusal; no group's result counts them."""
        return self._judges.probed

    def has_recorded_answers(self) -> bool:
        """Whether judging finds recorded answers of any of this Judge's judges in the ledger."""
        return self._ledger is not None and any(has_answers(self._ledger, judge.bare) for judge in self._judges)

    def close(self) -> None:
        """At the end of judging, close the ledger if this judge opened it. Connections close with their event loop."""
        if self._ledger is not None and self._owns_ledger:
            self._ledger.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for judge in self._judges.everyone:
            await judge.aclose()
        self.close()
