"""Small training studies for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.study.training.settings import Arm, TrainingStudy
from calipers.study.training.study_file import study_from
from calipers.study.training.task import Features, Tokens, draw_prompts, draw_responses, features

EARLY = {"vices": [{"kind": "Noise", "sd": 0.125}, {"kind": "PositionBias", "strength": 0.125}]}


def study(*arms: dict[str, Any], **content: Any) -> TrainingStudy:
    """A study of a few steps with the judges true and early; an arm without a judge has the early one."""
    base: dict[str, Any] = {
        "seeds": 2,
        "steps": 3,
        "window": 2,
        "policy": {"layers": 1, "width": 16, "heads": 2, "hidden": 16},
        "pretraining": {"steps": 4, "batch": 16},
        "training": {"prompts": 3, "group_size": 4},
        "evaluation": {"prompts": 10, "every": 2},
        "judges": {"true": {}, "early": EARLY},
    }
    rows = [{"name": f"arm {number}", "judge": "early", **arm} for number, arm in enumerate(arms, 1)]
    return study_from({**base, **content, "arms": rows}, source="test")


def arm(judge: dict[str, Any] | None = None, **row: Any) -> Arm:
    """The arm of a study with this judge."""
    return study({"judge": "own", **row}, judges={"own": judge or {}}).arms[0]


def batch(groups: int, size: int, seed: int = 0) -> tuple[Tokens, Tokens, Features]:
    """Prompts and responses in groups, and what is true of them."""
    generator = np.random.default_rng(seed)
    prompts = np.repeat(draw_prompts(groups, generator), size, axis=0)
    responses = draw_responses(prompts, generator)
    return prompts, responses, features(prompts, responses)
