"""One run of the in-process GRPO loop: rollouts, rewards, an update; held-out prompts now and then.

Everything it draws comes from the run's seed, a purpose and the step, so it goes on from any step as if it had not
stopped. Not responsible for TRL's trainer (``trl_run``). Needs PyTorch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from calipers.study.training.grpo import Learner, advantages
from calipers.study.training.held_out import evaluate
from calipers.study.training.measures import step_figures
from calipers.study.training.policy import Parameters, gumbel_noise, sample
from calipers.study.training.rewarding import Rewarder
from calipers.study.training.run_folder import EVALUATIONS, STEPS, RunFolder
from calipers.study.training.seeds import PROMPTS, SAMPLING, generator_of, seed_of
from calipers.study.training.settings import Arm, TrainingStudy
from calipers.study.training.task import Tokens, draw_prompts, features


def step_prompts(arm: Arm, seed: int, step: int) -> Tokens:
    """Return the prompts of a run's step, each as often as its group is large: (rollouts, PROMPT_LENGTH)."""
    prompts = draw_prompts(arm.training.prompts, generator_of(seed, PROMPTS, step))
    return np.repeat(prompts, arm.training.group_size, axis=0)


class Loop:
    """A run of the loop for ``arm`` and ``seed``, from the policy ``start``; it goes on where ``folder`` says."""

    def __init__(
        self, study: TrainingStudy, arm: Arm, seed: int, start: Parameters, rewarder: Rewarder, folder: RunFolder
    ) -> None:
        self._study, self._arm, self._seed = study, arm, seed
        self._rewarder, self._folder = rewarder, folder
        self._learner = Learner(start, study.policy, arm.training)
        self._step = 0
        self._seconds = 0.0
        state = folder.load_state()
        if state is not None:
            self._restore(state)
        for file in (STEPS, EVALUATIONS):
            folder.keep(file, self._step)
        rewarder.begin(self._step)

    def run(self, after_step: Callable[[int], None] = lambda _: None) -> None:
        """Train to the last step, or until a stop rule is broken.

        ``after_step`` is called with the number of steps done.
        """
        every = self._study.evaluation.every
        while self._step < self._study.steps and not self._rewarder.stopped:
            began = time.process_time()
            if self._step % every == 0:
                self._evaluate()
            row = self._one_step()
            self._seconds += time.process_time() - began
            self._folder.add(STEPS, row)
            self._step += 1
            if self._study.checkpoints:
                self._folder.save_state(self._state())
            after_step(self._step)
        self._folder.keep(EVALUATIONS, self._step)
        self._evaluate()

    @property
    def seconds(self) -> float:
        """CPU time of the run's steps, evaluation and judging included."""
        return self._seconds

    def _one_step(self) -> dict[str, Any]:
        arm, size = self._arm, self._arm.training.group_size
        prompts = step_prompts(arm, self._seed, self._step)
        asked = torch.from_numpy(prompts)
        noise = gumbel_noise(len(prompts), seed_of(self._seed, SAMPLING, self._step))
        responses = sample(self._learner.parameters, self._study.policy, asked, noise)
        found = features(prompts, responses.numpy())
        judged = self._rewarder.rewards(self._step, prompts, responses.numpy(), found)
        given = advantages(judged.rewards, size, arm.training.scale, judged.weights)
        figures = step_figures(found, judged, given.numpy(), size)
        did = self._learner.step(asked, responses, given)
        tally = self._rewarder.tally
        audited = self._rewarder.audited(self._step)
        return {"step": self._step, **figures, **audited, **asdict(did), "groups": tally.groups, "calls": tally.calls}

    def _evaluate(self) -> None:
        row = evaluate(self._learner.parameters, self._learner.initial, self._study, self._seed)
        self._rewarder.evaluated(self._step, row["kl"])
        tally = self._rewarder.tally
        self._folder.add(EVALUATIONS, {"step": self._step, **row, "groups": tally.groups, "calls": tally.calls})

    def _state(self) -> dict[str, Any]:
        return {
            "step": self._step,
            "parameters": {name: value.detach() for name, value in self._learner.parameters.items()},
            "optimizer": self._learner.optimizer.state_dict(),
            "tally": self._rewarder.tally.counts(),
            "seconds": self._seconds,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._step, self._seconds = state["step"], state["seconds"]
        with torch.no_grad():
            for name, value in self._learner.parameters.items():
                value.copy_(state["parameters"][name])
        self._learner.optimizer.load_state_dict(state["optimizer"])
        self._rewarder.tally.go_on_from(state["tally"])
