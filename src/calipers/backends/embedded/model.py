"""The embedded judge's model: a weight per feature from ``model.json``, and the curve from the weighted sum to a score.

Plain Python. Scores are on a scale of 0 to 100. Not responsible for messages (``evidence``) or explanations
(``explanation``).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from calipers.backends.embedded.features import FEATURES
from calipers.errors import ConfigError

FORMAT: Final = "calipers-embedded-judge/1"
MODEL_FILE: Final = "model.json"
SHIPPED: Final = Path(__file__).parent
"""The folder of the judge that comes with the package: its model and its card."""
_LARGEST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of the embedded judge's linear model, in the order of FEATURES.

    The difference between two candidates' weighted sums is a log-odds in the fit. ``offset`` is the sum that scores 50,
    and ``gain`` the steepness of the curve there. ``digest`` is that of the file it was read from.
    """

    name: str
    version: int
    weights: tuple[float, ...]
    offset: float
    gain: float
    digest: str = field(default="", compare=False)

    @property
    def title(self) -> str:
        """The embedded judge's name with its version, as results and ledgers show it."""
        return f"{self.name}-{self.version}"

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
    return read_model(SHIPPED)


def write_model(folder: Path, model: Model) -> None:
    """Write an embedded judge's model into an existing ``folder``; equal models give equal bytes."""
    stored = {
        "format": FORMAT,
        "name": model.name,
        "version": model.version,
        "weights": dict(zip(FEATURES, model.weights, strict=True)),
        "offset": model.offset,
        "gain": model.gain,
    }
    (folder / MODEL_FILE).write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def read_model(folder: str | Path) -> Model:
    """Return the model of the embedded form in ``folder``. Raises ConfigError, in one sentence, for anything else."""
    data, digest = model_data(folder, "embedded", "the package has one: --judge embedded", _LARGEST)
    try:
        return _checked(json.loads(data), digest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"embedded:{folder}: {MODEL_FILE} is not of the format {FORMAT}, or is damaged "
            f"({type(error).__name__}: {error!s:.80}); a judge of another form is named local:{folder}"
        ) from None


def model_data(folder: str | Path, form: str, remedy: str, largest: int) -> tuple[bytes, str]:
    """Return the bytes of a folder's model file and their digest.

    Raises ConfigError naming the judge, of this ``form``, and the ``remedy`` for a file that cannot be read or is
    larger than any.
    """
    try:
        with (Path(folder) / MODEL_FILE).open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise ConfigError(
            f"{form}:{folder}: there is no {form} judge ({MODEL_FILE}: {error.strerror or error}); {remedy}"
        ) from None
    if len(data) > largest:
        raise ConfigError(
            f"{form}:{folder}: {MODEL_FILE} is larger than any model of a judge ({largest:,} bytes); {remedy}"
        )
    return data, hashlib.sha256(data).hexdigest()


def _checked(stored: Mapping[str, Any], digest: str) -> Model:
    name, version, weights = stored["name"], stored["version"], stored["weights"]
    if stored["format"] != FORMAT or weights.keys() != set(FEATURES):
        raise ValueError("another format, or other features")
    if not isinstance(name, str) or not name or isinstance(version, bool) or not isinstance(version, int):
        raise TypeError("the name or the version is missing")
    numbers = [
        stored_number(one) for one in (*(weights[feature] for feature in FEATURES), stored["offset"], stored["gain"])
    ]
    return Model(name, version, tuple(numbers[:-2]), numbers[-2], numbers[-1], digest)


def stored_number(value: object) -> float:
    """Return a number of a model file as a float. Raises ValueError for anything that is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a number is missing or not finite")
    return float(value)
