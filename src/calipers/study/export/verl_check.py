"""verl's own view of a run's settings: hydra composes them, and verl validates them, without a GPU.

Needs verl, which is imported here. Not responsible for calipers' view (``problems``).
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from calipers.errors import CalipersError
from calipers.study.export.overrides import InStudy, override

_CONFIG: Final = "verl.trainer.config"


def is_verl_here() -> bool:
    """Return whether verl is installed, so that its own loader can check a study's settings."""
    return find_spec("verl") is not None


def composed(settings: Mapping[str, Any]) -> Any:
    """Return verl's configuration with a run's settings, as its command line composes it. Raises hydra's errors."""
    from hydra import compose, initialize_config_module  # noqa: PLC0415 - only where verl is

    plain = {key: f"/study/{value.path}" if isinstance(value, InStudy) else value for key, value in settings.items()}
    with initialize_config_module(_CONFIG, version_base=None):
        return compose("ppo_trainer", overrides=[override(key, value) for key, value in plain.items()])


def problem_in_verl(settings: Mapping[str, Any]) -> str | None:
    """Return what verl has against a run's settings, in one line; None if it accepts them.

    verl's manager of agent loops with a judge checks them, too, as before a run.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _validate(composed(settings))
    except CalipersError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - hydra and verl raise many kinds, and any of them would end the run
        return f"verl: {type(error).__name__}: {' '.join(str(error).split())}"
    return None


def _validate(config: Any) -> None:
    from omegaconf import OmegaConf  # noqa: PLC0415 - only where verl is
    from verl.trainer.ppo.utils import need_critic, need_reference_policy  # noqa: PLC0415 - likewise
    from verl.utils.config import validate_config  # noqa: PLC0415 - likewise

    from calipers.study.watching.verl import watch_in_config  # noqa: PLC0415 - likewise
    from calipers.trainers.verl.agent_loop import require_groups, settings_in_config  # noqa: PLC0415 - likewise
    from calipers.trainers.verl.scaffold import (  # noqa: PLC0415 - likewise
        require_scaffold_outside_training,
        scaffold_in_config,
    )

    if find_spec("vllm") is None:
        # verl asks vLLM which ranks of adapters it takes; on a machine without vLLM, that stays open.
        config.actor_rollout_ref.model.lora_rank = 0
    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    # verl's runner does these two before anything else.
    config.transfer_queue.enable = bool(config.trainer.use_v1)
    OmegaConf.resolve(config)
    require_groups(config, settings_in_config(config))
    if scaffold_in_config(config) is not None:
        require_scaffold_outside_training(config)
    if OmegaConf.select(config, "watch") is not None:
        watch_in_config(config)
