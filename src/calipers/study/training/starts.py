"""First policies: pre-trained once for each seed, kept in the study's folder, and looked at before training.

Not responsible for pre-training itself (``pretraining``). Needs PyTorch when a policy is made or loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calipers.errors import ConfigError
from calipers.study.json_text import why_no_json
from calipers.study.training.measures import response_figures
from calipers.study.training.seeds import EVALUATION, GATE, POLICY, generator_of, seed_of
from calipers.study.training.settings import Pretraining, Size
from calipers.study.training.task import draw_prompts, features
from calipers.types.encoding import finite_number, to_json

_GROUPS = 64
_GROUP_SIZE = 8


@dataclass(frozen=True, slots=True)
class Starts:
    """The first policies of a study, in ``folder``: one for each seed and ``how`` it is made."""

    folder: Path
    size: Size
    how: Pretraining

    def path(self, seed: int) -> Path:
        """Return the file of the first policy of a run with ``seed``."""
        own = seed if self.how.seed is None else self.how.seed
        key = json.dumps([asdict(self.size), asdict(self.how), own], sort_keys=True)
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.pt"

    def is_made(self, seed: int) -> bool:
        """Whether the first policy of a run with ``seed`` is there."""
        return self.path(seed).exists() and self.path(seed).with_suffix(".json").exists()

    def make(self, seed: int) -> None:
        """Pre-train the first policy of runs with ``seed``, and measure it, unless it is there."""
        import torch  # noqa: PLC0415 - heavy, and an extra

        from calipers.study.training.pretraining import pretrain  # noqa: PLC0415 - likewise

        if self.is_made(seed):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        own = seed if self.how.seed is None else self.how.seed
        parameters = pretrain(self.size, self.how, seed_of(own, POLICY))
        path = self.path(seed)
        part = path.with_suffix(f".{os.getpid()}.part")
        torch.save(parameters, part)
        part.replace(path)
        part.write_bytes(to_json(_facts(parameters, self.size, own)))
        part.replace(path.with_suffix(".json"))

    def load(self, seed: int) -> dict[str, Any]:
        """Return the parameters of the first policy of a run with ``seed``, which must be there."""
        import torch  # noqa: PLC0415 - heavy, and an extra

        found: dict[str, Any] = torch.load(self.path(seed), weights_only=True)
        return found

    def facts(self, seed: int) -> dict[str, float]:
        """Return what was measured of the first policy of a run with ``seed``: figures, and ``truth_spread``.

        Raises ConfigError for a damaged file.
        """
        path = self.path(seed).with_suffix(".json")
        try:
            found = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: {why_no_json(error)}; delete it, and the first policy is made again") from error
        if not isinstance(found, dict) or finite_number(found.get("truth_spread")) is None:
            raise ConfigError(f"{path}: it has no truth_spread; delete it, and the first policy is made again")
        return found


def _facts(parameters: Any, size: Size, seed: int) -> dict[str, float]:
    import torch  # noqa: PLC0415 - heavy, and an extra

    from calipers.study.training.policy import gumbel_noise, sample  # noqa: PLC0415 - likewise

    prompts = np.repeat(draw_prompts(_GROUPS, generator_of(seed, GATE)), _GROUP_SIZE, axis=0)
    noise = gumbel_noise(len(prompts), seed_of(seed, GATE))
    found = features(prompts, sample(parameters, size, torch.from_numpy(prompts), noise).numpy())
    right = found.right.reshape(-1, _GROUP_SIZE)
    return {**response_figures(found), "truth_spread": float((right.min(axis=1) != right.max(axis=1)).mean())}


def held_out_prompts(count: int, seed: int) -> Any:
    """Return the held-out prompts of a run: the same in all arms, and none of its training."""
    return draw_prompts(count, generator_of(seed, EVALUATION))
