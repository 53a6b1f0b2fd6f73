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
from typing import Any, Literal, Self, TypeAlias, get_args

from calipers import registry
from calipers._version import __version__
from calipers.backends.connect import connect
from calipers.backends.limits.adaptive import MOST
from calipers.backends.limits.budget import Budget, Purse
from calipers.config.arguments import (
    require_above_zero,
    require_callable,
    require_one_of,
    require_params,
    require_presentations,
    require_range,
    require_whole,
)
from calipers.config.settings import Pairing, PanelMode, Resolution, RewardKind, RewardPlan, Settings
from calipers.errors import ConfigError, InputError
from calipers.guard.canary import CANARY_RATE, Canaried, Canaries, share_of_canaries
from calipers.guard.canary_alone import Probed
from calipers.interfaces import AnswerWatcher, JudgingProtocol, Store, Watcher
from calipers.judging.assembly import (
    aggregator,
    planner,
    require_asking,
    require_aspects,
    require_expected,
    require_panel,
    require_resolution,
    require_reward,
    settle,
)
from calipers.judging.assembly import reward as rewarding
from calipers.judging.attacks import find_attacks_of, with_attackers, without_attackers
from calipers.judging.learned import Memory, remembered
from calipers.judging.loop import Interrogation, Interrogator, Observer
from calipers.judging.members import (
    Judges,
    check_of,
    each,
    look_behind,
    members,
    require_different,
    require_other_family,
    seated,
    spent_on_probes,
)
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
from calipers.judging.standards import require_graded, standards, with_criteria
from calipers.judging.streaming import stream
from calipers.ledger import Ledger, Nobody, Recorder, Run, Unrecorded, group_digest, has_answers
from calipers.monitoring.monitor import together
from calipers.protocols.question import OutOfRange, Parse
from calipers.readers import as_group
from calipers.render import render
from calipers.rubric import Grading
from calipers.types import (
    GroupResult,
    OnAttack,
    RenderedGroup,
    Rubric,
    TrajectoryGroup,
    Usage,
)
from calipers.verifiers.criteria_rules import with_rules

_MOST_AHEAD = 32
"""Groups that are begun before there is a place for their call."""


class Judge:
    """A judge and how to ask it. Constructor arguments are the whole configuration; nothing is contacted until used.

    ``judge`` is a name (``"openai/gpt-5-mini"``, ``"vllm/qwen3"``, ``"embedded"``...) or a Backend of your own, which
    is used as it is, without retries. Several are a panel: with ``panel`` "all" (the default) each is asked everything,
    read on its own scale and weighted; with "cycle" each order goes to another judge, at the price of one; with
    "fallback" the next is asked about a group that the one before could not answer for. ``weights``, one a judge, are
    learned, or equal. A trajectory that fewer than ``quorum`` judges scored abstains. ``policy`` names the model under
    training: a judge of its family is refused, unless ``own_family``.

    ``resolve`` asks on while one more presentation would add to the group's reliability: True, or a tolerance (0.015),
    or ``{"tolerance", "most", "unresolved"}``: the most presentations, and whether a group that is all noise is kept as
    it is ("keep"), tied ("tie"), or left unscored ("abstain"). ``experience`` lets the ledger's earlier answers teach
    how noisy the judge is, what a place is worth to it, and what each judge of a panel counts. ``reward`` is how scores
    become rewards: a kind ("score", "win_rate", "rank", "min_max"), or a mapping with ``kind``, ``ties``, ``length``,
    ``blend`` and ``weight`` (docs/rewards.md).

    ``orders`` presentations are asked, ``samples`` times each, and averaged. A list shows ``at_once`` candidates at most,
    larger groups in parts that share two; ``pairing`` says which pairs are compared: all, each with a "pivot", or "swiss".
    ``expected`` reads scores as means over the digits the judge might have written, by its server's probabilities.
    ``rubric`` is for groups that bring none: text or, for ``protocol="checklist"``, criteria (a Rubric, its object, or
    the Path of its file), which are put and scored as ``grading`` says. ``deadline`` is in seconds a group, ``timeout`` in seconds a call.
    ``out_of_range`` says what becomes of a reply with scores off the scale: asked again (the default), or read after
    ``"rescale"``, ``"rank"`` or ``"clamp"``, which is recorded. ``parse`` is a reader of your own:
    ``(text, keys) -> {key: score from 0 to 100}``. ``ledger`` is a path or ``sqlite:///`` URL (or ``store`` a Store of
    your own). ``probe`` asks a server that the ledger does not know one short question, to see whether it applies the form
    it is asked for (None: where there is a ledger). ``params`` are body
    parameters passed on as they are. ``reasoning`` "shown" lets the judge see the agents' reasoning. ``absolute`` asks
    about a lone trajectory too. ``on_attack`` says what becomes of a trajectory that certainly addresses the judge: "report" it
    (and no more), "quarantine" it (not shown to the judge, abstained) or "floor" it (not shown; the low end of
    ``reward_range``). ``canaries`` "sampled" shows, in a share ``canary_rate`` of the questions, an answer that must not
    win, and does not use a verdict in which it does; "always" in all of them. Several ``base_url`` share the work, and
    the first names the judge in the ledger; with several judges, ``base_url``, ``api_key`` and ``price`` are mappings by
    judge name.
    ``budget`` is what may be spent, as in ``{"calls": 1000, "tokens": 2e6, "usd": 5.0}``; then groups end failed.
    ``price`` is (input, output) or (input, output, cached) in dollars per million tokens, where the price list does
    not know it. ``concurrency`` "auto" finds out what the server can take. ``hedge`` is the share of slow questions
    that are asked twice. ``debug`` prints every answer to stderr; ``observer`` is called with it. ``watchers``
    (a ``Monitor``, an ``Auditor``, a ``ReviewQueue``) see every finished group.

    ``context_window`` is the judge's, in tokens; without it, what its server tells. Candidates that do not fit are shown
    with their middles left out, which is said in the question and in the result's warnings.

    Safe to use from several event loops. Raises ConfigError, before any token is spent, for settings that cannot work.
    """

    def __init__(  # noqa: PLR0913 - the arguments are the configuration
        self,
        judge: Judges,
        *,
        base_url: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
        api_key: str | Mapping[str, str] | None = None,
        protocol: str = "listwise",
        orders: int = 1,
        samples: int = 1,
        rubric: str | Rubric | Mapping[str, Any] | Sequence[Any] | Path | None = None,
        grading: Grading | Mapping[str, Any] | None = None,
        panel: PanelMode | None = None,
        quorum: int = 1,
        weights: Sequence[float] | None = None,
        policy: str | None = None,
        own_family: bool = False,
        at_once: int | None = None,
        pairing: Pairing = "all",
        aspects: Mapping[str, float] | Sequence[str] | None = None,
        expected: bool = False,
        experience: bool = True,
        reward: RewardKind | Mapping[str, Any] | RewardPlan | None = None,
        resolve: bool | float | Mapping[str, Any] | Resolution | None = None,
        budget: Budget | Mapping[str, float] | None = None,
        price: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        deadline: float | None = None,
        timeout: float = 120.0,
        attempts: int = 5,
        concurrency: int | Literal["auto"] = 64,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        hedge: float | None = None,
        reasks: int = 2,
        out_of_range: OutOfRange = "reask",
        parse: Parse | None = None,
        seed: int = 0,
        max_tokens: int | None = 8192,
        context_window: int | None = None,
        params: Mapping[str, Any] | None = None,
        reasoning: Literal["hidden", "shown"] = "hidden",
        reward_range: tuple[float, float] = (0.0, 1.0),
        absolute: bool = False,
        on_attack: OnAttack = "report",
        canaries: Canaries = "off",
        canary_rate: float = CANARY_RATE,
        ledger: str | Path | Ledger | None = None,
        probe: bool | None = None,
        store: Store | None = None,
        debug: bool = False,
        observer: Observer | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        judges = members(judge)
        require_asking(protocol, pairing=pairing, at_once=at_once)
        require_panel(len(judges), panel=panel, quorum=quorum, weights=weights, presentations=orders * samples)
        require_other_family(policy, judges, allowed=own_family)
        in_flight = MOST if concurrency == "auto" else concurrency
        require_whole(orders=orders, samples=samples, attempts=attempts, concurrency=in_flight, seed=seed)
        require_presentations(orders, samples)
        require_whole(at_once=at_once, reasks=reasks, max_tokens=max_tokens, context_window=context_window)
        require_above_zero(
            orders=orders,
            samples=samples,
            deadline=deadline,
            timeout=timeout,
            attempts=attempts,
            concurrency=in_flight,
            max_tokens=max_tokens,
            context_window=context_window,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
        )
        require_one_of(get_args(OutOfRange), out_of_range=out_of_range)
        require_one_of(("hidden", "shown"), reasoning=reasoning)
        require_one_of(get_args(OnAttack), on_attack=on_attack)
        canary_share = share_of_canaries(canaries, canary_rate, protocol=protocol)
        require_callable(parse=parse, observer=observer)
        require_range(reward_range)
        require_params(params)
        checked = standards(rubric, grading, protocol=protocol, parse=parse, out_of_range=out_of_range, resolve=resolve)
        if absolute and protocol == "pairwise":
            raise ConfigError("absolute=True asks about a lone trajectory, and protocol='pairwise' needs two")
        if aspects is not None and canary_share:
            raise ConfigError("canaries are scored as a whole, and aspects= asks for parts: leave one of them out")
        if reasks < 0:
            raise ConfigError(f"reasks={reasks}: it counts follow-up questions, so it is 0 or more")
        if ledger is not None and store is not None:
            raise ConfigError("give ledger= or store=, not both")
        shared = None if budget is None else Purse(Budget.of(budget))
        self._seats = tuple(
            seated(
                one,
                connect(one, base_url=url, api_key=key, timeout=timeout),
                attempts=attempts,
                probe=ledger is not None if probe is None else probe,
                params=params or {},
                concurrency=concurrency,
                budget=shared,
                price=cost,
                requests_per_minute=requests_per_minute,
                tokens_per_minute=tokens_per_minute,
                hedge=hedge,
                max_tokens=max_tokens,
            )
            for one, url, key, cost in zip(
                judges,
                each("base_url", base_url, judges),
                each("api_key", api_key, judges),
                each("price", price, judges),
                strict=True,
            )
        )
        require_different(self._seats)
        self._refusals = Refusals(self._seats)
        self.settings = Settings(
            tuple(seat.named(context_window) for seat in self._seats),
            protocol=protocol,
            orders=orders,
            samples=samples,
            rubric=checked.rubric,
            grading=checked.grading,
            reasks=reasks,
            out_of_range=out_of_range,
            custom_parse=parse is not None,
            seed=seed,
            max_tokens=max_tokens,
            params=dict(params or {}),
            reasoning=reasoning,
            reward_range=reward_range,
            absolute=absolute,
            deadline=deadline,
            warnings=tuple(dict.fromkeys(note for seat in self._seats for note in seat.bare.warnings)),
            panel=panel or "all",
            quorum=quorum,
            weights=None if weights is None else tuple(weights),
            resolve=require_resolution(resolve),
            learns=experience,
            at_once=at_once,
            pairing=pairing,
            aspects=require_aspects(aspects, protocol),
            expected=require_expected(expected, protocol, self._seats, told_otherwise=(aspects, parse)),
            reward=require_reward(reward, protocol),
            on_attack=on_attack,
            canary_rate=canary_share,
        )
        self.concurrency = in_flight
        # While one group's answer is written down, another's question takes its place. Waiting for one counts against
        # a deadline, so with a deadline nobody waits.
        self._ahead = 0 if deadline is not None else min(_MOST_AHEAD, in_flight // 2)
        self._watchers = tuple(watchers)
        seen_by = [watcher.observe for watcher in self._watchers if isinstance(watcher, AnswerWatcher)]
        self._observer = together(observer if observer or not debug else print_answer, *seen_by)
        self._parse = parse
        self._setup()
        self._ledger = Ledger(ledger) if isinstance(ledger, (str, Path)) else ledger
        self._memory = Memory(self._seats)
        self._turn = threading.RLock()
        self._begun = 0
        self._owns_ledger = isinstance(ledger, (str, Path))
        self._store = store if store or self._ledger else Unrecorded()

    @classmethod
    def replaying(cls, settings: Settings, store: Store, *, parse: Parse | None = None) -> Judge:
        """A judge that asks as ``settings`` say and gets its answers from ``store`` only."""
        if settings.custom_parse and parse is None:
            raise ConfigError("this run was read by a parse= function of its own: replay it from Python, with it")
        judge = cls(
            [Nobody(one.endpoint, one.model, settings.warnings) for one in settings.judges],
            protocol=settings.protocol,
            orders=settings.orders,
            samples=settings.samples,
            rubric=settings.rubric,
            grading=settings.grading,
            reasks=settings.reasks,
            out_of_range=settings.out_of_range,
            parse=parse,
            seed=settings.seed,
            max_tokens=settings.max_tokens,
            params=settings.params,
            reasoning=settings.reasoning,
            reward_range=(settings.reward_range[0], settings.reward_range[1]),
            absolute=settings.absolute,
            deadline=settings.deadline,
            concurrency=1,
            store=store,
        )
        judge.settings = settings
        judge._setup()
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
        elif settings.expected:
            path = method.expected
        protocol: JudgingProtocol = registry.load(path)(
            max_tokens=settings.max_tokens, params=settings.params, **(graded or scored)
        )
        if settings.canary_rate:
            protocol = (Canaried if settings.protocol == "listwise" else Probed)(
                protocol, settings.canary_rate, settings.seed
            )
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
        return preparing(head, reasoning=how.reasoning, rubric=how.rubric, grading=how.grading)

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
        asked_about = without_attackers(rolled_out, attacks, settings.on_attack)
        if asked_about is not rolled_out:
            view = self._render(asked_about)
        view, ungradable = with_criteria(asked_about, view, settings.grading)
        if settings.grading is not None:
            view = await with_rules(asked_about, view, settings.grading)
        warnings = (*warnings, *ungradable, *overruled(group, settings))
        distinct, (low, high) = len(view.candidates), settings.reward_range
        if distinct == 0 or (distinct == 1 and not settings.absolute and not graded):
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
        result = with_attackers(result, rolled_out, attacks, rule=settings.on_attack, floor=low)
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
        return render(group, rubric=how.rubric, reasoning=how.reasoning, graded=how.grading is not None)

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
        if errors and (self.settings.panel != "fallback" or len(errors) == len(self._seats)):
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
