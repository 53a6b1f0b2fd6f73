"""A judge as a reward function of TRL: GRPOTrainer, RLOOTrainer, AsyncGRPOTrainer, and trainers derived from them.

``docs/trainers/trl.md`` describes how TRL handles a failed judgment. TRL is never imported. Not responsible for reading
TRL's batches (``trl.rows``), or for rows of other processes (``trl.ranks``).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, Final

from calipers.config.arguments import require_callable, require_text, require_whole
from calipers.errors import ConfigError
from calipers.judging.api import check_or_continue
from calipers.judging.judge import Judge
from calipers.trainers.no_signal.rewards import rewards_or_none, trajectory_rewards
from calipers.trainers.no_signal.run import JudgedRun, Stop, require_patience
from calipers.trainers.process import blocking as synchronous
from calipers.trainers.process.engines import installed_version
from calipers.trainers.process.judges import JudgeLike, build_judge
from calipers.trainers.rollouts.dataset_rows import warn_unused_columns
from calipers.trainers.rollouts.steps import step_fields
from calipers.trainers.trl.around import PolicyTools, ReadArtifacts, around_rollouts
from calipers.trainers.trl.caller import LOGS_ANY_METRICS, Caller, check_version
from calipers.trainers.trl.metrics import judge_metrics, row_explanations
from calipers.trainers.trl.ranks import Ranks, is_single_process
from calipers.trainers.trl.rows import USUAL_RUBRIC_COLUMN, Row, completion_rows, dataset_column, groups_of_rows
from calipers.trainers.trl.scaffold import scaffolded_rollouts
from calipers.trainers.trl.weights import weighted
from calipers.trainers.weights import Weigh, reliability_weight, row_weights, weights_without_effect
from calipers.types import GroupResult, TrajectoryGroup

__all__ = ["AsyncReward", "BlockingReward", "reliability_weight", "reward_func", "scaffolded_rollouts", "weighted"]

_MIN_SCORED: Final = 2
"""The fewest rows with a reward that a group needs to be compared."""


def reward_func(  # noqa: PLR0913 - keywords
    judge: JudgeLike,
    *,
    num_generations: int | None = None,
    only_reward: bool | None = None,
    blocking: bool = False,
    rubric_column: str | None = USUAL_RUBRIC_COLUMN,
    reference_column: str | None = None,
    name: str = "judge",
    check: bool = True,
    patience: int | None = None,
    stop: Stop | None = None,
    weigh: Weigh | None = None,
    tools: PolicyTools | None = None,
    artifacts: ReadArtifacts | None = None,
) -> Any:
    """Return a reward function for TRL's ``reward_funcs=`` that judges each group of ``num_generations`` completions.

    It is an AsyncReward, or, with ``blocking=True`` (for TRL before 0.27), a BlockingReward. It returns a reward in the
    judge's ``reward_range``, or None, for each completion of the batch. A group that is split over processes is
    reunited and judged once. ``num_generations=None`` is the trainer's own, which GRPOTrainer and RLOOTrainer show from
    TRL 1.0 on. ``only_reward=True`` says that the trainer has no other reward function: then a row without a score gets
    None. Otherwise the whole group gets None, because TRL adds 0 for a None to the other functions' rewards.
    ``only_reward=None`` finds out from the trainer, and means False where that does not show. ``judge`` may be a
    function that makes a Judge, because AsyncGRPOTrainer pickles reward functions.

    The data set's ``rubric_column``, if there is one, holds the rubric of each prompt's group, which replaces the
    judge's rubric. ``reference_column`` holds a reference answer that is added to the rubric. ``name`` is the
    function's name in TRL's log. ``check`` tests whether the judge can be reached, without spending a token.
    ``patience`` and ``stop`` are those of ``run.JudgedRun``. ``weigh`` gives each judged group a weight, such as
    ``reliability_weight``; the function's ``weights`` then are those of the last batch's rows in this process, for the
    trainer that ``weighted`` makes. ``tools`` are the policy's, which the judge is shown; None means those of the
    trainer. ``artifacts`` returns what a rollout's environment was left with, for a judge with tools.

    Raises ConfigError, before the trainer is built, for invalid settings and a judge that cannot be reached. In the
    run, the function raises ConfigError for a judge that refuses every question of a batch and has never answered, and
    CalipersError when patience runs out. Both end the run in every process.
    """
    if num_generations is not None:
        require_whole(num_generations=num_generations)
    require_text(rubric_column=rubric_column, reference_column=reference_column)
    if only_reward not in (None, True, False):
        raise ConfigError(f"only_reward={only_reward!r}: write True, False, or None to find out from the trainer")
    if num_generations is not None and num_generations < 2:
        raise ConfigError(
            f"num_generations={num_generations}: a judge compares completions, so a group needs two or more"
        )
    if not name.isidentifier():
        raise ConfigError(
            f"name={name!r}: it must be an identifier such as 'judge', as it names a function and metrics"
        )
    check_version(installed_version("trl"), only_reward=only_reward, blocking=blocking)
    require_patience(patience, stop)
    require_callable(weigh=weigh, artifacts=artifacts)
    options = _Options(
        num_generations, only_reward, rubric_column, reference_column, patience, stop, weigh, tools, artifacts
    )
    reward = (BlockingReward if blocking else AsyncReward)(judge, options, name=name)
    if check:
        for warning in synchronous.run_coroutine(check_or_continue(reward.judge)):
            warnings.warn(f"{name}: {warning}", stacklevel=2)
    return reward


@dataclass(frozen=True, slots=True)
class _Options:
    num_generations: int | None
    only_reward: bool | None
    rubric_column: str | None
    reference_column: str | None
    patience: int | None
    stop: Stop | None
    weigh: Weigh | None
    tools: PolicyTools | None
    artifacts: ReadArtifacts | None


class _Reward:
    """What both kinds of TRL reward function share; each process builds its own judge."""

    def __init__(self, judge: JudgeLike, options: _Options, *, name: str) -> None:
        self.__name__ = name
        self._source = judge
        self._options = options
        self._trl = installed_version("trl")
        self._judge: Judge | None = None
        self._run: JudgedRun | None = None
        self._is_only = options.only_reward is True
        self._ranks: Ranks | None = None
        self.weights: Sequence[float] | None = None
        self._warned = False
        self._knows_effect = options.weigh is None
        self.judge  # noqa: B018 - built now, so that invalid settings are reported at once

    @property
    def judge(self) -> Judge:
        """Return the judge of the TRL reward function, built when first needed."""
        if self._judge is None:
            self._judge = build_judge(self._source)
        return self._judge

    @property
    def weighs(self) -> bool:
        """Whether this TRL reward function gives weights of advantages: it was made with ``weigh=``."""
        return self._options.weigh is not None

    @property
    def run(self) -> JudgedRun:
        """Return the judge's training run, started when first needed. A group with a single scored row counts as
        lost.
        """
        if self._run is None:
            options = self._options
            self._run = JudgedRun(
                self.judge,
                patience=options.patience,
                stop=options.stop,
                min_scored=_MIN_SCORED if self._is_only else None,
                consequence="so nothing is learned from it" if self._is_only else "so the judge gives it no reward",
            )
        return self._run

    def __getstate__(self) -> dict[str, Any]:
        if isinstance(self._source, Judge):
            raise ConfigError(
                "this reward function has to be sent to another process, but a Judge holds connections and cannot "
                "be: pass reward_func the judge's name, or a module's function that makes the Judge"
            )
        return self.__dict__ | {"_judge": None, "_run": None, "_ranks": None}

    async def _rewards(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[float | None]:
        options, caller = self._options, Caller.of(columns, trl=self._trl)
        if options.only_reward:
            caller.check_only_reward()
        elif options.only_reward is None and self._run is None:
            self._is_only = caller.is_only_reward(trl=self._trl)
        first, self._warned = not self._warned, True
        if first:
            reward = self.judge.settings.reward
            at = [judge.endpoint for judge in self.judge.settings.judges]
            weighs = options.weigh is not None
            for note in caller.warnings(self, kind=reward.kind, weighs=weighs, judges=at):
                warnings.warn(f"{self.__name__}: {note}", stacklevel=2)
        size = caller.size(options.num_generations)
        read = partial(_read, prompts, completions, columns, options)
        grouping = partial(
            groups_of_rows,
            size=size,
            default_rubric=self.judge.settings.standards,
            mixed_prompts=caller.changes_prompts,
            label="" if caller.step is None else f"step {caller.step}, ",
            extra=step_fields(caller.step, training=caller.training),
        )
        # TRL gives all processes the same number of rows, because otherwise it could not combine their rewards. So all
        # of them decide alike whether to exchange rows.
        if len(prompts) % size == 0 or is_single_process():
            results, part = await self.run.score(grouping(read())), slice(None)
        else:
            results, part = await self._judged_jointly(read, grouping)
        rewarded = trajectory_rewards if self._is_only else rewards_or_none
        rewards = [reward for result in results for reward in rewarded(result)]
        if options.weigh is not None:
            self.weights = row_weights(results, options.weigh)[part]
            # Groups that could not be judged whole tell nothing of the weights of others.
            if not self._knows_effect and any(one.status == "scored" for one in results):
                self._knows_effect = True
                if said := weights_without_effect(results, options.weigh):
                    warnings.warn(f"{self.__name__}: {said}", stacklevel=2)
        self._log(columns, results, rewards, part)
        return rewards[part]

    async def _judged_jointly(
        self, read: Callable[[], list[Row]], grouping: Callable[[Sequence[Row]], list[TrajectoryGroup]]
    ) -> tuple[list[GroupResult], slice]:
        """Return the results of all processes' groups, and which rows are this process's.

        A group is judged by the process that has its first row. An error in one process is raised in all of them,
        because the others would wait for it.
        """
        if self._ranks is None:
            self._ranks = Ranks()
        batch, part = await self._ranks.exchange_rows(read)
        groups = grouping(batch)
        size = len(groups[0].trajectories)
        mine = [group for number, group in enumerate(groups) if number * size in part]
        # Groups are in the order of their first rows, and so are the processes.
        judged = await self._ranks.exchange(self.run.score(mine))
        return [result for results in judged for result in results], slice(part.start, part.stop)

    def _log(
        self,
        columns: Mapping[str, Any],
        results: Sequence[GroupResult],
        rewards: Sequence[float | None],
        part: slice,
    ) -> None:
        """Log metrics of the judge, and its explanations as a column of TRL's table, if this TRL accepts them."""
        log_metric, log_extra = columns.get("log_metric"), columns.get("log_extra")
        if callable(log_metric) and results:
            same_names = not is_single_process() and (self._trl is None or self._trl < LOGS_ANY_METRICS)
            for name, value in judge_metrics(results, rewards, same_names=same_names).items():
                log_metric(f"{self.__name__}/{name}", value)
        if callable(log_extra):
            log_extra(f"{self.__name__}_says", row_explanations(results)[part])


class AsyncReward(_Reward):
    """The reward function that TRL awaits, together with its other asynchronous reward functions.

    It is an object, so that it can be pickled, with the attributes of a function, because TRL before 1.10 asks
    ``inspect`` whether it is an asynchronous function.
    """

    __defaults__: tuple[Any, ...] | None = None
    __kwdefaults__: dict[str, Any] | None = None

    async def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return a reward or None for each completion; ``columns`` are TRL's keyword arguments."""
        return await self._rewards(prompts, completions, columns)

    @property
    def __code__(self) -> CodeType:
        return type(self).__call__.__code__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__call__)


class BlockingReward(_Reward):
    """The reward function that TRL calls and waits for. All its judge's calls share one event loop."""

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return a reward or None for each completion; ``columns`` are TRL's keyword arguments."""
        return synchronous.run_coroutine(self._rewards(prompts, completions, columns))


def _read(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], options: _Options
) -> list[Row]:
    warn_unused_columns(columns, used=(options.rubric_column, options.reference_column))
    return completion_rows(
        prompts,
        completions,
        rubrics=dataset_column(columns, options.rubric_column, required=options.rubric_column != USUAL_RUBRIC_COLUMN),
        references=dataset_column(columns, options.reference_column, required=True),
        around=around_rollouts(columns, len(completions), tools=options.tools, artifacts=options.artifacts),
    )
