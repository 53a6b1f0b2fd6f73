"""The sandbox's jobs, outcomes and limits as plain data.

This module is pure. ``client`` and ``server`` handle the processes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.types.encoding import finite_number
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
        if not 0 < (finite_number(self.wall_seconds) or 0) < 86_400:
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
    settings = {name: getattr(job, name) for name in ("source", "function", "fit", "stdin", "truthy")}
    limited = {"cpu": limits.cpu_seconds, "wall": limits.wall_seconds, "memory": limits.memory_bytes}
    return {"number": number, "calls": calls, **settings, **limited}


_REPORTED: Final[Mapping[str, OutcomeFailure]] = {
    "raised": "raised", "exited": "exited", "forbidden": "forbidden", "unusable": "unusable",
}  # fmt: skip
"""Failures that a job may report of itself. Code that reported another could blame the machine for its own failure."""


def read_outcome(reply: Mapping[str, Any]) -> Outcome:
    """Return the outcome in the fork server's reply. Its ``answer`` is validated: foreign code may have written it."""
    cpu = float(reply["cpu"])
    if "answer" not in reply:
        return Outcome(failure=reply["failure"], reason=reply["reason"], cpu_seconds=cpu)
    try:
        answer = json.loads(reply["answer"])
    except ValueError:
        answer = None
    except RecursionError:
        return Outcome(failure="unusable", reason="its answer is nested too deeply", cpu_seconds=cpu)
    if not isinstance(answer, dict):
        return Outcome(failure="crashed", reason="it ended without an answer", cpu_seconds=cpu)
    named, reason, output = (answer.get(name) for name in ("failure", "reason", "output"))
    values = answer.get("values") or []
    failure = _REPORTED.get(named) if isinstance(named, str) else None  # untrusted: a list is not hashable
    sound = isinstance(values, list) and isinstance(output, str | None) and isinstance(reason, str | None)
    problem = "its answer has an invalid form"
    if sound and (named is None or failure is not None):
        try:
            return Outcome(tuple(decode_plain(values)), output, failure, (reason or "")[:300], cpu)
        except UnplainError as error:
            problem = f"its answer contains {error}"
        except (RecursionError, MemoryError):
            problem = "its answer is nested too deeply or too large"
    return Outcome(failure="unusable", reason=problem, cpu_seconds=cpu)
