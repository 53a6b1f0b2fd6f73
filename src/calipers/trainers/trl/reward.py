"""A judge as a reward function of TRL: GRPOTrainer, RLOOTrainer, AsyncGRPOTrainer, and what is built on them.

What a failed judgment becomes there is described in ``docs/trainers/trl.md``. TRL is never imported. Not responsible for
how TRL's batches are read (``trl_rows``), nor for rows that other processes hold (``trl_ranks``).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, Final, Literal, TypeAlias, cast, overload

from calipers.config.arguments import require_text, require_whole
from calipers.errors import CalipersError, ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.trainers.no_signal import rewards as no_signal
from calipers.trainers.no_signal.run import JudgedRun, Stop, require_patience
from calipers.trainers.process import blocking as synchronous
from calipers.trainers.rollouts.dataset_rows import warn_unused_columns
from calipers.trainers.trl import caller as trl_caller
from calipers.trainers.trl.caller import Caller
from calipers.trainers.trl.metrics import metrics, notes
from calipers.trainers.trl.ranks import Ranks, is_single_process
from calipers.trainers.trl.rows import Row, column_of, grouped, rows
from calipers.trainers.trl.scaffold import scaffolded_rollouts
from calipers.types import GroupResult, TrajectoryGroup

__all__ = ["AsyncReward", "BlockingReward", "reward_func", "scaffolded_rollouts"]

_LEAST: Final = 2
"""Rows with a reward that can be compared with one another."""

JudgeSource: TypeAlias = str | Backend | Sequence[str | Backend] | Judge | Callable[[], Judge]
"""A judge's name or a Backend, several of them, a Judge, or a function that makes a Judge where it is needed."""


@overload
def reward_func(
    judge: JudgeSource,
    *,
    num_generations: int,
    only_reward: bool = False,
    blocking: Literal[False] = False,
    rubric_column: str | None = "rubric",
    reference_column: str | None = None,
    name: str = "judge",
    check: bool = True,
    patience: int | None = None,
    stop: Stop | None = None,
) -> AsyncReward: ...


@overload
def reward_func(
    judge: JudgeSource,
    *,
    num_generations: int,
    only_reward: bool = False,
    blocking: Literal[True],
    rubric_column: str | None = "rubric",
    reference_column: str | None = None,
    name: str = "judge",
    check: bool = True,
    patience: int | None = None,
    stop: Stop | None = None,
) -> BlockingReward: ...


@overload
def reward_func(
    judge: JudgeSource,
    *,
    num_generations: int,
    only_reward: bool = False,
    blocking: bool,
    rubric_column: str | None = "rubric",
    reference_column: str | None = None,
    name: str = "judge",
    check: bool = True,
    patience: int | None = None,
    stop: Stop | None = None,
) -> AsyncReward | BlockingReward: ...


def reward_func(  # noqa: PLR0913 - they are keywords
    judge: JudgeSource,
    *,
    num_generations: int,
    only_reward: bool = False,
    blocking: bool = False,
    rubric_column: str | None = "rubric",
    reference_column: str | None = None,
    name: str = "judge",
    check: bool = True,
    patience: int | None = None,
    stop: Stop | None = None,
) -> AsyncReward | BlockingReward:
    """A reward function for TRL's ``reward_funcs=``: it judges each group of ``num_generations`` completions as a whole.

    It returns a reward in the judge's ``reward_range`` or None for each completion of the batch. A group that is split
    over processes is put together and judged once. What stays without a score is None: the row alone with
    ``only_reward=True``, which says that the trainer has no other reward function; else its whole group, because TRL
    adds nothing for a None, and that is a 0. ``blocking=True`` gives a synchronous function, which TRL before 0.27
    needs. ``judge`` may be a function that makes a Judge: for AsyncGRPOTrainer, which pickles reward functions.

    A data set's ``rubric_column``, if it has one, holds the rubric by which a prompt's group is graded, in place of the
    judge's; its ``reference_column`` a reference that is shown to the judge besides. ``name`` is what TRL logs it by.
    With ``check`` the judge is asked, without spending a token, whether it is there. ``patience`` and ``stop`` are those of
    ``run.JudgedRun``.

    Raises ConfigError, before the trainer is built, for settings that cannot work and a judge that cannot be reached. The
    function itself raises, which ends the run in every process: ConfigError for a judge that refuses every question of a
    batch and never answered, CalipersError when patience is at its end.
    """
    require_whole(num_generations=num_generations)
    require_text(rubric_column=rubric_column, reference_column=reference_column)
    if num_generations < 2:
        raise ConfigError(
            f"num_generations={num_generations}: a judge compares, so a group needs two completions or more"
        )
    if not name.isidentifier():
        raise ConfigError(f"name={name!r}: it must be a name such as 'judge', for it is a function's and a metric's")
    trl_caller.check_version(trl_caller.installed(), only_reward=only_reward, blocking=blocking)
    require_patience(patience, stop)
    options = _Options(num_generations, only_reward, rubric_column, reference_column, patience, stop)
    reward = (BlockingReward if blocking else AsyncReward)(judge, options, name=name)
    if check:
        for warning in synchronous.run(_reachable(reward.judge)):
            warnings.warn(f"{name}: {warning}", stacklevel=2)
    return reward


@dataclass(frozen=True, slots=True)
class _Options:
    num_generations: int
    only_reward: bool
    rubric_column: str | None
    reference_column: str | None
    patience: int | None
    stop: Stop | None


class _Reward:
    """What both kinds of reward function do; each process builds the judge for itself."""

    def __init__(self, judge: JudgeSource, options: _Options, *, name: str) -> None:
        self.__name__ = name
        self._source = judge
        self._options = options
        self._trl = trl_caller.installed()
        self._run: JudgedRun | None = None
        self._ranks: Ranks | None = None
        self.judge  # noqa: B018 - built now, so that settings that cannot work are known at once

    @property
    def judge(self) -> Judge:
        """The judge that is asked, built when first needed."""
        return self.run.judge

    @property
    def run(self) -> JudgedRun:
        """The judge at work, built when first needed. One row of a group teaches as little as none."""
        if self._run is None:
            options = self._options
            self._run = JudgedRun(
                _built(self._source),
                patience=options.patience,
                stop=options.stop,
                needed=_LEAST if options.only_reward else None,
                then="so nothing is learned from it" if options.only_reward else "so the judge gives it no reward",
            )
        return self._run

    def __getstate__(self) -> dict[str, Any]:
        if isinstance(self._source, Judge):
            raise ConfigError(
                "this reward function has to be sent to another process, and a Judge with its connections cannot be: "
                "give reward_func the judge's name, or a function of a module of yours that makes the Judge"
            )
        return self.__dict__ | {"_run": None, "_ranks": None}

    async def _rewards(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[float | None]:
        options, caller = self._options, Caller.of(columns, trl=self._trl)
        if options.only_reward:
            caller.check_only_reward()
        size = caller.size(options.num_generations)
        reading = partial(_read, prompts, completions, columns, options)
        grouping = partial(
            grouped,
            size=size,
            default_rubric=self.judge.settings.standards,
            mixed_prompts=caller.changes_prompts,
            label="" if caller.step is None else f"step {caller.step}, ",
        )
        # TRL gives every process as many rows as every other, or it could not put their rewards together: so all of them
        # decide alike here whether they have to tell each other.
        if len(prompts) % size == 0 or is_single_process():
            results, part = await self._judged(grouping(reading())), slice(None)
        else:
            results, part = await self._judged_jointly(reading, grouping)
        signal = no_signal.rows if options.only_reward else no_signal.whole
        given = [reward for result in results for reward in signal(result)]
        self._log(columns, results, given, part)
        return given[part]

    async def _judged(self, groups: Sequence[TrajectoryGroup]) -> list[GroupResult]:
        return await self.run.score(groups)

    async def _judged_jointly(
        self, reading: Callable[[], list[Row]], grouping: Callable[[Sequence[Row]], list[TrajectoryGroup]]
    ) -> tuple[list[GroupResult], slice]:
        """The results of all processes' groups, each judged where its first row is, and which rows are this process's.

        What goes wrong in one process is told to the others, which would wait for it, and ends them all.
        """
        if self._ranks is None:
            self._ranks = Ranks()
        batch: list[Row] | CalipersError
        try:
            batch = reading()
        except CalipersError as error:
            batch = error
        shares = await self._ranks.share(batch)
        start = sum(map(len, shares[: self._ranks.number]))
        part = slice(start, start + len(shares[self._ranks.number]))
        groups = grouping([row for share in shares for row in share])
        size = len(groups[0].trajectories)
        mine = [place for place in range(len(groups)) if part.start <= place * size < part.stop]
        judged: dict[int, GroupResult] | CalipersError
        try:
            judged = dict(zip(mine, await self._judged([groups[place] for place in mine]), strict=True))
        except CalipersError as error:
            judged = error
        everyones = {place: result for theirs in await self._ranks.share(judged) for place, result in theirs.items()}
        return [everyones[place] for place in range(len(groups))], part

    def _log(
        self,
        columns: Mapping[str, Any],
        results: Sequence[GroupResult],
        given: Sequence[float | None],
        part: slice,
    ) -> None:
        """The judge's health as metrics, and what it said as a column of TRL's table, where this TRL takes them."""
        log_metric, log_extra = columns.get("log_metric"), columns.get("log_extra")
        if callable(log_metric) and results:
            all_alike = not is_single_process() and (self._trl is None or self._trl < trl_caller.UNITES)
            for name, value in metrics(results, given, all_alike=all_alike).items():
                log_metric(f"{self.__name__}/{name}", value)
        if callable(log_extra):
            log_extra(f"{self.__name__}_says", notes(results)[part])


class AsyncReward(_Reward):
    """The reward function that TRL awaits, beside its other asynchronous ones.

    An object, so that it can be pickled; with what makes a function a function, because TRL before 1.10 asks ``inspect``
    whether it is an asynchronous one.
    """

    __defaults__: tuple[Any, ...] | None = None
    __kwdefaults__: dict[str, Any] | None = None

    async def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """A reward or None for each completion; ``columns`` are TRL's keyword arguments."""
        return await self._rewards(prompts, completions, columns)

    @property
    def __code__(self) -> CodeType:
        return type(self).__call__.__code__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__call__)


class BlockingReward(_Reward):
    """The reward function that TRL calls, and waits for; its judge's calls share one event loop for the whole run."""

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """A reward or None for each completion; ``columns`` are TRL's keyword arguments."""
        return synchronous.run(self._rewards(prompts, completions, columns))


def _read(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], options: _Options
) -> list[Row]:
    warn_unused_columns(columns, used=(options.rubric_column, options.reference_column))
    return rows(
        prompts,
        completions,
        rubrics=column_of(columns, options.rubric_column, required=False),
        references=column_of(columns, options.reference_column, required=True),
    )


def _built(source: JudgeSource) -> Judge:
    if isinstance(source, str | list | tuple) or callable(getattr(source, "complete", None)):
        return Judge(cast("str | Backend | Sequence[str | Backend]", source))
    made = source() if callable(source) else source
    if not isinstance(made, Judge):
        what = f"it made a {type(made).__name__}" if callable(source) else f"it is a {type(source).__name__}"
        raise ConfigError(
            "judge must be a judge's name such as 'openai/gpt-5-mini', a Backend, a calipers.Judge, or a function that "
            f"makes a calipers.Judge; {what}"
        )
    return made


async def _reachable(judge: Judge) -> Sequence[str]:
    try:
        return await judge.check()
    except ConfigError as error:
        if not judge.has_recorded_answers():
            raise
        return [f"{error} Going on with the answers the ledger has."]
