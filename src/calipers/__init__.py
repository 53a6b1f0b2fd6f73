"""LLM judges' opinions as rewards a GRPO trainer can trust.

::

    import calipers

    result = await calipers.score_group(group, judge="openai/gpt-5-mini")
    result.rewards        # [0.82, 0.35, None, 0.6]: None is no signal, never zero

    result = calipers.run(calipers.score_group(group, judge="openai/gpt-5-mini"))   # in a script, or in a notebook

Everything is imported when first used, so that a training script pays for what it touches.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from calipers._version import __version__

if TYPE_CHECKING:
    from calipers.calibration import calibrate
    from calipers.errors import BackendError, CalipersError, ConfigError, InputError, LedgerError
    from calipers.inputs import read_groups, read_rubric, read_rubrics
    from calipers.judging.api import score_group, score_groups
    from calipers.judging.hybrid import Hybrid
    from calipers.judging.judge import Judge
    from calipers.replies import (
        ChoiceReading,
        RankingReading,
        ScoreReading,
        VerdictReading,
        extract_choice,
        extract_ranking,
        extract_scores,
        extract_verdict,
    )
    from calipers.rubric import DEFAULT_RUBRIC, Grading
    from calipers.synchronous import run
    from calipers.types import Criterion, GroupResult, Rubric, Trajectory, TrajectoryGroup, TrajectoryResult, Usage

__all__ = [
    "DEFAULT_RUBRIC",
    "BackendError",
    "CalipersError",
    "ChoiceReading",
    "ConfigError",
    "Criterion",
    "Grading",
    "GroupResult",
    "Hybrid",
    "InputError",
    "Judge",
    "LedgerError",
    "RankingReading",
    "Rubric",
    "ScoreReading",
    "Trajectory",
    "TrajectoryGroup",
    "TrajectoryResult",
    "Usage",
    "VerdictReading",
    "__version__",
    "calibrate",
    "extract_choice",
    "extract_ranking",
    "extract_scores",
    "extract_verdict",
    "read_groups",
    "read_rubric",
    "read_rubrics",
    "run",
    "score_group",
    "score_groups",
]

_HOMES = {
    "calipers.judging.api": ("score_group", "score_groups"),
    "calipers.calibration": ("calibrate",),
    "calipers.errors": ("BackendError", "CalipersError", "ConfigError", "InputError", "LedgerError"),
    "calipers.replies": (
        "ChoiceReading",
        "RankingReading",
        "ScoreReading",
        "VerdictReading",
        "extract_choice",
        "extract_ranking",
        "extract_scores",
        "extract_verdict",
    ),
    "calipers.judging.hybrid": ("Hybrid",),
    "calipers.judging.judge": ("Judge",),
    "calipers.inputs": ("read_groups", "read_rubric", "read_rubrics"),
    "calipers.rubric": ("DEFAULT_RUBRIC", "Grading"),
    "calipers.synchronous": ("run",),
    "calipers.types": (
        "Criterion",
        "GroupResult",
        "Rubric",
        "Trajectory",
        "TrajectoryGroup",
        "TrajectoryResult",
        "Usage",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name of calipers from its module when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'calipers' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
