"""What every Judge does with its own configuration: shows it, is copied as itself, and is pickled as its options.

Not responsible for how options are shown without secrets, or which may travel (``configured``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from calipers.config.options import JudgeOptions


class Configured(ABC):
    """The base of ``Judge``. ``_options`` is its configuration; None: it was made for a replay, of settings."""

    _options: JudgeOptions | None = None

    @abstractmethod
    def _connect(self, options: JudgeOptions) -> None:
        """Build everything from ``options``, and keep them."""

    def __repr__(self) -> str:
        """Show the judge and the options that differ from their defaults, without keys and passwords."""
        from calipers.judging.configured import shown_judge  # noqa: PLC0415 - making a judge stays quick

        return shown_judge(type(self).__name__, self._options)

    def __copy__(self) -> Self:
        return self  # its limits, its budget and its run stay one

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from calipers.judging.configured import require_portable  # noqa: PLC0415 - likewise

        return _built, (type(self), require_portable(self._options))


def _built(kind: type[Configured], options: JudgeOptions) -> Configured:
    """Build a Judge that was pickled as its options."""
    judge = kind.__new__(kind)
    judge._connect(options)  # noqa: SLF001 - another constructor
    return judge
