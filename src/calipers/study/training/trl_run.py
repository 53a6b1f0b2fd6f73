"""One run of TRL's GRPOTrainer on the study's policy, rewarded through calipers' TRL adapter.

Rows, evaluations and figures are those of the loop. Checkpoints, reporters and devices are the Trainer's own. Not
responsible for rewards (``rewarding``). Needs TRL.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from calipers.errors import ConfigError
from calipers.study.training.gpt2 import parameters_of, save_gpt2, tokenizer
from calipers.study.training.grpo import advantages
from calipers.study.training.held_out import evaluate
from calipers.study.training.loop import step_prompts
from calipers.study.training.measures import step_figures
from calipers.study.training.policy import Parameters, gumbel_noise, sample
from calipers.study.training.rewarding import Rewarder
from calipers.study.training.run_folder import EVALUATIONS, STEPS, RunFolder
from calipers.study.training.seeds import SAMPLING, seed_of
from calipers.study.training.settings import Arm, TrainingStudy
from calipers.study.training.task import END, PAD, RESPONSE_LENGTH, Tokens, features
from calipers.study.training.task_text import texts_of
from calipers.trainers.trl import weighted

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # TRL calls rollout_func, which shared_noise uses, experimental

_CHECKPOINTS: Final = "checkpoints"
_FIRST: Final = "first_policy"


def _arguments(study: TrainingStudy, arm: Arm, seed: int, folder: Path) -> dict[str, Any]:
    """Return the arguments of GRPOConfig that follow from the study."""
    how = arm.training
    return {
        "output_dir": str(folder / _CHECKPOINTS),
        "max_steps": study.steps * how.updates,
        "num_generations": how.group_size,
        "per_device_train_batch_size": how.prompts * how.group_size,
        "gradient_accumulation_steps": 1,
        "steps_per_generation": 1,
        "num_iterations": how.updates,
        "max_completion_length": RESPONSE_LENGTH,
        "temperature": 1.0,
        "optim": "sgd" if how.optimizer == "sgd" else "adamw_torch_fused",
        "learning_rate": how.learning_rate,
        "lr_scheduler_type": "constant",
        "adam_beta1": 0.9,
        "adam_beta2": 0.95,
        "weight_decay": 0.0,
        "loss_type": how.loss,
        "scale_rewards": how.scale,
        "beta": how.kl,
        "epsilon": how.clip,
        "max_grad_norm": how.max_norm,
        "shuffle_dataset": False,
        "seed": seed,
        "logging_steps": 1,
        "save_strategy": "steps" if study.checkpoints else "no",
        "save_steps": how.updates,
        "save_total_limit": 2,  # a crash may leave the newest incomplete
    }


OWN_ARGUMENTS: Final = frozenset(_arguments(TrainingStudy(()), Arm.of_defaults(), 0, Path()))
"""Arguments of GRPOConfig that follow from the study, so that [trl] cannot set them."""


_DEFAULTS: Final[Mapping[str, Any]] = {
    "report_to": [],
    "bf16": False,
    "gradient_checkpointing": False,
    "disable_tqdm": True,
}
"""Arguments of GRPOConfig that differ from TRL's defaults, and that [trl] may change."""


class TrlRun:
    """A run of GRPOTrainer for ``arm`` and ``seed``, from the policy ``start``; it goes on where ``folder`` says."""

    def __init__(
        self, study: TrainingStudy, arm: Arm, seed: int, start: Parameters, rewarder: Rewarder, folder: RunFolder
    ) -> None:
        self._study, self._arm, self._seed, self._start = study, arm, seed, start
        self._rewarder, self._folder = rewarder, folder
        self._rows: dict[int, dict[str, Any]] = {}
        self.weights: Sequence[float] | None = None
        """The weights of the batch's advantages, for ``weighted``."""
        self.seconds = 0.0
        """CPU time of the run since it was last started, evaluation and judging included."""

    def run(self, after_step: Callable[[int], None] = lambda _: None) -> None:
        """Train to the last step, or until a stop rule is broken.

        ``after_step`` is called with the number of steps done.
        """
        import datasets  # noqa: PLC0415 - heavy, and an extra
        import trl  # noqa: PLC0415 - likewise

        began = time.process_time()
        arguments = _arguments(self._study, self._arm, self._seed, self._folder.path)
        arguments |= {"use_cpu": not torch.cuda.is_available(), **_DEFAULTS, **(self._study.trl or {})}
        prompts = [step_prompts(self._arm, self._seed, step) for step in range(self._study.steps)]
        size = self._arm.training.group_size
        rows = [text for of_step in prompts for text in texts_of(of_step[::size])]
        trainer = weighted(trl.GRPOTrainer, self)(
            model=save_gpt2(self._start, self._study.policy, self._folder.path / _FIRST),
            reward_funcs=[self._reward_function()],
            args=trl.GRPOConfig(**arguments),
            train_dataset=datasets.Dataset.from_dict({"prompt": rows}),
            processing_class=tokenizer(),
            callbacks=[self._callback(after_step)],
            rollout_func=self._shared_rollouts if self._study.shared_noise else None,
        )
        last = self._last_checkpoint()
        self._go_on_from(0 if last is None else _steps_done(last) // self._arm.training.updates)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
        done = trainer.state.global_step // self._arm.training.updates
        self._folder.keep(EVALUATIONS, done)
        self._evaluate(trainer.model, done)
        self.seconds = time.process_time() - began

    def _last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint of the run, if there is one."""
        found = (self._folder.path / _CHECKPOINTS).glob("checkpoint-*")
        newest = sorted(found, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
        return next((path for path in newest if _steps_done(path)), None)

    def _go_on_from(self, step: int) -> None:
        for file in (STEPS, EVALUATIONS):
            self._folder.keep(file, step)
        self._rewarder.begin(step)
        if rows := self._folder.rows(STEPS):
            self._rewarder.tally.groups, self._rewarder.tally.calls = rows[-1]["groups"], rows[-1]["calls"]

    def _reward_function(self) -> Callable[..., list[float | None]]:
        size, scale = self._arm.training.group_size, self._arm.training.scale

        def judge(prompts: Any, completions: Any, completion_ids: Any, **columns: Any) -> list[float | None]:
            step = columns["trainer_state"].global_step // self._arm.training.updates
            asked = step_prompts(self._arm, self._seed, step)
            if texts_of(asked) != list(prompts):
                raise ConfigError("TRL passed other prompts than those of its step: the study's order was changed")
            found = features(asked, _padded(completion_ids))
            judged = self._rewarder.rewards_of_texts(step, prompts, completions, found, columns)
            self.weights = judged.weights
            given = advantages(judged.rewards, size, scale, judged.weights)
            figures = step_figures(found, judged, given.numpy(), size)
            tally = self._rewarder.tally
            audited = self._rewarder.audited(step)
            self._rows[step] = {"step": step, **figures, **audited, "groups": tally.groups, "calls": tally.calls}
            for name in ("truth", "length", "overconfident"):
                columns["log_metric"](f"study/{name}", figures[name])
            return judged.rewards

        return judge

    def _shared_rollouts(self, _: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Return rollouts for TRL that the loop would sample from the same policy, for rollout_func."""
        step = trainer.state.global_step // self._arm.training.updates
        asked = step_prompts(self._arm, self._seed, step)
        now = parameters_of(trainer.model, self._study.policy)
        noise = gumbel_noise(len(asked), seed_of(self._seed, SAMPLING, step))
        responses = sample(now, self._study.policy, torch.from_numpy(asked), noise).numpy()
        return {"prompt_ids": asked.tolist(), "completion_ids": [_cut(row) for row in responses], "logprobs": None}

    def _callback(self, after_step: Callable[[int], None]) -> Any:
        from transformers import TrainerCallback  # noqa: PLC0415 - heavy, and an extra

        run, updates, every = self, self._arm.training.updates, self._study.evaluation.every

        class Recording(TrainerCallback):  # type: ignore[misc]  # untyped
            def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
                del args, control
                step, update = divmod(state.global_step, updates)
                if update == 0 and step % every == 0:
                    run._evaluate(model, step)

            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                del args
                if run._rewarder.stopped and state.global_step % updates == 0:
                    control.should_training_stop = True

            def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
                del args, control
                step = (state.global_step - 1) // updates
                row = run._rows.pop(step, None)
                if row is not None and "loss" in logs:
                    kept = {"loss": "loss", "norm": "grad_norm", "entropy": "entropy"}
                    row |= {name: float(logs[other]) for name, other in kept.items()}
                    run._folder.add(STEPS, row)
                    after_step(step + 1)

        return Recording()

    def _evaluate(self, model: Any, step: int) -> None:
        row = evaluate(parameters_of(model, self._study.policy), self._start, self._study, self._seed)
        self._rewarder.evaluated(step, row["kl"])
        tally = self._rewarder.tally
        self._folder.add(EVALUATIONS, {"step": step, **row, "groups": tally.groups, "calls": tally.calls})


def _padded(rows: Sequence[Sequence[int]]) -> Tokens:
    """Return TRL's completions as an array of RESPONSE_LENGTH columns."""
    found = np.full((len(rows), RESPONSE_LENGTH), PAD)
    for number, row in enumerate(rows):
        found[number, : len(row)] = row
    return found


def _cut(row: Tokens) -> list[int]:
    """Return a response up to its END, as TRL takes completions."""
    ends = np.flatnonzero(row == END)
    tokens: list[int] = row[: ends[0] + 1 if len(ends) else None].tolist()
    return tokens


def _steps_done(checkpoint: Path) -> int:
    """Return the number of updates before a checkpoint of the Trainer; 0 if a crash left it incomplete."""
    try:
        return int(json.loads((checkpoint / "trainer_state.json").read_bytes())["global_step"])
    except (OSError, ValueError, KeyError):
        return 0
