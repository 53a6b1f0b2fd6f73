"""Verifiers put together: all of them, any of them, the opposite of one.

Three values, by Kleene: what can be told from the parts is told, and only the rest is None.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class AllOf:
    """Met if every part is; not met as soon as one is not; else None, with the reason of the first that is None."""

    parts: tuple[Verifier, ...]

    def __call__(self, trajectory: Trajectory) -> Verdict:
        return _decided(self.parts, trajectory, deciding=False)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Met as soon as one part is; not met if none is; else None, with the reason of the first that is None."""

    parts: tuple[Verifier, ...]

    def __call__(self, trajectory: Trajectory) -> Verdict:
        return _decided(self.parts, trajectory, deciding=True)


@dataclass(frozen=True, slots=True)
class Not:
    """Met if the part is not, and the other way round; None stays None."""

    part: Verifier

    def __call__(self, trajectory: Trajectory) -> Verdict:
        verdict = self.part(trajectory)
        if verdict.met is None:
            return verdict
        if verdict.met:
            return Verdict(False, f"met, and it must not be{': ' if verdict.reason else ''}{verdict.reason}")
        return Verdict(True, verdict.reason)


def all_of(*parts: Verifier) -> AllOf:
    """A verifier that is met if all ``parts`` are. Raises ConfigError without parts: nothing is no condition."""
    return AllOf(_some(parts, "all_of"))


def any_of(*parts: Verifier) -> AnyOf:
    """A verifier that is met if one of ``parts`` is. Raises ConfigError without parts."""
    return AnyOf(_some(parts, "any_of"))


def not_(part: Verifier) -> Not:
    """A verifier that is met if ``part`` is not."""
    return Not(*_some((part,), "not_"))


def _decided(parts: tuple[Verifier, ...], trajectory: Trajectory, *, deciding: bool) -> Verdict:
    unclear = None
    last = Verdict(not deciding)
    for part in parts:
        verdict = part(trajectory)
        if verdict.met is deciding:
            return verdict
        if verdict.met is None:
            unclear = unclear or verdict
        else:
            last = verdict
    return unclear or last


def _some(parts: tuple[Verifier, ...], name: str) -> tuple[Verifier, ...]:
    if not parts:
        raise ConfigError(f"{name} needs at least one verifier")
    for part in parts:
        if not callable(part):
            raise ConfigError(f"{name}: {part!r} is no verifier; it has to be callable with a trajectory")
    return parts
