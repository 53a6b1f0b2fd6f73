"""The sandbox's jobs, outcomes and limits as plain data.

This module is pure. ``client`` and ``server`` handle the processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.verifiers.sandbox.messages import UnplainError, decode_plain, encode_plain

Isolation: TypeAlias = Literal["confined", "limits"]
OutcomeFailure: TypeAlias = Literal["raised", "exited", "cpu", "wall", "crashed", "forbidden", "unusable", "lost"]
"""``lost``: the sandbox itself failed. ``wall``: the code or the machine was too slow. All other
failures are the code's.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a job: whole seconds of CPU time, seconds of elapsed time, and bytes of additional memory."""

    cpu_seconds: int = 1
    wall_seconds: float = 10.0
    memory_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        for name in ("cpu_seconds", "memory_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"{name}={value!r}: it must be a whole number above 0")
        if not 0 < self.wall_seconds < 86_400:
            raise ConfigError(f"wall_seconds={self.wall_seconds!r}: it must be above 0 and less than a day")


@dataclass(frozen=True, slots=True)
class Job:
    """A job for the sandbox: run ``source`` as a module, then call ``function`` with each of ``calls`` (plain data).

    ``fit`` passes only the last arguments, as many as the function takes. With ``stdin`` the source is a program that
    reads ``stdin``, and the outcome's ``output`` is what the program prints. ``truthy`` converts each result to True or
    False.
    """

    source: str
    function: str | None = None
    calls: tuple[tuple[Any, ...], ...] = ()
    fit: bool = False
    stdin: str | None = None
    truthy: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job: the ``values`` its calls returned, its ``output``, or a ``failure`` with a reason.

    All content comes from foreign code. It is plain data and can be trusted only as a statement about this job.
    ``cpu_seconds`` is measured outside of the job's process.
    """

    values: tuple[Any, ...] = ()
    output: str | None = None
    failure: OutcomeFailure | None = None
    reason: str = ""
    cpu_seconds: float = 0.0


def job_message(number: int, job: Job, limits: Limits) -> dict[str, Any]:
    """Return a job as a message to the fork server. Raises InputError for arguments that are not plain data."""
    try:
        calls = encode_plain([list(arguments) for arguments in job.calls])
    except UnplainError as error:
        raise InputError(f"a call's arguments must be plain data, but contain {error}") from None
    return {
        "number": number,
        "source": job.source,
        "function": job.function,
        "calls": calls,
        "fit": job.fit,
        "stdin": job.stdin,
        "truthy": job.truthy,
        "cpu": limits.cpu_seconds,
        "wall": limits.wall_seconds,
        "memory": limits.memory_bytes,
    }


_FAILURES: Final[dict[str, OutcomeFailure]] = {
    "raised": "raised",
    "exited": "exited",
    "cpu": "cpu",
    "wall": "wall",
    "crashed": "crashed",
    "forbidden": "forbidden",
    "unusable": "unusable",
}
"""Failures that the server may report. ``lost`` is set by the client only."""


def read_outcome(reply: dict[str, Any]) -> Outcome:
    """Return the outcome in the fork server's reply. Validates it, because foreign code may have written it."""
    values, output, named = reply.get("values", []), reply.get("output"), reply.get("failure")
    failure = _FAILURES.get(named) if isinstance(named, str) else None  # untrusted: a list is not hashable
    reason, cpu = reply.get("reason", ""), float(reply.get("cpu", 0.0))
    sound = isinstance(values, list) and isinstance(output, str | None) and isinstance(reason, str)
    if not sound or (named is not None and failure is None):
        return Outcome(failure="unusable", reason="its answer has an invalid form", cpu_seconds=cpu)
    try:
        return Outcome(tuple(decode_plain(values)), output, failure, reason[:300], cpu)
    except UnplainError as error:
        return Outcome(failure="unusable", reason=f"its answer contains {error}", cpu_seconds=cpu)
    except (RecursionError, MemoryError):
        return Outcome(failure="unusable", reason="its answer is nested too deeply or too large", cpu_seconds=cpu)
