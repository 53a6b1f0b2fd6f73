"""A callback for TRL's trainers (GRPOTrainer, RLOOTrainer) that watches the run.

Groups that the judge sees within a training step are trained on; those that it sees between two steps are TRL's
evaluation of ``eval_dataset``, the held-out prompts. In a run of several processes every process gets the rows of all,
so that all decide alike whether the run ends. Needs transformers; TRL is never imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from calipers.errors import ConfigError
from calipers.study.watching.rows import Split, WatchedGroup
from calipers.trainers.trl.ranks import is_single_process

if TYPE_CHECKING:
    from calipers.study.watching.watch import Watch

_LOGGED: Final = {"kl": "kl", "entropy": "entropy", "completions/mean_length": "length"}
"""Names in TRL's log, and the curves' names for them."""


def watch_callback(watch: Watch) -> Any:
    """Return a TrainerCallback with which ``watch`` watches a run. Raises ConfigError without transformers."""
    try:
        from transformers import TrainerCallback  # noqa: PLC0415 - heavy, and an extra
    except ImportError:
        raise ConfigError("watching a run of TRL needs transformers: pip install 'calipers[trl]'") from None

    class WatchCallback(TrainerCallback):  # type: ignore[misc]  # untyped
        is_begun = False

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            del args, control
            _begin(watch, state)
            self.is_begun = True

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            del args
            _end_of(watch, state, control, step=state.global_step - 1, split="train")
            return control

        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            del args
            if self.is_begun:
                _end_of(watch, state, control, step=state.global_step, split="held_out")
            else:
                watch.forget()  # an evaluation before training, of which it is not known from which step that goes on
            return control

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            del args, control
            found = {own: float(logs[name]) for name, own in _LOGGED.items() if (logs or {}).get(name) is not None}
            if found:
                watch.add_log(state.global_step - 1, found, write=state.is_world_process_zero)

    return WatchCallback()


def _begin(watch: Watch, state: Any) -> None:
    """Begin to watch, first in the process that writes, so that the others read what it has kept."""
    if state.is_world_process_zero:
        watch.begin(state.global_step)
    if not is_single_process():
        _wait_for_all()
        if not state.is_world_process_zero:
            watch.restore()


def _end_of(watch: Watch, state: Any, control: Any, *, step: int, split: Split) -> None:
    watch.add(_of_all_processes(watch.measure(step, split)), write=state.is_world_process_zero)
    if watch.stopped is not None and not control.should_training_stop:
        control.should_training_stop = True
        control.should_save = True


def _of_all_processes(rows: list[WatchedGroup]) -> list[WatchedGroup]:
    if is_single_process():
        return rows
    from accelerate.utils import gather_object  # noqa: PLC0415 - TRL brings it

    found: list[WatchedGroup] = gather_object(rows)
    return found


def _wait_for_all() -> None:
    from accelerate import PartialState  # noqa: PLC0415 - TRL brings it

    PartialState().wait_for_everyone()
