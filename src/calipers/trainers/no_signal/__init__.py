"""What reaches a trainer where there is no reward."""

from calipers.trainers.no_signal.rewards import (
    EVEN,
    constant,
    imputed,
    levelled,
    rows,
    unscored,
    whole,
    why,
)

__all__ = [
    "EVEN",
    "constant",
    "imputed",
    "levelled",
    "rows",
    "unscored",
    "whole",
    "why",
]
