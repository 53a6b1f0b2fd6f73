"""A judge as a reward function of TRL: GRPOTrainer, RLOOTrainer, AsyncGRPOTrainer, and trainers derived from them.

``docs/trainers/trl.md`` describes how TRL handles a failed judgment. TRL is never imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Final

from calipers.config.arguments import require_callable, require_text, require_whole
from calipers.errors import ConfigError
from calipers.judging.api import check_or_continue
from calipers.judging.judge import Judge
from calipers.trainers.process import JudgeLike, build_judge, installed_version, require_sendable, run_coroutine
from calipers.trainers.rewards import (
    Weigh,
    rewards_or_none,
    row_weights,
    trajectory_rewards,
    undone_by_division,
    weights_without_effect,
)
from calipers.trainers.rows import step_fields, warn_unused_columns
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Stop, require_settings
from calipers.trainers.trl.ranks import Ranks, is_single_process
from calipers.trainers.trl.rows import (
    PROBLEM,
    USUAL_RUBRIC_COLUMN,
    Prompts,
    Row,
    completion_rows,
    dataset_column,
    groups_of_rows,
)
from calipers.trainers.trl.weights import WEIGHTS_FROM
from calipers.types import GroupResult, TrajectoryGroup, Usage

Version = tuple[int, int]

OLDEST: Final[Version] = (0, 18)
NEWEST: Final[Version] = (1, 16)
AWAITS: Final[Version] = (1, 10)
"""The first TRL that awaits reward functions which are objects."""

EXCLUDES_MISSING: Final[Version] = (1, 6)
"""The first TRL that excludes a row without any reward from its group's baseline; older versions count it as 0."""

PASSES_STATE: Final[Version] = (0, 20)
"""The first TRL whose trainers pass reward functions their state."""

_MIN_SCORED: Final = 2


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
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
    weigh: Weigh | None = None,
) -> Any:
    """Return a reward function for TRL's ``reward_funcs=`` that judges each group of ``num_generations`` completions.

    It is an AsyncReward, or, with ``blocking=True`` (for TRL before 1.10), a BlockingReward. It returns a reward in the
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
    trainer that ``weighted`` makes. The judge is shown the trainer's tools.

    Raises ConfigError, before the trainer is built, for invalid settings and a judge that cannot be reached. In the
    run, the function raises ConfigError for a judge that refuses every question of a batch and has never answered, and
    CalipersError when patience runs out. Both end the run in every process.
    """
    if num_generations is not None:
        require_whole(num_generations=num_generations)
        if num_generations < 2:
            raise ConfigError(f"num_generations={num_generations}: a judge compares completions: give two or more")
    require_text(rubric_column=rubric_column, reference_column=reference_column)
    if only_reward not in (None, True, False):
        raise ConfigError(f"only_reward={only_reward!r}: write True, False, or None to find out from the trainer")
    if not name.isidentifier():
        raise ConfigError(
            f"name={name!r}: it must be an identifier such as 'judge', as it names a function and metrics"
        )
    _check_version(installed_version("trl"), only_reward=only_reward, blocking=blocking)
    require_settings(patience=patience, stop=stop)
    require_callable(weigh=weigh)
    options = _Options(num_generations, only_reward, rubric_column, reference_column, patience, stop, weigh)
    reward = (BlockingReward if blocking else AsyncReward)(judge, options, name=name)
    if check:
        for warning in run_coroutine(check_or_continue(reward.judge)):
            warnings.warn(f"{name}: {warning}", stacklevel=2)
    return reward


@dataclass(frozen=True, slots=True)
class _Options:
    num_generations: int | None
    only_reward: bool | None
    rubric_column: str | None
    reference_column: str | None
    patience: Lasting
    stop: Stop | None
    weigh: Weigh | None


def _check_version(trl: Version | None, *, only_reward: bool | None, blocking: bool) -> None:
    if trl is None:
        return
    shown = ".".join(map(str, trl))
    if trl < OLDEST:
        raise ConfigError(f"TRL {shown} is too old for calipers' reward functions: install trl>=0.18.2")
    if trl < AWAITS and not blocking:
        raise ConfigError(f"TRL {shown} does not await this reward function: pass blocking=True, or install trl>=1.10")
    if trl < EXCLUDES_MISSING and only_reward:
        raise ConfigError(
            f"TRL {shown} counts a row without a reward as 0, even if there is no other reward function: remove "
            "only_reward=True, or install trl>=1.6"
        )
    if trl > NEWEST:
        newest = ".".join(map(str, NEWEST))
        warnings.warn(f"TRL {shown} is newer than {newest}, the newest that calipers was tested with", stacklevel=3)


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
        """Return the judge, built when first needed."""
        if self._judge is None:
            self._judge = build_judge(self._source)
        return self._judge

    @property
    def weighs(self) -> bool:
        """Whether this reward function gives weights of advantages: it was made with ``weigh=``."""
        return self._options.weigh is not None

    @property
    def run(self) -> JudgedRun:
        """Return the judge's training run. A group with a single scored row counts as lost."""
        if self._run is None:
            self._run = JudgedRun(
                self.judge,
                patience=self._options.patience,
                stop=self._options.stop,
                min_scored=_MIN_SCORED if self._is_only else None,
                consequence="so nothing is learned from it" if self._is_only else "so the judge gives it no reward",
            )
        return self._run

    def __getstate__(self) -> dict[str, Any]:
        require_sendable(self._source)
        return self.__dict__ | {"_judge": None, "_run": None, "_ranks": None}

    async def _rewards(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[float | None]:
        trainer = getattr(columns.get("log_metric"), "__self__", None)
        step = getattr(columns.get("trainer_state"), "global_step", None)
        mode = getattr(getattr(trainer, "model", None), "training", None)
        training = mode if isinstance(mode, bool) else None
        self._look_at(trainer, training)
        read = partial(_read, prompts, completions, columns, self._options)
        size = _group_size(trainer, training, self._options.num_generations)
        grouping = partial(
            groups_of_rows,
            size=size,
            default_rubric=self.judge.settings.standards,
            prompts=_prompts(columns, self._trl),
            label="" if step is None else f"step {step}, ",
            extra=step_fields(step, training=training),
        )
        # TRL gives all processes the same number of rows, because otherwise it could not combine their rewards. So all
        # of them decide alike whether to exchange rows.
        if len(prompts) % size == 0 or is_single_process():
            results, part = await self.run.score(grouping(read())), slice(None)
        else:
            results, part = await self._judged_jointly(read, grouping)
        rewarded = trajectory_rewards if self._is_only else rewards_or_none
        rewards = [reward for result in results for reward in rewarded(result)]
        self._weigh(results, part)
        self._log(columns, results, rewards, part)
        return rewards[part]

    def _look_at(self, trainer: Any, training: bool | None) -> None:  # noqa: FBT001 - private
        """Raise ConfigError if the trainer does not fit the settings; warn at the first batch of what has no effect."""
        options, functions = self._options, getattr(trainer, "reward_funcs", None)
        count = len(functions) if isinstance(functions, list) else None
        if options.only_reward and count is not None and count > 1:
            raise ConfigError(
                f"only_reward=True, but the trainer has {count} reward functions, and TRL adds 0 to the others' sum "
                "for a row without a score. Remove only_reward=True: then a whole group gets no reward"
            )
        if options.only_reward is None and self._run is None:
            self._is_only = count == 1 and self._trl is not None and self._trl >= EXCLUDES_MISSING
        first, self._warned = not self._warned, True
        if not first:
            return
        reward = self.judge.settings.reward
        # Beside another reward, the size of the judge's has an effect on what the trainer divides.
        notes = [_undone(trainer, count, reward.kind)]
        if self.weighs and training is not None and getattr(trainer, WEIGHTS_FROM, None) is not self:
            notes.append(
                "weigh= has no effect: the trainer does not multiply advantages by the function's weights. Make it "
                "with weighted(GRPOTrainer, reward)(...)"
            )
        for note in filter(None, notes):
            warnings.warn(f"{self.__name__}: {note}", stacklevel=2)

    def _weigh(self, results: Sequence[GroupResult], part: slice) -> None:
        weigh = self._options.weigh
        if weigh is None:
            return
        self.weights = row_weights(results, weigh)[part]
        # Groups that could not be judged whole tell nothing of the weights of others.
        if not self._knows_effect and any(result.status == "scored" for result in results):
            self._knows_effect = True
            if note := weights_without_effect(results, weigh):
                warnings.warn(f"{self.__name__}: {note}", stacklevel=2)

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
            for name, value in judge_metrics(results, rewards, alone=is_single_process()).items():
                log_metric(f"{self.__name__}/{name}", value)
        if callable(log_extra):
            rows = [row for result in results for row in result.trajectories]
            notes = [row.extra.get("metadata", {}).get(PROBLEM) or row.reason or row.explanation or "" for row in rows]
            log_extra(f"{self.__name__}_says", notes[part])


class AsyncReward(_Reward):
    """The reward function that TRL awaits, together with its other asynchronous reward functions."""

    async def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return a reward or None for each completion; ``columns`` are TRL's keyword arguments."""
        return await self._rewards(prompts, completions, columns)


class BlockingReward(_Reward):
    """The reward function that TRL calls and waits for. All its judge's calls share one event loop."""

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return a reward or None for each completion; ``columns`` are TRL's keyword arguments."""
        return run_coroutine(self._rewards(prompts, completions, columns))


def judge_metrics(results: Sequence[GroupResult], rewards: Sequence[float | None], *, alone: bool) -> dict[str, float]:
    """Return metrics of judged groups for TRL's log, finite numbers by name: shares of rows, and means per group.

    ``rewards`` are those that the trainer gets. Means that may be unknown are logged by a process that is ``alone``:
    TRL before 1.15 waits until all processes log the same names.
    """
    rows = [row for result in results for row in result.trajectories]
    usage = Usage.total([result.usage for result in results])
    count = len(results)
    metrics = {
        **{status: _share(status == row.status for row in rows) for status in ("scored", "abstained", "failed")},
        "no_signal": _share(reward is None for reward in rewards),
        "calls": sum(result.judge_calls for result in results) / count,
        "attempts": sum(result.attempts for result in results) / count,
        "unusable": sum(result.unusable for result in results) / count,
        "input_tokens": usage.input_tokens / count,
        "output_tokens": usage.output_tokens / count,
    }
    if not alone:
        return metrics
    errors = [row.stderr for row in rows if row.stderr is not None]
    known = [result.reliability.value for result in results if result.reliability.value is not None]
    metrics |= {name: fmean(values) for name, values in (("stderr", errors), ("reliability", known)) if values}
    if usage.cost_usd is not None and any(result.attempts or result.judge_calls for result in results):
        metrics["cost_usd"] = usage.cost_usd / count
    return metrics


def _share(flags: Iterable[bool]) -> float:
    return fmean(map(float, flags))


def _read(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], options: _Options
) -> list[Row]:
    warn_unused_columns(columns, used=(options.rubric_column, options.reference_column))
    return completion_rows(
        prompts,
        completions,
        columns,
        rubrics=dataset_column(columns, options.rubric_column, required=options.rubric_column != USUAL_RUBRIC_COLUMN),
        references=dataset_column(columns, options.reference_column, required=True),
    )


def _prompts(columns: Mapping[str, Any], trl: Version | None) -> Prompts:
    if columns.get("environments") is not None:  # they extend prompts when they start
        return "extended"
    # AsyncGRPOTrainer may have environments, but passes neither them nor a state. Neither does a loop of one's own.
    return "unknown" if columns.get("trainer_state") is None and (trl is None or trl >= PASSES_STATE) else "same"


def _group_size(trainer: Any, training: bool | None, num_generations: int | None) -> int:  # noqa: FBT001 - private
    """Return the number of completions in a group. Raises ConfigError if the trainer's is another, or unknown."""
    shown = getattr(trainer, "num_generations_eval" if training is False else "num_generations", None)
    if not isinstance(shown, int):
        if num_generations is None:
            raise ConfigError(
                "this trainer does not show its group size to reward functions: give reward_func "
                "num_generations=, the trainer's own"
            )
        return num_generations
    if num_generations is not None and training is not False and shown != num_generations:
        raise ConfigError(
            f"reward_func was given num_generations={num_generations}, but the trainer has {shown}: they must be equal"
        )
    return shown


def _undone(trainer: Any, functions: int | None, kind: str | None) -> str | None:
    """Return a warning if the trainer's division undoes this ``kind`` of rewards."""
    if getattr(trainer, "multi_objective_aggregation", None) == "normalize_then_sum":
        instead = "Set multi_objective_aggregation to 'sum_then_normalize', and scale_rewards to 'batch' or 'none'"
    elif str(getattr(trainer, "scale_rewards", None)) in {"group", "True"} and (functions or 1) == 1:
        instead = "Set scale_rewards to 'batch' or 'none', or weight advantages: weighted(GRPOTrainer, reward)"
    else:
        return None
    return undone_by_division(kind, instead=instead)
