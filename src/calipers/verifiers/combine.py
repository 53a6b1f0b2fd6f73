"""Combine verifiers: ``all_of``, ``any_of`` and ``not_``.

Verdicts combine by Kleene's three-valued logic: the result is None only if the verdicts of the parts leave it open.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class Combined:
    """The conjunction or disjunction of verifiers: ``deciding`` is False for ``all_of`` and True for ``any_of``.

    The first verdict equal to ``deciding`` is the result. If no part returns that verdict, the result is the opposite.
    But if the verdict of any part is None, the result is None, with the reason of the first such part.
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
    """The negation of a verifier: met if ``part`` is not met, and not met if ``part`` is met. None stays None."""

    part: Verifier

    def __call__(self, trajectory: Trajectory) -> Verdict:
        verdict = self.part(trajectory)
        if verdict.met is None:
            return verdict
        if verdict.met:
            return Verdict(False, f"met, and it must not be{': ' if verdict.reason else ''}{verdict.reason}")
        return Verdict(True, verdict.reason)


def all_of(*parts: Verifier) -> Combined:
    """Return a verifier that is met if all of ``parts`` are met. Raises ConfigError without parts."""
    return Combined(_required(parts, "all_of"), deciding=False)


def any_of(*parts: Verifier) -> Combined:
    """Return a verifier that is met if at least one of ``parts`` is met. Raises ConfigError without parts."""
    return Combined(_required(parts, "any_of"), deciding=True)


def not_(part: Verifier) -> Not:
    """Return a verifier that is met if ``part`` is not met."""
    return Not(*_required((part,), "not_"))


def _required(parts: tuple[Verifier, ...], name: str) -> tuple[Verifier, ...]:
    if not parts:
        raise ConfigError(f"{name} needs at least one verifier")
    for part in parts:
        if not callable(part):
            raise ConfigError(f"{name}: {part!r} is not a verifier; a verifier is called with a trajectory")
    return parts
