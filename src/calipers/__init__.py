"""LLM judges' opinions as rewards a GRPO trainer can trust.

::

    import calipers

    result = await calipers.score_group(group, judge="openai/gpt-5-mini")
    result.rewards        # [0.82, 0.35, None, 0.6]: None is no signal, never zero

    result = calipers.run(calipers.score_group(group, judge="openai/gpt-5-mini"))   # in a script, or in a notebook

Judging: score_group, score_groups, Judge, Hybrid (rules and a judge), run (for code that is not asynchronous).
Results: GroupResult, TrajectoryResult, Usage.
Groups: read_groups, TrajectoryGroup, Trajectory. Rubrics: read_rubric, read_rubrics, Rubric, Criterion, Grading,
DEFAULT_RUBRIC.
Replies: extract_scores, extract_choice, extract_ranking, extract_verdict, which return ScoreReading, ChoiceReading,
RankingReading, VerdictReading.
Judges against people: calibrate.
Errors: CalipersError, of which ConfigError, InputError, LedgerError and BackendError are kinds.

help(calipers.Judge) explains a name. Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from calipers._version import __version__ as __version__

if TYPE_CHECKING:
    from calipers.calibration import calibrate as calibrate
    from calipers.errors import BackendError as BackendError
    from calipers.errors import CalipersError as CalipersError
    from calipers.errors import ConfigError as ConfigError
    from calipers.errors import InputError as InputError
    from calipers.errors import LedgerError as LedgerError
    from calipers.inputs import read_groups as read_groups
    from calipers.inputs import read_rubric as read_rubric
    from calipers.inputs import read_rubrics as read_rubrics
    from calipers.judging.api import score_group as score_group
    from calipers.judging.api import score_groups as score_groups
    from calipers.judging.hybrid import Hybrid as Hybrid
    from calipers.judging.judge import Judge as Judge
    from calipers.replies import ChoiceReading as ChoiceReading
    from calipers.replies import RankingReading as RankingReading
    from calipers.replies import ScoreReading as ScoreReading
    from calipers.replies import VerdictReading as VerdictReading
    from calipers.replies import extract_choice as extract_choice
    from calipers.replies import extract_ranking as extract_ranking
    from calipers.replies import extract_scores as extract_scores
    from calipers.replies import extract_verdict as extract_verdict
    from calipers.rubric import DEFAULT_RUBRIC as DEFAULT_RUBRIC
    from calipers.rubric import Grading as Grading
    from calipers.synchronous import run as run
    from calipers.types import Criterion as Criterion
    from calipers.types import GroupResult as GroupResult
    from calipers.types import Rubric as Rubric
    from calipers.types import Trajectory as Trajectory
    from calipers.types import TrajectoryGroup as TrajectoryGroup
    from calipers.types import TrajectoryResult as TrajectoryResult
    from calipers.types import Usage as Usage

_NAMES = {
    "calipers.calibration": "calibrate",
    "calipers.errors": "BackendError CalipersError ConfigError InputError LedgerError",
    "calipers.inputs": "read_groups read_rubric read_rubrics",
    "calipers.judging.api": "score_group score_groups",
    "calipers.judging.hybrid": "Hybrid",
    "calipers.judging.judge": "Judge",
    "calipers.replies": "ChoiceReading RankingReading ScoreReading VerdictReading "
    "extract_choice extract_ranking extract_scores extract_verdict",
    "calipers.rubric": "DEFAULT_RUBRIC Grading",
    "calipers.synchronous": "run",
    "calipers.types": "Criterion GroupResult Rubric Trajectory TrajectoryGroup TrajectoryResult Usage",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import a public name of calipers from its module when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'calipers' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
