"""Measure how well a judge's verdicts on single criteria agree with people's: HealthBench's meta-evaluation.

``meta_evaluate`` does everything for recorded verdicts; ``collect.collect_verdicts`` obtains them from a judge. Not
responsible for scores and rankings of groups (``calibration``).
"""

from __future__ import annotations

from calipers.calibration.criteria.agreement import Agreement, agreement
from calipers.calibration.criteria.report import JudgeOfCriteria, MetaEvaluation, meta_evaluate
from calipers.calibration.criteria.rows import Labelled, as_labelled, is_labelled, read_labelled
from calipers.calibration.criteria.verdicts import Recorded, read_verdicts

__all__ = [
    "Agreement",
    "JudgeOfCriteria",
    "Labelled",
    "MetaEvaluation",
    "Recorded",
    "agreement",
    "as_labelled",
    "is_labelled",
    "meta_evaluate",
    "read_labelled",
    "read_verdicts",
]
