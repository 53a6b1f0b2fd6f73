"""Checks of what a user passed: one sentence each, before anything is done with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.errors import ConfigError

_OURS = ("messages", "model", "stream", "n")
"""Body parameters that calipers sets itself: another value would change what is asked, or how it is answered."""


def require_whole(**numbers: object) -> None:
    """Each is a whole number, or None."""
    for name, value in numbers.items():
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise ConfigError(f"{name}={value!r}: it must be a whole number")


def require_above_zero(**numbers: object) -> None:
    """Each is a finite number above 0, or None."""
    for name, value in numbers.items():
        match value:
            case None:
                continue
            case int() | float() if not isinstance(value, bool) and 0 < value < math.inf:
                continue
        raise ConfigError(f"{name}={value!r}: it must be a number above 0")


def require_one_of(known: Sequence[str], **choices: object) -> None:
    """Each is one of the known words."""
    for name, value in choices.items():
        if value not in known:
            raise ConfigError(f"{name}={value!r}: it must be one of {', '.join(known)}")


def require_callable(**functions: object) -> None:
    """Each is something to call, or None."""
    for name, value in functions.items():
        if value is not None and not callable(value):
            raise ConfigError(f"{name}={value!r}: it must be a function")


def require_text(**texts: object) -> None:
    """Each is a string, or None."""
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{name}={value!r}: it must be text")


def require_range(reward_range: object) -> None:
    """Two finite numbers, the lower one first."""
    match reward_range:
        case (int() | float() as low, int() | float() as high) if math.isfinite(high - low) and low < high:
            return
    raise ConfigError(f"reward_range={reward_range!r}: it must be two numbers, the lower one first")


def require_params(params: Mapping[str, Any] | None) -> None:
    """Request parameters by name that can be sent as JSON and are not calipers' own business."""
    if params is None:
        return
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise ConfigError(f"params={params!r}: it must be a mapping of parameter names to values")
    if taken := [name for name in _OURS if name in params]:
        raise ConfigError(f"params: {', '.join(taken)} cannot be passed on, calipers sets it itself")
    if limits := [name for name in ("max_tokens", "max_completion_tokens") if name in params]:
        raise ConfigError(f"params: {limits[0]} is a setting of its own: say max_tokens= (--max-tokens) instead")
    try:
        json.dumps(dict(params), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"params={params!r} cannot be written as JSON: {error}") from error
