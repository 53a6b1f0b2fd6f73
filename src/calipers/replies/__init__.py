"""Reads judges' replies: scores, a choice, a ranking, a verdict, or verdicts on several criteria.

Every reading is a value or a reason, never an exception and never a guess. The planners decide what follows an unread
reply; the protocols decide what is asked. Each reader is imported on first use, because compiling its patterns takes
time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.replies.checklist import ChecklistReading, extract_checklist
    from calipers.replies.compare import ChoiceReading, RankingReading, extract_choice, extract_ranking
    from calipers.replies.scores import ScoreReading, extract_scores
    from calipers.replies.verdict import VerdictReading, extract_verdict

__all__ = [
    "ChecklistReading",
    "ChoiceReading",
    "RankingReading",
    "ScoreReading",
    "VerdictReading",
    "extract_checklist",
    "extract_choice",
    "extract_ranking",
    "extract_scores",
    "extract_verdict",
]


_HOMES = {
    "Checklist": "checklist",
    "Choice": "compare",
    "Ranking": "compare",
    "Score": "scores",
    "Verdict": "verdict",
}


def __getattr__(name: str) -> object:
    """Import a reader, or its type of reading, on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'calipers.replies' has no attribute {name!r}")
    kind = name.removeprefix("extract_").removesuffix("Reading").removesuffix("s").capitalize()
    return getattr(import_module(f"calipers.replies.{_HOMES[kind]}"), name)
