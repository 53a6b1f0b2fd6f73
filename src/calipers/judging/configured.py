"""What a Judge shows of its configuration: its ``repr`` without secrets, and what travels when it is pickled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Self

from calipers.backends.names import name_without_password, split_judge_name, url_without_password
from calipers.config.option import Options
from calipers.config.options import JudgeOptions

_LONGEST: Final = 60
_MOST: Final = 6
"""The most characters of a text, and items of a list, that a ``repr`` shows."""
_NOT_SHOWN: Final = frozenset({"judge", "api_key"})
"""The judge comes first; a key is never shown."""


class Configured(ABC):
    """The base of ``Judge``. ``_options`` is its configuration; None: it was made for a replay, of settings."""

    _options: JudgeOptions | None = None

    @abstractmethod
    def _connect(self, options: JudgeOptions) -> None:
        """Build everything from ``options``, and keep them."""

    def __repr__(self) -> str:
        """Show the judge and the options that differ from their defaults, without keys and passwords."""
        return shown_judge(type(self).__name__, self._options)

    def __copy__(self) -> Self:
        return self  # its limits, its budget and its run stay one

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _built, (type(self), require_portable(self._options))


def _built(kind: type[Configured], options: JudgeOptions) -> Configured:
    """Build a Judge that was pickled as its options."""
    judge = kind.__new__(kind)
    judge._connect(options)  # noqa: SLF001 - another constructor
    return judge


def shown_judge(name: str, options: JudgeOptions | None) -> str:
    """Return the ``repr`` of a Judge: the options that differ from their defaults, without keys and passwords."""
    return f"{name}({'replaying' if options is None else ', '.join(_shown_options(options))})"


def require_portable(options: JudgeOptions | None) -> JudgeOptions:
    """Return the options with which another process builds the same Judge. Raises TypeError if there are none."""
    if options is None:
        raise TypeError("a Judge that replays a ledger cannot be pickled: replay it in the other process")
    if not isinstance(options.ledger, str | Path | None):
        raise TypeError(
            f"a Judge with an open {type(options.ledger).__name__} cannot be pickled: give ledger= a path or URL, "
            "which every process opens for itself"
        )
    return options


def _shown_options(options: JudgeOptions) -> Iterator[str]:
    yield _shown(options.judge)
    for one in fields(options):
        value = getattr(options, one.name)
        if one.name not in _NOT_SHOWN and value != one.default:
            text = _shown(value)
            if text != "{}":  # a group of options that are all at their defaults
                yield f"{one.name}={text}"


def _shown(value: object) -> str:
    """Return an option's value as text: shortened, and without what may be a secret."""
    match value:
        case Options():
            changed = ((one.name, getattr(value, one.name), one.default) for one in fields(value))  # type: ignore[arg-type]
            text = f"{{{', '.join(f'{name!r}: {_shown(one)}' for name, one, default in changed if one != default)}}}"
        case str() | Path():
            text = repr(_without_secrets(str(value)))
            text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        case int() | float() | None:
            text = str(value)
        case Mapping():
            text = f"{{{', '.join(f'{_shown(key)}: ...' for key in value)}}}"
        case Sequence():
            more = [f"... {len(value) - _MOST} more"] if len(value) > _MOST else []
            text = f"[{', '.join([*map(_shown, value[:_MOST]), *more])}]"
        case _:
            text = getattr(value, "__name__", None) or f"{type(value).__name__}(...)"
    return text


def _without_secrets(text: str) -> str:
    if "://" not in text:
        return text
    text = name_without_password(text) if split_judge_name(text)[1] else url_without_password(text)
    address, query, _ = text.partition("?")
    return address + ("?..." if query else "")
