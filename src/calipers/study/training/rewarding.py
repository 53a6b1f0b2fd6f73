"""Rewards of a training run: rollouts through calipers' TRL adapter to a judge, and back.

Both engines use it, so that a run of the loop and one of TRL differ in nothing but the training. Not responsible for
what follows from rewards (``grpo``, TRL).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from calipers.judging.judge import Judge
from calipers.study.training.arrival import arrival_places
from calipers.study.training.auditing import Auditing
from calipers.study.training.judged import Judged
from calipers.study.training.seeds import ARRIVAL, generator_of
from calipers.study.training.settings import Arm, Missing
from calipers.study.training.simulated import Truth
from calipers.study.training.task import Features, Tokens
from calipers.study.training.task_text import texts_of
from calipers.trainers.trl import BlockingReward, reward_func
from calipers.trainers.weights import reliability_weight
from calipers.types import GroupResult, TrajectoryGroup


@dataclass(slots=True)
class Tally:
    """Counts what judging cost, as a watcher of the judge. All counts are since the start of the run.

    ``seconds`` is CPU time spent in judging. ``results`` are those of the groups since they were last cleared.
    """

    groups: int = 0
    calls: int = 0
    unscored: int = 0
    seconds: float = 0.0
    results: list[GroupResult] = field(default_factory=list)

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:  # noqa: ARG002 - the interface
        """Count the judged ``group``; a watcher of the judge returns the result unchanged."""
        self.groups += 1
        self.calls += result.judge_calls
        self.unscored += sum(one.reward is None for one in result.trajectories)
        self.results.append(result)
        return result

    def counts(self) -> dict[str, float]:
        """Return what judging cost so far, by name."""
        return {name: getattr(self, name) for name in _COUNTS}

    def go_on_from(self, counts: Mapping[str, float]) -> None:
        """Set what judging cost so far, as ``counts`` gave it."""
        for name in _COUNTS:
            setattr(self, name, counts[name])


_COUNTS: Final = ("groups", "calls", "unscored", "seconds")


class Rewarder:
    """A judge as a training run uses it: its rewards for the rollouts of a step, in the rollouts' order.

    ``truth`` is what a simulated judge knows. Rollouts arrive in the order that the arm describes, drawn from ``seed``
    and the step. ``auditing`` watches the run.
    """

    def __init__(
        self, judge: Judge, arm: Arm, truth: Truth, tally: Tally, seed: int, auditing: Auditing | None = None
    ) -> None:
        self.tally = tally
        self.auditing = auditing
        self._arm, self._truth, self._seed = arm, truth, seed
        self._size = arm.training.group_size
        self._adapter: BlockingReward = reward_func(
            judge, num_generations=self._size, only_reward=True, blocking=True, check=False
        )

    @property
    def stopped(self) -> bool:
        """Whether a stop rule ends the run."""
        return self.auditing is not None and self.auditing.stopped is not None

    def begin(self, step: int) -> None:
        """Begin the run, or go on with it, at ``step``."""
        if self.auditing is not None:
            self.auditing.watch.begin(step, again=True)

    def audited(self, step: int) -> dict[str, Any]:
        """Return what was measured of a step beside its own figures; nothing if the run is not watched."""
        return {} if self.auditing is None else self.auditing.figures(step)

    def evaluated(self, step: int, kl: float) -> None:
        """Take note of the KL divergence from the first policy before a training step."""
        if self.auditing is not None:
            self.auditing.watch.add_log(step, {"kl": kl})

    def rewards(self, step: int, prompts: Tokens, responses: Tokens, found: Features) -> Judged:
        """Return what the judge makes of a training step's ``responses``, rows in groups of neighbours.

        ``found`` are their features. Raises ConfigError for a judge that refuses every question.
        """
        return self.rewards_of_texts(step, texts_of(prompts), texts_of(responses), found, {})

    def rewards_of_texts(
        self,
        step: int,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        found: Features,
        columns: Mapping[str, Any],
    ) -> Judged:
        """Return what the judge makes of a training step's prompts and completions, as TRL passes them with columns."""
        began = time.process_time()
        arm = self._arm.table
        places = arrival_places(
            found.length,
            self._size,
            generator_of(self._seed, ARRIVAL, step),
            jitter=arm.jitter,
            correlation=arm.correlation,
        ).tolist()
        # Rows are numbered as they arrive: the adapter's ids are positions in the batch, from 1.
        right = {str(number): bool(found.right[row]) for number, row in enumerate(places, 1)}
        self._truth.look_at(right)
        if self.auditing is not None:
            self.auditing.look_at(right)
        # TRL counts updates, of which a step may have several; groups are named by the step.
        columns = {**columns, "trainer_state": SimpleNamespace(global_step=step)}
        self.tally.results.clear()
        collected = self._adapter([prompts[row] for row in places], [completions[row] for row in places], **columns)
        rewards: list[float | None] = [None] * len(collected)
        for row, reward in zip(places, collected, strict=True):
            rewards[row] = reward
        weights = self._weights(places) if arm.weights == "reliability" else None
        self.tally.seconds += time.process_time() - began
        if self.auditing is not None:
            self.auditing.step_done(step)
        unscored = rewards.count(None) / len(rewards)
        return Judged(_completed(rewards, self._size, arm.missing), weights, unscored)

    def _weights(self, places: Sequence[int]) -> list[float]:
        """Return the weight of each row's advantage: that of its group."""
        found = [1.0] * len(places)
        for result in self.tally.results:
            for one in result.trajectories:
                found[places[int(one.id) - 1]] = reliability_weight(result)
        return found


def _completed(rewards: Sequence[float | None], size: int, missing: Missing) -> list[float | None]:
    """Return the rewards with what a study's arm makes of missing ones."""
    if missing == "zero":
        return [0.0 if reward is None else reward for reward in rewards]
    if missing == "none":
        return list(rewards)
    kept: list[float | None] = []
    for start in range(0, len(rewards), size):
        group = rewards[start : start + size]
        kept += [None] * size if None in group else group
    return kept
