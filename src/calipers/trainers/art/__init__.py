"""ART (OpenPipe): RULER's functions, in which a failed judgment never becomes a number, and weighted advantages."""

from calipers.trainers.art.reward import (
    DEFAULT_RUBRIC,
    Response,
    TrajectoryScore,
    ruler,
    ruler_score_group,
    weighted,
)

__all__ = ["DEFAULT_RUBRIC", "Response", "TrajectoryScore", "ruler", "ruler_score_group", "weighted"]
