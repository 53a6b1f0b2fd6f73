"""Small studies for tests."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from calipers.study.reading import TomlFile
from calipers.study.training.settings import Arm, Study
from calipers.study.training.study_file import StudyFile, study_of

EARLY = {"vices": [{"kind": "Noise", "sd": 0.125}, {"kind": "PositionBias", "strength": 0.125}]}
DEAD = {"vices": [{"kind": "Flaky", "timeout": 1.0}], "options": {"attempts": 1}}
NAME = "study.toml"


def content_of(*arms: dict[str, Any], **content: Any) -> dict[str, Any]:
    """The content of a study's file of a few steps; an arm without a judge has the early one."""
    base: dict[str, Any] = {
        "seeds": 2,
        "steps": 3,
        "window": 2,
        "policy": "closed-form",
        "gpt": {"layers": 1, "width": 16, "heads": 2, "hidden": 16},
        "pretraining": {"steps": 4, "batch": 16},
        "training": {"prompts": 3, "group_size": 4},
        "evaluation": {"prompts": 10, "every": 2},
        "judges": {"true": {}, "early": EARLY},
    }
    rows = [{"name": f"arm {number}", "judge": "early", **arm} for number, arm in enumerate(arms, 1)]
    return {**base, **content, "arms": rows}


def study(*arms: dict[str, Any], **content: Any) -> Study:
    """A study of a few steps with the judges true and early."""
    return study_of(TomlFile(NAME, "", content_of(*arms, **content)))


def study_file(*arms: dict[str, Any], **content: Any) -> StudyFile:
    """Such a study, as read from a file."""
    return StudyFile(study(*arms, **content), "seeds = 2\n", Path())


def study_of_text(text: str, folder: Path = Path()) -> Study:
    """The study in a TOML text."""
    return study_of(TomlFile(NAME, text, tomllib.loads(text)), folder)


def arm(judge: dict[str, Any] | None = None, **row: Any) -> Arm:
    """The arm of a study with this judge."""
    return study({"judge": "own", **row}, judges={"own": judge or {}}).arms[0]
