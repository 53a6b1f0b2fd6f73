"""The class ``Judge``: builds strategies from options, and judges groups with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

from calipers._version import __version__
from calipers.config.flat_names import arguments_of_settings, takes_options
from calipers.config.options import JudgeOptions
from calipers.config.settings import Settings
from calipers.errors import ConfigError, InputError
from calipers.guard.injection import attacks_in_steps
from calipers.inputs import group_in_steps
from calipers.interfaces import Store
from calipers.judging.assembly import build_strategies, observers_of
from calipers.judging.contradictions import checked_settings, require_abilities
from calipers.judging.criteria import with_gradable_rubrics
from calipers.judging.excluded import attacks_by_id, restored, results_of_attackers, results_of_empty, without
from calipers.judging.instances import (
    JudgeInstances,
    connect_judges,
    judges_in,
    recorded_judges,
    with_connected,
    with_learned_priors,
)
from calipers.judging.loop import QueryLoop, Strategies
from calipers.judging.results import (
    assemble_result,
    constant_result,
    is_judged,
    uniform_result,
    unused_content_warnings,
)
from calipers.judging.streaming import stream_groups
from calipers.ledger import Recorder, Run, Unrecorded, WritableLedger, group_digest, has_answers, is_repeat, open_ledger
from calipers.pacing import pace_of_loop
from calipers.protocols.question import Parse
from calipers.render import render_in_steps
from calipers.rubric import DEFAULT_RUBRIC
from calipers.types import Answered, Completion, Failure, GroupResult, JudgeRequest, RenderedGroup, TrajectoryGroup
from calipers.types.steps import Steps
from calipers.verifiers.rubric_rules import with_rule_verdicts

_MOST_AHEAD: Final = 32
"""The largest number of groups that may be begun while the judge's calls in flight are about other groups."""
_OFTEN: Final = 4
_THEN_EVERY: Final = 16
"""What answers teach about a judge is recorded after each of the first groups, and then after every 16th."""


class Judge:
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
    ``postgresql://`` URL, an open ledger, or a Store of your own. ``rubric`` is for
    groups that bring none: text or, for ``protocol="checklist"``, criteria (a Rubric, its object, or the Path of its
    file).

    ``settings`` and ``concurrency`` are what the arguments became. Safe to use from several event loops, and pickled as
    its configuration. Raises ConfigError, before any token is spent, for options that cannot work.
    """

    @takes_options(JudgeOptions)
    def __init__(self, options: JudgeOptions) -> None:
        self._connect(options)

    _options: JudgeOptions | None = None
    """Its configuration; None: it was made for a replay, of settings."""

    def _connect(self, options: JudgeOptions) -> None:
        named = judges_in(options.judge)
        settings = checked_settings(options, named)
        judges = connect_judges(named, options, settings.calls)
        require_abilities(settings, judges)
        settings = with_connected(settings, judges)
        self._assemble(settings, judges, options.ledger, options.parse, options.concurrency)
        self._options = options

    def _assemble(
        self,
        settings: Settings,
        judges: JudgeInstances,
        ledger: str | Path | WritableLedger | Store | None,
        parse: Parse | None,
        concurrency: int,
    ) -> None:
        self.settings = settings
        self.concurrency = concurrency
        self._judges = judges
        self._parse = parse
        self._strategies = self._build_strategies(settings)
        # Groups begun beyond the calls in flight keep the judge busy while answers are recorded. A group that waits for
        # its call uses up its deadline, so with a deadline no group is begun early.
        self._ahead = 0 if settings.deadline is not None else min(_MOST_AHEAD, concurrency // 2)
        self._observers, self._watchers = observers_of(settings.records)
        self._lock = threading.RLock()
        self._begun = self._finished = 0
        self._owns_ledger = isinstance(ledger, str | Path)
        opened = open_ledger(ledger) if isinstance(ledger, str | Path) else ledger
        self._ledger = opened if isinstance(opened, WritableLedger) else None
        self._store: Store | None = None if isinstance(opened, WritableLedger) else opened or Unrecorded()

    def _build_strategies(self, settings: Settings) -> Strategies:
        """Build the judging strategies of a run; the study of judges replaces one of them, for comparison."""
        return build_strategies(settings, self._parse)

    @classmethod
    def of(cls, options: Mapping[str, Any] | str | Path) -> Self:
        """Build a judge from options by their flat names (docs/options.md), as flags and trainers give them, or from a
        file that ``calipers --config`` takes: its path, or its content.

        Raises ConfigError as the constructor does, and for an unknown name.
        """
        try:
            return cls(**arguments_of_settings(options))
        except ConfigError as error:
            raise ConfigError(f"{options}: {error}") if isinstance(options, str | Path) else error from None

    def __repr__(self) -> str:
        """Show the judges' names, without passwords, and how a group is asked about."""
        names, chosen = [judge.judge for judge in self.settings.judges], self.settings
        asked = {"protocol": chosen.protocol, "orders": chosen.orders, "samples": chosen.samples}
        usual = {"protocol": "listwise", "orders": 1, "samples": 1}
        shown = [f"{name}={value!r}" for name, value in asked.items() if value != usual[name]]
        return f"{type(self).__name__}({', '.join([repr(names[0] if len(names) == 1 else names), *shown])})"

    def __copy__(self) -> Self:
        return self  # its limits, its budget and its run stay one

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __getstate__(self) -> JudgeOptions:
        if self._options is None:
            raise TypeError("a Judge that replays a ledger cannot be pickled: replay it in the other process")
        if not isinstance(ledger := self._options.ledger, str | Path | None):
            raise TypeError(
                f"a Judge with an open {type(ledger).__name__} cannot be pickled: give ledger= a path or URL, which "
                "every process opens for itself"
            )
        return self._options

    def __setstate__(self, options: JudgeOptions) -> None:
        self._connect(options)

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
        return await self._judge(await pace.run(group_in_steps(group)))

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
        results = stream_groups(groups, self._judge, limit=limit, ordered=ordered, on_error=on_error)
        async with self._judges.around, aclosing(results):  # if the consumer stops early, no call stays in flight
            async for result in results:
                yield result

    async def _judge(self, group: TrajectoryGroup) -> GroupResult:
        """Judge a group: number it, hide what is not judged, render it, ask, assemble the result, and record it."""
        # Called in input order, and nothing is awaited before: a group's number in the ledger is its input position.
        store = store_of(self, group)
        number = await store.begin()
        with self._lock:
            self._begun = max(self._begun, number + 1)
            settings = self.settings
        settings = settings.for_group(number) if settings.windows else settings
        async with self._judges.around:
            pace = pace_of_loop()
            await pace.enter()
            # A replay needs no deadline: the failures that the deadline caused are in the ledger.
            started = asyncio.get_running_loop().time()
            ends = None if settings.deadline is None or store.replays else started + settings.deadline
            is_empty = False
            for member in group.trajectories:
                is_empty = is_empty or not member.messages
            excluded = results_of_empty(group) if is_empty else {}
            shown = without(group, excluded) if excluded else group
            view = await pace.run(_rendered_in_steps(shown, settings))
            hits = await pace.run(attacks_in_steps(view, context=len(shown.context)))
            attacks = attacks_by_id(view, hits) if hits else {}
            if attacks:
                rule, floor = settings.defence.on_attack, settings.reward.range[0]
                attackers = results_of_attackers(shown, attacks, rule=rule, floor=floor)
                excluded |= attackers
                if attackers:
                    shown = without(shown, attackers)
                    view = await pace.run(_rendered_in_steps(shown, settings))
            result, answered = await self._ask(group, shown, view, number, settings, ends)
            if excluded or attacks:
                result = restored(result, group, excluded, attacks)
            self._learn(answered)
            await store.finish(number, group, result)
            for seen in self._watchers:
                result = seen(group, result)
            return result

    async def _ask(
        self,
        group: TrajectoryGroup,
        shown: TrajectoryGroup,
        view: RenderedGroup,
        number: int,
        settings: Settings,
        ends: float | None,
    ) -> tuple[GroupResult, Sequence[Answered]]:
        """Ask the judge about the trajectories that are ``shown`` to it; return their result, and all answers.

        If there is nothing to compare, the judge is not asked and the reward is constant.
        """
        warnings = (*unused_content_warnings(group, settings), *settings.warnings)
        store, written = store_of(self), None
        answered: tuple[Answered, ...] = ()
        if settings.criteria.mode != "off" and is_judged(view, settings):
            from calipers.judging.task_criteria import settings_with_criteria  # noqa: PLC0415 - few judges write any

            written, settings = await settings_with_criteria(self._judges, shown, number, settings, store, ends)
            view = await pace_of_loop().run(_rendered_in_steps(shown, settings))
        grading = None if settings.question.grading is None else settings.grading
        if grading is not None:
            view, notes = with_gradable_rubrics(shown, view, grading)
            view = await with_rule_verdicts(shown, view, grading)
            warnings += notes
        if group.rubric is not None and settings.rubric not in ("", DEFAULT_RUBRIC, group.rubric):
            warnings += ("not used: the judge's rubric; the group brings its own",)
        why = None if written is None else written.why_unjudged(settings)
        if why is not None:
            status, reason = why
            result = uniform_result(shown, status, reason=reason, warnings=(*view.warnings, *warnings))
        elif not is_judged(view, settings):
            result = constant_result(shown, view, settings.reward, warnings=warnings)
        else:
            loop = QueryLoop(self._strategies, self._judges, self._observers, view, number, settings, store, ends)
            answered, scores = await loop.run()
            rewards, lost = self._strategies.rewards(scores, view)
            result = assemble_result(
                shown, view, answered, settings, scores=scores, rewards=rewards, warnings=(*lost, *warnings)
            )
        if written is not None:
            result, answered = written.added_to(result), (*written.answered, *answered)
        return result, answered

    def _learn(self, answered: Sequence[Answered]) -> None:
        """Record what calls revealed about the judges: for later runs, and the context windows for this one as well.

        The windows apply to groups that begin from now on. The changed settings are recorded, so that a replay has them
        from the beginning.
        """
        is_due, store = False, store_of(self)
        if not self._judges.all_answered:
            self._judges.count_outcomes(answered)
        for answer in answered:
            is_due = is_due or isinstance(answer.result, Failure) or answer.failed.count > 0
        with self._lock:
            self._finished += 1
            if is_due and not store.replays:
                revealed = [judge.window.reported for judge in self._judges]
                settings = self.settings.with_revealed_windows(self._begun, revealed)
                if settings is not self.settings:
                    self.settings = settings
                    store.change_settings(settings.to_dict())
            if is_due or self._finished < _OFTEN or self._finished % _THEN_EVERY == 0:
                for judge in self._judges:
                    judge.save_learned(store)

    async def check(self) -> Sequence[str]:
        """Check whether the judge can be reached; return warnings. Usually free.

        If the judge's server does not list its model, one small question is asked. Raises ConfigError, with the remedy,
        when the judge cannot be reached or refuses the question; for a panel with ``mode="fallback"``, only when no
        judge can be reached.
        """
        return await self._judges.check(all_needed=self.settings.panel.mode != "fallback")

    async def require_answering(self) -> None:
        """Raise ConfigError if every call so far was refused for good, as for a wrong model or key.

        Loops that train or write results await this after a batch of groups. It asks nothing: it raises if the judge
        never answered, and all calls of the batch ended in 401, 403, 404 or the like. Failures that may pass (429, 5xx,
        timeouts) never raise here. A panel raises if all its judges refuse; one is in a warning.
        """
        self._judges.require_answering()

    def close(self) -> None:
        """At the end of judging, close the ledger if this judge opened it. Connections close with their event loop."""
        if self._ledger is not None and self._owns_ledger:
            self._ledger.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for judge in self._judges:
            await judge.aclose()
        self.close()


def store_of(judge: Judge, first: TrajectoryGroup | None = None) -> Store:
    """Return the store that records a judge's answers. The first use begins the run, which ``first`` identifies."""
    return judge._store or judge._begin_run(first)  # noqa: SLF001 - of this module


async def answer_of(judge: Judge, request: JudgeRequest) -> Completion:
    """Return the first judge's answer to a ``request`` that is not about a group, within its limits, from the ledger if
    it is there. Raises BackendError.
    """
    store = store_of(judge)
    return await store.answer(await store.begin(), request, judge._judges[0].backend)  # noqa: SLF001 - of this module


def replaying_judge(settings: Settings, store: Store, *, parse: Parse | None = None) -> Judge:
    """Build a judge for judging again (a replay): as ``settings`` say, with answers from ``store`` only."""
    if settings.custom_parse and parse is None:
        raise ConfigError(
            "this run read replies with a parse= function: replay the run from Python, and give that function"
        )
    judge = Judge.__new__(Judge)
    judge._assemble(settings, recorded_judges(settings), store, parse, 1)  # noqa: SLF001 - another constructor
    return judge


def has_recorded_answers(judge: Judge) -> bool:
    """Whether judging finds recorded answers of any judge of ``judge`` in the ledger."""
    ledger, members = judge._ledger, judge._judges  # noqa: SLF001 - of this module
    return ledger is not None and any(has_answers(ledger, member.bare) for member in members)


def resumes_run(judge: Judge, group: TrajectoryGroup | None, first: Mapping[str, Any]) -> bool:
    """Whether a run of ``judge``, beginning with ``group`` if given, repeats that with this ``first`` result."""
    ledger, begins_with = judge._ledger, None if group is None else group_digest(group)  # noqa: SLF001 - of this module
    return ledger is not None and is_repeat(ledger, replace(judge.settings, begins_with=begins_with).to_dict(), first)


def _rendered_in_steps(group: TrajectoryGroup, settings: Settings) -> Steps[RenderedGroup]:
    """Render what the judge sees of a group before judging it, in steps."""
    question = settings.question
    return render_in_steps(
        group,
        rubric=settings.rubric,
        reasoning=question.reasoning,
        graded=question.grading is not None,
        artifacts=bool(settings.tools.names),
    )
