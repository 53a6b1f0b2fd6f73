"""Names of prompt variants that were asked with criteria of the prompt: each is a variant beside the one without.

A run has such criteria for all of its judges or for none, so ways to ask never mix the two. Not responsible for writing
criteria (``criteria``, ``judging``).
"""

from __future__ import annotations

from typing import Final

from calipers.calibration.records import Key

AUTO: Final = "auto-criteria"


def with_criteria(variant: str | None) -> str:
    """Return the name of a prompt variant of a calibration, asked with criteria that a model writes for each prompt."""
    return AUTO if variant is None else f"{variant}+{AUTO}"


def without_criteria(variant: str | None) -> tuple[str | None, bool]:
    """Return a prompt variant of a calibration without its criteria, and whether it was asked with them."""
    if variant == AUTO:
        return None, True
    if variant is not None and variant.endswith(f"+{AUTO}"):
        return variant.removesuffix(f"+{AUTO}"), True
    return variant, False


def has_criteria(key: Key) -> bool:
    """Return whether a judge of a calibration was asked with criteria that a model wrote for each prompt."""
    return without_criteria(key.prompt_variant)[1]
