"""The embedded judge's model: a weight per feature from ``model.json``, and the curve from the weighted sum to a score.

Plain Python, fitted by ``scripts/fit_embedded.py``. Scores are on a scale of 0 to 100. Not responsible for messages
(``evidence``) or explanations (``explanation``).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from calipers.backends.embedded.features import FEATURES

MODEL_FILE = Path(__file__).with_name("model.json")


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of the embedded judge's linear model, in the order of FEATURES.

    The difference between two candidates' weighted sums is a log-odds in the fit. ``offset`` is the sum that scores 50,
    and ``gain`` the steepness of the curve there.
    """

    name: str
    weights: tuple[float, ...]
    offset: float
    gain: float

    def contributions(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """Return what each feature of a candidate adds to the weighted sum from which the embedded backend computes the
        score.
        """
        return tuple(weight * value for weight, value in zip(self.weights, values, strict=True))

    def score(self, values: tuple[float, ...]) -> int:
        """Return the embedded backend's score for a candidate, an integer from 5 to 95. A larger weighted sum never
        gives a smaller score.

        The ends of the scale are not used, for two reasons. Counting words allows no such certainty. And a group in
        which all score 0 or 1 would look like a group scored in fractions.
        """
        total = math.fsum(self.contributions(values)) - self.offset
        return round(5 + 90 / (1 + math.exp(-max(-30.0, min(30.0, self.gain * total)))))


@lru_cache(maxsize=1)
def shipped_model() -> Model:
    """Return the embedded backend's model that comes with the package."""
    stored = json.loads(MODEL_FILE.read_text(encoding="utf-8"))
    weights = stored["weights"]
    return Model(stored["model"], tuple(weights[name] for name in FEATURES), stored["offset"], stored["gain"])
