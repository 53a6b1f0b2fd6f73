"""A judge as a reward function of TRL: GRPOTrainer, RLOOTrainer, AsyncGRPOTrainer, and trainers derived from them.

``docs/trainers/trl.md`` describes how TRL handles a failed judgment. TRL is never imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean
from typing import Any, Final

from calipers.config.arguments import require_text, require_whole
from calipers.errors import ConfigError
from calipers.judging.api import check_or_continue, require_none
from calipers.judging.judge import Judge
from calipers.trainers.process import JudgeLike, as_judge, installed_version, require_sendable, run_coroutine
from calipers.trainers.rewards import rewards_or_none, trajectory_rewards
from calipers.trainers.rows import UNREADABLE, USUAL_RUBRIC_COLUMN, step_fields, warn_unused_columns
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Row, Stop, judged, require_settings
from calipers.trainers.trl.ranks import Ranks, is_single_process
from calipers.trainers.trl.rows import DifferingPrompts, completion_rows, dataset_column, grouped_rows
from calipers.types import GroupResult, TrajectoryResult, Usage

Version = tuple[int, int]

OLDEST: Final[Version] = (0, 18)
AWAITS: Final[Version] = (1, 10)
"""The first TRL that awaits reward functions which are objects."""

EXCLUDES_MISSING: Final[Version] = (1, 6)
"""The first TRL that excludes a row without any reward from its group's baseline; older versions count it as 0."""

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
    **options: object,
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
    ``patience`` and ``stop`` are those of ``run.JudgedRun``. The judge is shown the trainer's tools.

    Raises ConfigError, before the trainer is built, for invalid settings and a judge that cannot be reached. In the
    run, the function raises ConfigError for a judge that refuses every question of a batch and has never answered, and
    CalipersError when patience runs out. Both end the run in every process.
    """
    require_none(options, reward_func)
    if num_generations is not None:
        require_whole(num_generations=num_generations)
        if num_generations < 2:
            raise ConfigError(f"num_generations={num_generations}: a judge compares completions: give two or more")
    require_text(rubric_column=rubric_column, reference_column=reference_column)
    if only_reward not in (None, True, False):
        raise ConfigError(f"only_reward={only_reward!r}: write True, False, or None to find out from the trainer")
    if not (isinstance(name, str) and name.isidentifier()):
        raise ConfigError(
            f"name={name!r}: it must be an identifier such as 'judge', as it names a function and metrics"
        )
    _check_version(installed_version("trl"), only_reward=only_reward, blocking=blocking)
    require_settings(patience=patience, stop=stop)
    kind = BlockingReward if blocking else AsyncReward
    reward = kind(judge, name, num_generations, only_reward, rubric_column, reference_column, patience, stop)
    if check:
        for warning in run_coroutine(check_or_continue(reward.judge)):
            warnings.warn(f"{name}: {warning}", stacklevel=2)
    return reward


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


@dataclass(eq=False)
class _Reward:
    """What both kinds of TRL reward function share; each process builds its own judge."""

    source: JudgeLike
    name: str
    num_generations: int | None
    only_reward: bool | None
    rubric_column: str | None
    reference_column: str | None
    patience: Lasting
    stop: Stop | None

    def __post_init__(self) -> None:
        self.__name__ = self.name
        self._run: JudgedRun | None = None
        self._ranks: Ranks | None = None
        self.judge  # noqa: B018 - built now, so that invalid settings are reported at once

    @cached_property
    def judge(self) -> Judge:
        """The judge, built when first needed."""
        return as_judge(self.source)

    def __getstate__(self) -> dict[str, Any]:
        require_sendable(self.source)
        return {name: value for name, value in self.__dict__.items() if name != "judge"} | {
            "_run": None,
            "_ranks": None,
        }

    async def _rewards(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[float | None]:
        trainer = getattr(columns.get("log_metric"), "__self__", None)
        step = getattr(columns.get("trainer_state"), "global_step", None)
        mode = getattr(getattr(trainer, "model", None), "training", None)
        training = mode if isinstance(mode, bool) else None
        run = self._run = self._run or self._begun(trainer)
        read = partial(self._rows, prompts, completions, columns)
        size = _group_size(trainer, training, self.num_generations)
        # AsyncGRPOTrainer may have environments, but passes neither them nor a state, and so does a loop of one's own.
        differing: DifferingPrompts = "warned" if columns.get("trainer_state") is None else "refused"
        group = partial(
            grouped_rows,
            size=size,
            differing=differing if columns.get("environments") is None else "allowed",
            label="" if step is None else f"step {step}, ",
            extra=step_fields(step, training=training),
        )
        # TRL gives all processes the same number of rows, because otherwise it could not combine their rewards. So all
        # of them decide alike whether to exchange rows.
        if len(prompts) % size == 0 or is_single_process():
            entries, part = await judged(run, group(read()), self._entries), slice(None)
        else:
            self._ranks = self._ranks or Ranks()
            entries, part = await self._ranks.judged(run, read, group, self._entries)
        self._log(columns, entries, part)
        return [reward for reward, *_ in entries[part]]

    def _begun(self, trainer: Any) -> JudgedRun:
        """Return the judge's training run, in which a group with a single scored row counts as lost.

        Raises ConfigError if the trainer has other reward functions, and this one was to be the only one.
        """
        functions = getattr(trainer, "reward_funcs", None)
        count = len(functions) if isinstance(functions, list) else None
        if self.only_reward and count is not None and count > 1:
            raise ConfigError(
                f"only_reward=True, but the trainer has {count} reward functions, and TRL adds 0 to the others' sum "
                "for a row without a score. Remove only_reward=True: then a whole group gets no reward"
            )
        if self.only_reward is None:
            self.only_reward = count == 1 and (installed_version("trl") or OLDEST) >= EXCLUDES_MISSING
        return JudgedRun(
            self.judge,
            patience=self.patience,
            stop=self.stop,
            min_scored=_MIN_SCORED if self.only_reward else None,
            consequence="so nothing is learned from it" if self.only_reward else "so the judge gives it no reward",
        )

    def _rows(self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]) -> list[Row]:
        rubric, reference = self.rubric_column, self.reference_column
        warn_unused_columns(columns, used=(rubric, reference))
        rubrics = dataset_column(columns, rubric, required=rubric != USUAL_RUBRIC_COLUMN)
        references = dataset_column(columns, reference, required=True)
        return completion_rows(prompts, completions, columns, rubrics=rubrics, references=references)

    def _entries(self, result: GroupResult) -> list[Entry]:
        rewards = (trajectory_rewards if self.only_reward else rewards_or_none)(result)
        return [(reward, row, result) for reward, row in zip(rewards, result.trajectories, strict=True)]

    def _log(self, columns: Mapping[str, Any], entries: Sequence[Entry], part: slice) -> None:
        """Log metrics of the judge, and its explanations as a column of TRL's table, if this TRL accepts them."""
        log_metric, log_extra = columns.get("log_metric"), columns.get("log_extra")
        if callable(log_metric) and entries:
            for name, value in judge_metrics(entries, alone=is_single_process()).items():
                log_metric(f"{self.__name__}/{name}", value)
        if callable(log_extra):
            rows = [row for _, row, _ in entries[part]]
            notes = [
                row.extra.get("metadata", {}).get(UNREADABLE) or row.reason or row.explanation or "" for row in rows
            ]
            log_extra(f"{self.__name__}_says", notes)


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


Entry = tuple[float | None, TrajectoryResult, GroupResult]
"""What TRL gets for a completion, what the judge said of it, and of its group."""


def judge_metrics(entries: Sequence[Entry], *, alone: bool) -> dict[str, float]:
    """Return metrics of judged groups for TRL's log, finite numbers by name: shares of rows, and means per group.

    Means that may be unknown are logged by a process that is ``alone``: TRL before 1.15 waits until all processes log
    the same names.
    """
    rows, results = [row for _, row, _ in entries], list({id(result): result for *_, result in entries}.values())
    usage = Usage.total([result.usage for result in results])
    count = len(results)
    metrics = {
        **{status: fmean(status == row.status for row in rows) for status in ("scored", "abstained", "failed")},
        "no_signal": fmean(reward is None for reward, *_ in entries),
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


def _group_size(trainer: Any, training: bool | None, num_generations: int | None) -> int:  # noqa: FBT001 - private
    """Return the number of completions in a group. Raises ConfigError if the trainer's is another, or unknown."""
    shown = getattr(trainer, "num_generations_eval" if training is False else "num_generations", None)
    if not isinstance(shown, int):
        if num_generations is None:
            raise ConfigError(
                "this trainer does not show its group size to reward functions: write reward_func(..., "
                "num_generations=N) with the same N as in the trainer"
            )
        return num_generations
    if num_generations is not None and training is not False and shown != num_generations:
        raise ConfigError(
            f"reward_func was given num_generations={num_generations}, but the trainer has {shown}: they must be equal"
        )
    return shown
