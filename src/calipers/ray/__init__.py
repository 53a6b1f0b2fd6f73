"""Groups of a Ray Dataset judged on a Ray cluster. Ray is imported when ``score_dataset`` is called."""

from __future__ import annotations

from calipers.ray.judging import score_dataset

__all__ = ["score_dataset"]
