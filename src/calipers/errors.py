"""Every error calipers raises, and what became of foreign ones.

::

    CalipersError
    ├── ConfigError        wrong settings: raised before any token is spent
    ├── InputError         a file or value that cannot be read: names file, line and remedy
    ├── LedgerError        the ledger cannot be opened, read or written
    ├── UngradedError      a criterion stayed open, and grading says on_missing="raise"
    └── BackendError       a call brought no answer; has a kind, never reaches the caller of score_group
        ├── TransientError     may go away by itself: retried with backoff, honouring ``retry_after``
        └── PermanentError     asking the same again will not help

A judge's doing never raises out of ``score_group``: a BackendError becomes a ``Failure`` and the trajectory ends
``failed`` with its reason. Foreign exceptions are translated at exactly one place in each backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from calipers.types import Completion, FailedCalls, FailureKind, Usage


class CalipersError(Exception):
    """The root of all errors calipers raises. Its text is one or two sentences for a person, remedy included."""


class ConfigError(CalipersError):
    """Settings that cannot work: an unknown judge, a missing key, contradicting options."""


class InputError(CalipersError):
    """Input that cannot be read. ``source`` is the file and ``line`` its 1-based line, where there is one."""

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        self.source = source
        self.line = line
        where = ":".join(str(part) for part in (source, line) if part is not None)
        super().__init__(f"{where}: {message}" if where else message)


class LedgerError(CalipersError):
    """The ledger cannot be opened, read or written."""


class UngradedError(CalipersError):
    """A criterion stayed open, and ``Grading(on_missing="raise")`` asks for an error then."""


class BackendError(CalipersError):
    """A call to a judge that brought no answer. ``kind`` is what ``Failure.kind`` will say.

    ``completion`` is what came all the same: a whole reply that holds no judgment (empty, a tool's call, a refusal in
    the model's words), for who asked for whatever a model says.

    ``usage`` is what the server said the call took, None where it said nothing; ``counted`` that whoever asked was told
    of the call. ``failed`` are all calls for the question ``question``, where they are known.
    """

    completion: Completion | None = None
    usage: Usage | None = None
    counted: bool = False
    failed: FailedCalls | None = None
    question: str = ""

    def __init__(self, kind: FailureKind, message: str) -> None:
        self.kind: FailureKind = kind
        super().__init__(message)

    def reworded(self, message: str) -> Self:
        """The same error with another text."""
        error = type(self).__new__(type(self))
        error.__dict__.update(self.__dict__)
        error.args = (message,)
        return error


class TransientError(BackendError):
    """May go away by itself. ``retry_after`` is the wait in seconds the server asked for, or None."""

    def __init__(self, kind: FailureKind, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(kind, message)


class PermanentError(BackendError):
    """Asking the same again will not help. ``fatal`` when no other question of this judge will be answered either.

    A question too long for the context window has ``prompt`` tokens for ``limit``, where the server told.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        fatal: bool = False,
        limit: int | None = None,
        prompt: int | None = None,
    ) -> None:
        self.fatal = fatal
        self.limit = limit
        self.prompt = prompt
        super().__init__(kind, message)
