"""Check the parameters of a simulated judge's vices; a ConfigError names the parameter. Not responsible for checking
data.
"""

from __future__ import annotations

import math

from calipers.errors import ConfigError


def require_probability(name: str, value: float) -> None:
    """Raise ConfigError unless a parameter of a simulated judge's vice is a probability in [0, 1]."""
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must be from 0 to 1, not {value!r}")


def require_finite(name: str, value: float, *, least: float = -math.inf) -> None:
    """Raise ConfigError unless a parameter of a simulated judge's vice is a finite number, at least ``least``."""
    if not (math.isfinite(value) and value >= least):
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise ConfigError(f"{name} must be a finite number{bound}, not {value!r}")
