"""ART (OpenPipe): RULER's functions, in which a failed judgment never becomes a number."""

from calipers.trainers.art.reward import (
    DEFAULT_RUBRIC,
    Response,
    TrajectoryScore,
    judged_by,
    ruler,
    ruler_score_group,
)

__all__ = ["DEFAULT_RUBRIC", "Response", "TrajectoryScore", "judged_by", "ruler", "ruler_score_group"]
