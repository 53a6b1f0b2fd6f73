"""Every error that calipers raises.

::

    CalipersError
    ├── ConfigError        wrong settings: raised before any token is spent
    ├── InputError         a file or value that cannot be read: names file, line and remedy
    ├── LedgerError        the ledger cannot be opened, read or written
    └── BackendError       a call to a judge without an answer; it has a kind and never leaves score_group
        ├── TransientError     may succeed later: retried with backoff, honouring ``retry_after``
        └── PermanentError     the same call will fail again

Nothing that a judge does makes ``score_group`` raise: a BackendError becomes a ``Failure``, and the trajectory ends
``failed`` with its reason. Each backend translates exceptions of other libraries in exactly one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from calipers.types import Completion, FailedCalls, FailureKind, Usage


class CalipersError(Exception):
    """The root of all errors that calipers raises. Its text is one or two sentences for a person, with the remedy."""


class ConfigError(CalipersError):
    """Settings that cannot work: an unknown judge, a missing key, contradicting options."""


class InputError(CalipersError):
    """Input that cannot be read. ``source`` is the file and ``line`` its 1-based line, where there is one."""

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        self.source = source
        self.line = line
        where = ":".join(str(part) for part in (source, line) if part is not None)
        where = where if source else where and f"line {where}"
        super().__init__(f"{where}: {message}" if where else message)


class LedgerError(CalipersError):
    """The ledger cannot be opened, read or written."""


class BackendError(CalipersError):
    """A call to a judge that brought no answer. ``kind`` becomes ``Failure.kind``.

    ``completion`` is a whole reply that holds no judgment (empty, a tool call, a refusal in the model's words), for
    callers that accept anything a model says. ``usage`` is the tokens that the server reported for the call, or None.
    ``counted`` means that the call was already reported to ``on_failed_call``. ``failed`` sums up all failed calls for
    the question with the ledger key ``question``, if known.
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
        """Return the same error with another text."""
        error = type(self).__new__(type(self))
        error.__dict__.update(self.__dict__)
        error.args = (message,)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        """How pickle passes the error to another process; its text alone does not make it."""
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(of: type[BackendError], args: tuple[str], values: dict[str, Any]) -> BackendError:
    error = of.__new__(of)
    error.__dict__.update(values)
    error.args = args
    return error


class TransientError(BackendError):
    """A call that may succeed later. ``retry_after`` is the wait in seconds that the server asked for, or None."""

    def __init__(self, kind: FailureKind, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(kind, message)


class PermanentError(BackendError):
    """A call that will fail again. ``fatal`` means that this judge will answer no other question either.

    If the question is too long for the context window, ``prompt`` is the length of the question and ``limit`` that of
    the window, both in tokens, as far as the server reports them.
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


def without_exit(call: Any) -> Any:
    """Return a user's function with its exit as an error: an exit ends the event loop, on which a trainer may wait."""

    def calling(*args: Any) -> Any:
        try:
            return call(*args)
        except (SystemExit, StopAsyncIteration) as error:  # the latter would end a loop over results
            raise CalipersError(f"a watcher or hook ended the run: {error}") from error

    return calling
