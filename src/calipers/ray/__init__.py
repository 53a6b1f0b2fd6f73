"""Groups judged on a Ray cluster: ``score_dataset`` for a Ray Dataset; ``calipers score --ray`` uses the other files.

Ray is imported when one of the functions is called.
"""

from __future__ import annotations

from calipers.ray.datasets import score_dataset

__all__ = ["score_dataset"]
