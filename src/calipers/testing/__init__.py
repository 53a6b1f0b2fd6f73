"""Simulate judges with known defects, to test whatever uses a judge: your reward pipeline, and calipers itself.

A simulated judge answers from a hidden quality that you set, in real reply text, so that prompts, reply reading,
re-asking and the ledger are all exercised. Its defects are given as numbers::

    from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge

    judge = SimulatedJudge({"a": 0.8, "b": 0.3}, Noise(0.05), PositionBias(0.3), Flaky(truncated=0.1), seed=1)
    result = await calipers.score_group(group, judge=judge)

A defect is called a vice. Vices come in three kinds, each with a base class for your own: a ``Bias`` changes the
judge's opinion, a ``Slip`` changes how the judge writes its opinion down, a ``Fault`` breaks or prevents the reply. Not
responsible for faults of the network (connections, headers, streams), which need a server.
"""

from calipers.testing.attacks import ATTACKS, WrittenAttack
from calipers.testing.biases import (
    Bias,
    Coarse,
    Constant,
    Drift,
    HollowAnswers,
    Injectable,
    LengthBias,
    Noise,
    PositionBias,
    Severity,
    Sycophancy,
)
from calipers.testing.faults import Fault, Flaky, Spoiled
from calipers.testing.judges import HesitantJudge, Quality, SimulatedJudge, Vice, gold_quality
from calipers.testing.question import Question
from calipers.testing.slips import OffScale, PermutedIds, ReorderedRows, Row, Slip, write_scores

__all__ = [
    "ATTACKS",
    "Bias",
    "Coarse",
    "Constant",
    "Drift",
    "Fault",
    "Flaky",
    "HesitantJudge",
    "HollowAnswers",
    "Injectable",
    "LengthBias",
    "Noise",
    "OffScale",
    "PermutedIds",
    "PositionBias",
    "Quality",
    "Question",
    "ReorderedRows",
    "Row",
    "Severity",
    "SimulatedJudge",
    "Slip",
    "Spoiled",
    "Sycophancy",
    "Vice",
    "WrittenAttack",
    "gold_quality",
    "write_scores",
]
