"""Verifiers put together: all of them, any of them, the opposite of one.

Three values, by Kleene: None only if the parts' verdicts leave it open.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class Combined:
    """The parts' verdicts until one is ``deciding``: False for all of them, True for any of them.

    If none is, the verdict is the opposite; or None, with the reason of the first part that is None.
    """

    parts: tuple[Verifier, ...]
    deciding: bool

    def __call__(self, trajectory: Trajectory) -> Verdict:
        unclear = None
        last = Verdict(not self.deciding)
        for part in self.parts:
            verdict = part(trajectory)
            if verdict.met is self.deciding:
                return verdict
            if verdict.met is None:
                unclear = unclear or verdict
            else:
                last = verdict
        return unclear or last


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


def all_of(*parts: Verifier) -> Combined:
    """A verifier that is met if all ``parts`` are. Raises ConfigError without parts."""
    return Combined(_required(parts, "all_of"), deciding=False)


def any_of(*parts: Verifier) -> Combined:
    """A verifier that is met if one of ``parts`` is. Raises ConfigError without parts."""
    return Combined(_required(parts, "any_of"), deciding=True)


def not_(part: Verifier) -> Not:
    """A verifier that is met if ``part`` is not."""
    return Not(*_required((part,), "not_"))


def _required(parts: tuple[Verifier, ...], name: str) -> tuple[Verifier, ...]:
    if not parts:
        raise ConfigError(f"{name} needs at least one verifier")
    for part in parts:
        if not callable(part):
            raise ConfigError(f"{name}: {part!r} is no verifier; it has to be callable with a trajectory")
    return parts
